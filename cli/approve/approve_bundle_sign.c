#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/approve/approve_bundle.h"
#include "cli/bundle_files.h"

#define ARMOR_BEGIN "-----BEGIN SSH SIGNATURE-----"
#define ARMOR_END   "-----END SSH SIGNATURE-----"
#define ARMOR_MAX   4096

extern char **environ;

/* Reads the public key: from the file beside the private one, or from the file itself, for a key
 * that an agent holds. */
static int open_ssh(const char *path, const char *text, struct approve_key *ret, struct err *why)
{
	auto_free char *beside = mem_printf("%s.pub", path), *line = NULL;

	ret->is_ssh = true;
	if (sign_public_parse(text, ret->public) == 0)
		return 0;
	int r = bundle_files_read(beside, SIGN_PEM_MAX, &line, NULL, why);

	if (r == 0 && sign_public_parse(line, ret->public) < 0)
		r = err_set(why, -EBADMSG, "%s is not an Ed25519 key of SSH", beside);
	return r;
}

int approve_bundle_sign_open(const char *path, struct approve_key *ret, struct err *why)
{
	auto_free char *text = NULL;
	size_t len = 0;
	int r = bundle_files_read(path, SIGN_PEM_MAX, &text, &len, why);

	if (r < 0)
		return r;
	*ret = (struct approve_key){ .path = path };
	if (strstr(text, "OPENSSH PRIVATE KEY") || strncmp(text, "ssh-", 4) == 0) {
		r = open_ssh(path, text, ret, why);
	} else {
		r = sign_key_from_pem(text, len, &ret->pem, why);
		if (r < 0)
			r = err_prefix(why, r, "%s", path);
		memcpy(ret->public, ret->pem.public, sizeof(ret->public));
	}
	explicit_bzero(text, len);
	return r;
}

/* Starts ssh-keygen with @in as its input and @out as its output; it prompts on the terminal. */
static int spawn_keygen(const char *path, int in, int out, pid_t *ret_child)
{
	char *const argv[] = { (char *)(uintptr_t) "ssh-keygen",
			       (char *)(uintptr_t) "-Y",
			       (char *)(uintptr_t) "sign",
			       (char *)(uintptr_t) "-q",
			       (char *)(uintptr_t) "-n",
			       (char *)(uintptr_t)BUNDLE_NAMESPACE,
			       (char *)(uintptr_t) "-f",
			       (char *)(uintptr_t)path,
			       NULL };
	posix_spawn_file_actions_t actions;
	int r = posix_spawn_file_actions_init(&actions);

	if (r != 0)
		return -r;
	r = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	if (r == 0)
		r = posix_spawnp(ret_child, argv[0], &actions, NULL, argv, environ);
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

/* A file, because a pipe could be too small for @text. */
static int text_as_file(const char *text, struct err *why)
{
	auto_close int fd = memfd_create("answers", MFD_CLOEXEC);

	if (fd < 0)
		return err_errno(why, errno, "cannot make a memory file for the answers");
	int r = fd_write_all(fd, text, strlen(text));

	if (r == 0 && lseek(fd, 0, SEEK_SET) < 0)
		r = -errno;
	return r < 0 ? err_errno(why, -r, "cannot make a memory file for the answers")
		     : fd_take(&fd);
}

static int run_keygen(const char *path, const char *text, char **ret_armor, struct err *why)
{
	int ends[2], status = 0, r;
	pid_t child = -1;

	auto_close int in = text_as_file(text, why);
	if (in < 0)
		return in;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(why, errno, "cannot make a pipe");
	auto_close int from = ends[0];
	r = spawn_keygen(path, in, ends[1], &child);
	fd_close(ends[1]);
	if (r < 0)
		return err_errno(why, -r, "cannot run ssh-keygen");
	r = fd_read_all(from, ARMOR_MAX, ret_armor, NULL, why);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && status != 0)
		r = err_set(why, -EIO, "ssh-keygen did not sign the answers");
	return r;
}

/* Decodes the armored text to the bytes in it. */
static int open_armor(const char *armor, uint8_t ret[SIGN_SSH_MAX], size_t *ret_len)
{
	const char *at = armor ? strstr(armor, ARMOR_BEGIN) : NULL;
	const char *end = at ? strstr(at, ARMOR_END) : NULL;
	size_t len = 0;

	if (!end)
		return -EBADMSG;
	auto_free char *body = mem_new((size_t)(end - at) + 1);

	for (at += strlen(ARMOR_BEGIN); at < end; at++) {
		if (*at != '\n' && *at != '\r')
			body[len++] = *at;
	}
	return base64_decode(body, len, ret, SIGN_SSH_MAX, ret_len);
}

static int sign_by_ssh(const struct approve_key *key, const char *text, char **ret_file,
		       struct err *why)
{
	auto_free char *armor = NULL;
	uint8_t signature[SIGN_SSH_MAX];
	size_t len = 0;
	int r = run_keygen(key->path, text, &armor, why);

	if (r < 0)
		return r;
	/* Verify the signature as the reader of the answers will. */
	if (open_armor(armor, signature, &len) < 0 ||
	    sign_ssh_check(key->public, BUNDLE_NAMESPACE, text, strlen(text), signature, len) < 0)
		return err_set(why, -EBADMSG, "ssh-keygen did not return a signature by that key");
	*ret_file = bundle_answers_file(text, signature, len, true);
	return 0;
}

int approve_bundle_sign_make(const struct approve_key *key, const char *text, char **ret_file,
			     struct err *why)
{
	uint8_t signature[SIGN_BYTES];
	size_t len;

	if (key->is_ssh)
		return sign_by_ssh(key, text, ret_file, why);
	auto_free char *message = bundle_answers_message(text, &len);
	int r = sign_bytes(&key->pem, message, len, signature, why);

	if (r == 0)
		*ret_file = bundle_answers_file(text, signature, sizeof(signature), false);
	return r;
}
