#include "base/crypto/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"

#define KEY_TRIES 8

/* -ENOENT: there is no key yet. */
static int key_file_open(int folder, struct sign_key *ret, struct err *why)
{
	auto_close int fd =
		openat(folder, KEY_FILE_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	auto_free char *text = NULL;
	struct stat status;
	size_t len = 0;

	if (fd < 0)
		return err_errno(why, errno, "cannot open the key of this machine");
	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
	    status.st_mode & 077)
		return err_set(why, -EPERM,
			       "the key file of this machine must belong to you, with mode 0600");
	int r = fd_read_all(fd, SIGN_PEM_MAX, &text, &len, why);

	if (r == 0 && sign_key_from_pem(text, len, ret, why) < 0)
		r = -EINVAL;
	if (text)
		explicit_bzero(text, len);
	return r;
}

/* Creates the key file; never replaces one that another process made: -EEXIST. */
static int key_file_make(int folder, struct err *why)
{
	auto_free char *name = mem_printf("." KEY_FILE_NAME ".%d.new", (int)getpid());
	const struct replace what = { folder, KEY_FILE_NAME, name, 0600, true, .is_new = true };
	struct sign_key key;
	int r = sign_key_make(&key, why);

	if (r < 0)
		return r;
	auto_free char *text = sign_key_to_pem(&key);

	r = replace_file(&what, text, strlen(text));
	explicit_bzero(text, strlen(text));
	sign_key_forget(&key);
	return r < 0 && r != -EEXIST ? err_errno(why, -r, "cannot write the key of this machine")
				     : r;
}

int key_file_read(const char *state, bool is_needed, struct sign_key *ret, struct err *why)
{
	struct err found = { 0 };
	int r = -ENOENT;
	auto_close int folder = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return err_errno(why, errno, "cannot open the folder %s", state);
	/* A process that creates the key at the same time creates the one that we use, too. */
	for (int i = 0; i < KEY_TRIES; i++) {
		r = key_file_open(folder, ret, &found);
		if (r != -ENOENT || !is_needed)
			break;
		r = key_file_make(folder, &found);
		if (r < 0 && r != -EEXIST)
			break;
	}
	return r < 0 ? err_set(why, r, "%s/" KEY_FILE_NAME ": %s", state, found.text) : 0;
}
