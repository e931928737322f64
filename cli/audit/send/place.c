#include "cli/audit/send/place.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "cli/audit/send/spool.h"

#define PLACE_MAX 8192 /* bytes of the file */

/* "send.LOG.RECEIVER": digests of both. */
static int place_name(struct place *self, const char *log, struct err *why)
{
	char key[GATEWAY_AUDIT_KEY_MAX], digest[DIGEST_TEXT_MAX];

	gateway_audit_key(log, key);
	if (digest_text(self->to, strlen(self->to), "", 0, digest) < 0)
		return err_set(why, -EIO, "cannot compute a digest of %s", self->to);
	self->name = mem_printf("send.%s.%.16s", key, digest);
	return 0;
}

static bool place_copy(const json_t *object, const char *name, char ret[DIGEST_TEXT_MAX])
{
	const char *text = json_string_value(json_object_get(object, name));

	if (!text || strlen(text) >= DIGEST_TEXT_MAX)
		return false;
	memcpy(ret, text, strlen(text) + 1);
	return true;
}

static bool place_parse(const char *text, struct spool_place *ret)
{
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	json_int_t seq, at, lost;
	bool is_good = object &&
		       json_unpack(object, "{s:I, s:I, s:I}", "seq", &seq, "at", &at, "lost",
				   &lost) == 0 &&
		       seq >= 0 && at >= 0 && lost >= 0 && place_copy(object, "log", ret->log) &&
		       place_copy(object, "hash", ret->hash);

	json_decref(object);
	if (!is_good)
		return false;
	ret->seq = (uint64_t)seq;
	ret->at = (off_t)at;
	ret->lost = (uint64_t)lost;
	return true;
}

static int place_read(const struct place *self, const char *dir, struct spool_place *ret,
		      struct err *why)
{
	struct spool_place made = { 0 };
	auto_free char *text = NULL;
	auto_close int fd = openat(self->folder, self->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*ret = made;
	if (fd < 0 && errno == ENOENT)
		return 0;
	int r = fd < 0 ? err_errno(why, errno, "cannot open %s/%s", dir, self->name)
		       : fd_read_all(fd, PLACE_MAX, &text, NULL, why);

	if (r < 0)
		return r;
	if (!place_parse(text, &made))
		return err_set(why, -EBADMSG,
			       "%s/%s, which says what was sent to %s, is damaged; remove it, and "
			       "the log is sent from its beginning",
			       dir, self->name, self->to);
	*ret = made;
	return 0;
}

static int place_lock(struct place *self, const char *dir, struct err *why)
{
	auto_free char *name = mem_printf("%s.lock", self->name);

	self->lock = openat(self->folder, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (self->lock < 0)
		return err_errno(why, errno, "cannot open %s/%s", dir, name);
	int r = replace_lock(self->lock, LOCK_EX, 0);

	if (r == -EWOULDBLOCK)
		return err_set(why, r, "another process sends this log to %s", self->to);
	return r < 0 ? err_errno(why, -r, "cannot lock %s/%s", dir, name) : 0;
}

int place_open(struct place *self, const char *dir, const char *log, const char *to,
	       struct spool_place *ret, struct err *why)
{
	*self = (struct place){ .folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				.lock = -1,
				.to = mem_strdup(to) };
	if (self->folder < 0)
		return err_errno(why, errno, "cannot open %s", dir);
	int r = place_name(self, log, why);

	if (r == 0)
		r = place_lock(self, dir, why);
	return r == 0 ? place_read(self, dir, ret, why) : r;
}

void place_close(struct place *self)
{
	fd_close(fd_take(&self->folder));
	fd_close(fd_take(&self->lock));
	free(take(self->name));
	free(take(self->to));
}

int place_save(const struct place *self, const struct spool_place *place, struct err *why)
{
	auto_free char *fresh = mem_printf("%s.new", self->name);
	const struct replace how = {
		.folder = self->folder, .name = self->name, .fresh = fresh, .mode = 0600
	};
	json_t *object = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I}", "to", self->to, "log",
				   place->log, "hash", place->hash, "seq", (json_int_t)place->seq,
				   "at", (json_int_t)place->at, "lost", (json_int_t)place->lost);
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
	int r = text ? replace_file(&how, text, strlen(text)) : -EINVAL;

	free(text);
	json_decref(object);
	return r < 0 ? err_errno(why, -r, "cannot remember what was sent to %s", self->to) : 0;
}
