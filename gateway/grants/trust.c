#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "gateway/gateway_tools.h"

#define SHEET_MAX_BYTES 4096
#define SHEETS_MAX      256
#define SHEET_VERSION   1

static const char suffix[] = ".json";

struct sheet {
	char command[GATEWAY_TRUST_COMMAND_MAX];
	struct gateway_trust trust;
};

/* The counts, with their names in a record. */
static const struct {
	const char *name;
	size_t at;
} counts[] = {
	{ "agree_allow", offsetof(struct gateway_trust, agree_allow) },
	{ "agree_deny", offsetof(struct gateway_trust, agree_deny) },
	{ "reviewer_allowed_person_denied", offsetof(struct gateway_trust, allowed_denied) },
	{ "reviewer_denied_person_allowed", offsetof(struct gateway_trust, denied_allowed) },
	{ "abstained", offsetof(struct gateway_trust, abstained) },
};

static uint64_t *count_of(struct gateway_trust *trust, size_t i)
{
	return (uint64_t *)(void *)((char *)trust + counts[i].at);
}

bool gateway_trust_is_enough(const struct gateway_trust *trust)
{
	uint64_t compared = trust->agree_allow + trust->agree_deny + trust->allowed_denied +
			    trust->denied_allowed;

	return trust->allowed_denied == 0 && compared >= GATEWAY_TRUST_COMPARED &&
	       trust->agree_deny >= GATEWAY_TRUST_DENIED;
}

static bool is_digest(const char *text, size_t len)
{
	return len == DIGEST_TEXT_MAX - 1 && strspn(text, "0123456789abcdef") >= len;
}

static int sheet_parse(const json_t *object, struct sheet *ret)
{
	struct sheet sheet = { 0 };
	const char *command = json_string_value(json_object_get(object, "command"));

	if (json_integer_value(json_object_get(object, "version")) != SHEET_VERSION || !command)
		return -EBADMSG;
	/* People read it, so it is made visible again: the file may hold anything. */
	(void)text_visible(sheet.command, sizeof(sheet.command), command, strlen(command));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		const json_t *value = json_object_get(object, counts[i].name);

		if (!json_is_integer(value) || json_integer_value(value) < 0 ||
		    json_integer_value(value) > INT32_MAX)
			return -EBADMSG;
		*count_of(&sheet.trust, i) = (uint64_t)json_integer_value(value);
	}
	*ret = sheet;
	return 0;
}

/* Without a file, @ret is empty. */
static int sheet_read(int dir_fd, const char *digest, struct sheet *ret, struct err *why)
{
	auto_free char *name = mem_printf("%s%s", digest, suffix);
	auto_close int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	auto_free char *text = NULL;
	size_t len;

	if (fd < 0 && errno == ENOENT) {
		*ret = (struct sheet){ 0 };
		return 0;
	}
	if (fd < 0)
		return err_errno(why, errno, "cannot open the reviewer's record %s", name);
	int r = fd_read_all(fd, SHEET_MAX_BYTES, &text, &len, why);
	if (r < 0)
		return r;
	json_t *object = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);

	r = object ? sheet_parse(object, ret) : -EBADMSG;
	json_decref(object);
	return r < 0 ? err_set(why, r, "the reviewer's record %s is not valid", name) : 0;
}

static char *sheet_text(const struct sheet *sheet)
{
	json_t *object =
		json_pack("{s:i, s:s}", "version", SHEET_VERSION, "command", sheet->command);
	struct sheet copy = *sheet;

	for (size_t i = 0; object && i < ARRAY_SIZE(counts); i++) {
		uint64_t count = *count_of(&copy.trust, i);

		if (count > INT32_MAX)
			count = INT32_MAX;
		if (json_object_set_new(object, counts[i].name, json_integer((json_int_t)count)) <
		    0)
			break;
	}
	char *text = object ? json_dumps(object, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;

	json_decref(object);
	return text;
}

/* The caller has locked the folder. */
static int sheet_write(int dir_fd, const char *digest, const struct sheet *sheet, struct err *why)
{
	auto_free char *name = mem_printf("%s%s", digest, suffix);
	auto_free char *fresh = mem_printf(".%s.new", digest);
	auto_free char *text = sheet_text(sheet);
	const struct replace what = { dir_fd, name, fresh, 0600, false };
	int r = text ? replace_file(&what, text, strlen(text)) : -ENOMEM;

	return r < 0 ? err_errno(why, -r, "cannot write the reviewer's record") : 0;
}

static int dir_open(const char *dir, struct err *why)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? err_errno(why, errno, "cannot open %s", dir) : fd;
}

int gateway_trust_read(const char *dir, const char *digest, struct gateway_trust *ret,
		       struct err *why)
{
	auto_close int dir_fd = dir_open(dir, why);
	struct sheet sheet;

	if (dir_fd == -ENOENT) {
		*ret = (struct gateway_trust){ 0 };
		return 0;
	}
	int r = dir_fd < 0 ? dir_fd : sheet_read(dir_fd, digest, &sheet, why);

	if (r == 0)
		*ret = sheet.trust;
	return r;
}

int gateway_trust_add(const char *dir, const char *digest, const char *command,
		      const struct gateway_trust *more, struct err *why)
{
	struct gateway_trust adding = *more;
	struct sheet sheet;

	if (!is_digest(digest, strlen(digest)))
		return err_set(why, -EINVAL, "the reviewer's digest is not valid");
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return err_errno(why, errno, "cannot make %s", dir);
	auto_close int dir_fd = dir_open(dir, why);

	if (dir_fd < 0)
		return dir_fd;
	int r = replace_lock(dir_fd, LOCK_EX, 0);

	if (r < 0)
		return err_errno(why, -r, "cannot lock %s", dir);
	r = sheet_read(dir_fd, digest, &sheet, why);

	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		*count_of(&sheet.trust, i) += *count_of(&adding, i);
	(void)snprintf(sheet.command, sizeof(sheet.command), "%s", command); /* may be cut */
	return sheet_write(dir_fd, digest, &sheet, why);
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The digests that have a file; returned owned, NULL-terminated. */
static char **sheet_names(DIR *stream)
{
	char **names = mem_new_array(SHEETS_MAX + 1, sizeof(*names));
	struct dirent *entry;
	size_t count = 0;

	while (count < SHEETS_MAX && (entry = readdir(stream))) {
		size_t len = strlen(entry->d_name);
		size_t stem = len > sizeof(suffix) - 1 ? len - (sizeof(suffix) - 1) : 0;

		if (is_digest(entry->d_name, stem) && strcmp(entry->d_name + stem, suffix) == 0)
			names[count++] = mem_strndup(entry->d_name, stem);
	}
	qsort(names, count, sizeof(*names), compare_names);
	return names;
}

int gateway_trust_each(const char *dir, gateway_trust_fn each, void *arg, struct err *why)
{
	auto_free_list char **names = NULL;
	DIR *stream = opendir(dir);
	struct sheet sheet;
	int result = 0;

	if (!stream)
		return errno == ENOENT ? 0 : err_errno(why, errno, "cannot read %s", dir);
	names = sheet_names(stream);
	for (char **name = names; *name; name++) {
		int r = sheet_read(dirfd(stream), *name, &sheet, why);

		if (r < 0)
			result = r;
		else
			each(*name, sheet.command, &sheet.trust, arg);
	}
	(void)closedir(stream);
	return result;
}
