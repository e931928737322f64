/* Not by EVP: gateway/sinks/digest.c says why. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "cli/policy_layers.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/policy_environment.h"

#define TRUST_MAX_BYTES (1U << 20)
#define TRUST_NAME      "trusted"
#define TRUST_NEW_NAME  ".trusted.new"
#define DIGEST_LEN      (DIGEST_TEXT_MAX - 1)
#define PROJECT_FILE    ".sallyport/policy"

/* "DIGEST  PATH", one a line: the line of @path, or NULL. */
static const char *find_line(const char *store, const char *path)
{
	size_t len = strlen(path);

	for (const char *at = store; at && *at;) {
		const char *end = at + strcspn(at, "\n");

		if ((size_t)(end - at) == DIGEST_LEN + 2 + len &&
		    memcmp(at + DIGEST_LEN + 2, path, len) == 0)
			return at;
		at = *end ? end + 1 : NULL;
	}
	return NULL;
}

static int is_trusted(const char *path, const void *bytes, size_t len, void *arg)
{
	const char *line = find_line(arg, path);
	char text[DIGEST_LEN + 1];

	if (!line)
		return POLICY_UNTRUSTED;
	if (digest_text(bytes, len, NULL, 0, text) < 0)
		return POLICY_UNTRUSTED;
	return memcmp(line, text, DIGEST_LEN) == 0 ? POLICY_TRUSTED_NOW : POLICY_CHANGED;
}

/* What is there, or "" for nothing. Only we may have written it. */
static int read_store(int folder, char **ret, struct err *why)
{
	struct stat status;
	auto_close int fd = openat(folder, TRUST_NAME,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		*ret = mem_strdup("");
		return 0;
	}
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot open the list of trusted files");
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
		return err_set(why, -EPERM,
			       "the list of trusted files is not ours alone (mode 600)");
	return fd_read_all(fd, TRUST_MAX_BYTES, ret, NULL, why);
}

static char *load_store(const char *state)
{
	auto_close int folder = state ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	char *store = NULL;

	/* A list that cannot be read trusts nothing. */
	if (folder < 0 || read_store(folder, &store, NULL) < 0)
		return mem_strdup("");
	return store;
}

static int write_store(int folder, const char *store, const char *path, const char *text,
		       struct err *why)
{
	(void)unlinkat(folder, TRUST_NEW_NAME, 0);
	auto_close int fd = openat(folder, TRUST_NEW_NAME,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	const char *old = find_line(store, path);
	size_t before = old ? (size_t)(old - store) : strlen(store);
	const char *after = old ? old + strcspn(old, "\n") : "";
	auto_free char *line = mem_printf("%s  %s\n", text, path);
	int r = fd < 0 ? -errno : fd_write_all(fd, store, before);

	if (r == 0 && *after)
		r = fd_write_all(fd, after + 1, strlen(after + 1));
	if (r == 0)
		r = fd_write_all(fd, line, strlen(line));
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	if (r == 0 && renameat(folder, TRUST_NEW_NAME, folder, TRUST_NAME) < 0)
		r = -errno;
	if (r == 0 && fsync(folder) < 0)
		r = -errno;
	return r < 0 ? err_errno(why, -r, "cannot write the list of trusted files") : 0;
}

int policy_layers_trust(const char *state, const char *path, struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_free char *link = mem_printf("/proc/self/fd/%d", fd), *bytes = NULL, *store = NULL;
	char absolute[PATH_MAX], text[DIGEST_LEN + 1];
	struct stat status;
	size_t len;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot open");
	if (!S_ISREG(status.st_mode))
		return err_set(why, -EINVAL, "not a regular file");
	ssize_t path_len = readlink(link, absolute, sizeof(absolute) - 1);

	if (path_len <= 0 || memchr(absolute, '\n', (size_t)path_len))
		return err_set(why, -EINVAL, "a path that cannot be noted down");
	absolute[path_len] = '\0';
	int r = fd_read_all(fd, POLICY_MAX_BYTES, &bytes, &len, why);

	if (r < 0)
		return r;
	if (digest_text(bytes, len, NULL, 0, text) < 0)
		return err_set(why, -EIO, "the hash function failed");
	auto_close int folder = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0 || flock(folder, LOCK_EX) < 0)
		return err_errno(why, errno, "cannot open the folder %s", state);
	r = read_store(folder, &store, why);
	assert(r < 0 || store);
	return r < 0 ? r : write_store(folder, store, absolute, text, why);
}

static bool exists_below(const char *folder, size_t len, const char *name)
{
	auto_free char *path = mem_printf("%.*s/%s", (int)len, folder, name);
	struct stat status;

	return lstat(path, &status) == 0;
}

/* Outside of a repository only the folder itself is looked at: what lies above it may be anybody's.
 */
static size_t root_len(const char *cwd)
{
	for (size_t len = strlen(cwd); len > 0;) {
		if (exists_below(cwd, len, ".git"))
			return len;
		while (len > 0 && cwd[--len] != '/')
			;
	}
	return strlen(cwd);
}

/* All of them, for a command that may write below must not outdo a file above by a nearer one. */
char **policy_layers_projects(const char *cwd)
{
	size_t root = root_len(cwd), count = 0;
	char **list = mem_new_array(strlen(cwd) + 1, sizeof(*list)); /* at most one a slash */

	for (size_t len = strlen(cwd); len >= root && len > 0;) {
		if (exists_below(cwd, len, PROJECT_FILE))
			list[count++] = mem_printf("%.*s/%s", (int)len, cwd, PROJECT_FILE);
		while (len > 0 && cwd[--len] != '/')
			;
	}
	return list;
}

char **policy_layers_places(const struct policy_layers *layers)
{
	char *const *const lists[] = { layers->arguments, layers->projects };
	char **list = mem_new_array(mem_count_list(lists[0]) + mem_count_list(lists[1]) + 4,
				    sizeof(*list));
	size_t count = 0;

	list[count++] = mem_strdup(layers->managed ? layers->managed : POLICY_LAYERS_MANAGED);
	if (layers->user)
		list[count++] = mem_strdup(layers->user);
	if (layers->state)
		list[count++] = mem_printf("%s/" TRUST_NAME, layers->state);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (char *const *path = lists[i]; path && *path; path++)
			list[count++] = mem_strdup(*path);
	}
	return list;
}

bool policy_layers_load(struct policy *policy, const struct policy_layers *layers)
{
	const char *managed = layers->managed ? layers->managed : POLICY_LAYERS_MANAGED;
	auto_free_list char **found =
		layers->cwd && !layers->projects ? policy_layers_projects(layers->cwd) : NULL;
	char *const *projects = layers->projects ? layers->projects : found;
	auto_free char *store = load_store(layers->state);
	struct policy_environment environment;

	policy_set_start(policy, layers->start ? layers->start : time(NULL));
	policy_set_trust(policy, is_trusted, store);
	policy_environment_open(&environment, policy);
	bool is_good = policy_load_folder(policy, managed, POLICY_MANAGED) == 0;

	if (layers->user && access(layers->user, F_OK) == 0)
		is_good &= policy_load_layer(policy, layers->user, POLICY_USER) == 0;
	for (char *const *path = projects; path && *path; path++) {
		if (found || access(*path, F_OK) == 0)
			is_good &= policy_load_layer(policy, *path, POLICY_PROJECT) == 0;
	}
	for (char *const *path = layers->arguments; path && *path; path++)
		is_good &= policy_load(policy, *path) == 0;
	policy_environment_close(&environment, policy);
	policy_set_trust(policy, NULL, NULL); /* @store goes */
	return is_good;
}
