#include "cli/view/trust_store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"

#define STORE_MAX_BYTES (1U << 20)
#define STORE_LOCK_MS   5000 /* long enough for another writer */

const char *trust_store_find(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text; at && *at;) {
		const char *end = at + strcspn(at, "\n");
		size_t key = strcspn(at, " \n");

		if ((size_t)(end - at) == key + 2 + len && memcmp(at + key + 2, name, len) == 0)
			return at;
		at = *end ? end + 1 : NULL;
	}
	return NULL;
}

enum policy_trust trust_store_look(const char *text, const char *name, const char *digest)
{
	const char *line = trust_store_find(text, name);
	size_t len = strlen(digest);

	if (!line)
		return POLICY_UNTRUSTED;
	return strncmp(line, digest, len) == 0 && line[len] == ' ' ? POLICY_TRUSTED_NOW
								   : POLICY_CHANGED;
}

/* The file must have been written by our user only. */
static int store_read(int folder, const char *list, char **ret, struct err *why)
{
	struct stat status;
	auto_close int fd =
		openat(folder, list, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		*ret = mem_strdup("");
		return 0;
	}
	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot open the list of %s files", list);
	if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_mode & 077)
		return err_set(why, -EPERM,
			       "the list of %s files must belong to you, with mode 0600", list);
	return fd_read_all(fd, STORE_MAX_BYTES, ret, NULL, why);
}

int trust_store_read(const char *state, const char *list, char **ret, struct err *why)
{
	auto_close int folder = state ? open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (folder >= 0)
		return store_read(folder, list, ret, why);
	if (state && errno != ENOENT)
		return err_errno(why, errno, "cannot open the folder %s", state);
	*ret = mem_strdup("");
	return 0;
}

char *trust_store_load(const char *state, const char *list)
{
	char *text = NULL;

	return trust_store_read(state, list, &text, NULL) == 0 ? text : mem_strdup("");
}

static int store_write(int folder, const char *list, const char *text, struct err *why)
{
	auto_free char *fresh = mem_printf(".%s.new", list);
	const struct replace what = { folder, list, fresh, 0600, true };
	int r = replace_file(&what, text, strlen(text));

	return r < 0 ? err_errno(why, -r, "cannot write the list of %s files", list) : 0;
}

static int open_locked(const char *state, struct err *why)
{
	auto_close int folder = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return err_errno(why, errno, "cannot open the folder %s", state);
	int r = replace_lock(folder, LOCK_EX, STORE_LOCK_MS);

	return r < 0 ? err_errno(why, -r, "cannot lock the folder %s", state) : fd_take(&folder);
}

int trust_store_replace(const char *state, const char *list, const char *text, struct err *why)
{
	auto_close int folder = open_locked(state, why);

	return folder < 0 ? folder : store_write(folder, list, text, why);
}

int trust_store_put(const char *state, const char *list, const char *name, const char *key,
		    struct err *why)
{
	auto_close int folder = open_locked(state, why);
	auto_free char *text = NULL;
	int r = folder < 0 ? folder : store_read(folder, list, &text, why);

	if (r < 0 || !text)
		return r;
	const char *old = trust_store_find(text, name);
	size_t before = old ? (size_t)(old - text) : strlen(text);
	const char *after = old ? old + strcspn(old, "\n") : "";
	auto_free char *whole =
		mem_printf("%.*s%s%s  %s\n", (int)before, text, *after ? after + 1 : "", key, name);

	return store_write(folder, list, whole, why);
}

int trust_store_add(const char *state, const char *path, struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_free char *link = mem_printf("/proc/self/fd/%d", fd), *bytes = NULL;
	char absolute[PATH_MAX], text[DIGEST_TEXT_MAX];
	struct stat status;
	size_t len;

	if (fd < 0 || fstat(fd, &status) < 0)
		return err_errno(why, errno, "cannot open");
	if (!S_ISREG(status.st_mode))
		return err_set(why, -EINVAL, "not a regular file");
	ssize_t path_len = readlink(link, absolute, sizeof(absolute) - 1);

	if (path_len <= 0 || memchr(absolute, '\n', (size_t)path_len))
		return err_set(
			why, -EINVAL,
			"the path is unknown or contains a line break, so it cannot be recorded");
	absolute[path_len] = '\0';
	int r = fd_read_all(fd, POLICY_MAX_BYTES, &bytes, &len, why);

	if (r < 0)
		return r;
	if (digest_text(bytes, len, NULL, 0, text) < 0)
		return err_set(why, -EIO, "the hash function failed");
	return trust_store_put(state, TRUST_STORE_TRUSTED, absolute, text, why);
}
