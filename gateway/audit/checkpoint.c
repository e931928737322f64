/* A checkpoint is the only record with a signature, its last member before those of the chain. What
 * is signed: the bytes of CHECKPOINT_MESSAGE, the 64 characters of the record's prev, and the line
 * up to its signature. So the signature covers the number, the time and the identity of the log,
 * and all records before. */
#include "gateway/audit/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/crypto/base64.h"
#include "base/crypto/key_file.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/replace.h"
#include "base/text.h"
#include "gateway/audit/logfile.h"
#include "gateway/audit/record.h"
#include "gateway/audit/segment.h"
#include "gateway/gateway_audit.h"

#define MESSAGE        "sallyport-checkpoint-v1"
#define SIGNATURE_OPEN ",\"signature\":\""
#define EVENT          ",\"event\":\"checkpoint\"," /* quotes in texts are escaped */
#define SIGNATURE_LEN  (sizeof(SIGNATURE_OPEN) - 1 + BASE64_LEN(SIGN_BYTES) + 1)
#define CHAIN_LEN      149 /* ,"prev":"64 digits","hash":"64 digits"} */
#define HASH_LEN       (DIGEST_TEXT_MAX - 1)
#define KEY_LEN        (sizeof("ed25519:") - 1 + BASE64_LEN(SIGN_KEY_BYTES))
#define LOCK_MS        1000
#define PAST_OPENING   "sallyport-checkpoint 1 "
#define PAST_FIRST_AT  23
#define PAST_LOG_AT    44
#define PAST_BYTES     (PAST_LOG_AT + HASH_LEN + 1 + CHAIN_HEAD_BYTES)

/* Returned owned: what is signed. */
static char *checkpoint_message(const char *prev, const char *line, size_t len, size_t *ret_len)
{
	char *message = mem_new(sizeof(MESSAGE) - 1 + HASH_LEN + len);

	memcpy(message, MESSAGE, sizeof(MESSAGE) - 1);
	memcpy(message + sizeof(MESSAGE) - 1, prev, HASH_LEN);
	memcpy(message + sizeof(MESSAGE) - 1 + HASH_LEN, line, len);
	*ret_len = sizeof(MESSAGE) - 1 + HASH_LEN + len;
	return message;
}

/* The rest of the line up to the signature. */
struct rest {
	const char *at, *end;
};

static bool rest_is(struct rest *rest, const char *text)
{
	size_t len = strlen(text);

	if ((size_t)(rest->end - rest->at) < len || memcmp(rest->at, text, len) != 0)
		return false;
	rest->at += len;
	return true;
}

static bool rest_hash(struct rest *rest, char ret[DIGEST_TEXT_MAX])
{
	if ((size_t)(rest->end - rest->at) <= HASH_LEN || rest->at[HASH_LEN] != '"' ||
	    strspn(rest->at, "0123456789abcdef") != HASH_LEN)
		return false;
	memcpy(ret, rest->at, HASH_LEN);
	ret[HASH_LEN] = '\0';
	rest->at += HASH_LEN + 1;
	return true;
}

static bool rest_key(struct rest *rest, uint8_t ret[SIGN_KEY_BYTES])
{
	char text[SIGN_PUBLIC_TEXT_MAX];

	if ((size_t)(rest->end - rest->at) <= KEY_LEN || rest->at[KEY_LEN] != '"')
		return false;
	memcpy(text, rest->at, KEY_LEN);
	text[KEY_LEN] = '\0';
	rest->at += KEY_LEN + 1;
	return sign_public_parse(text, ret) == 0;
}

static bool rest_number(struct rest *rest, uint64_t *ret)
{
	size_t digits = 0;

	while (rest->at + digits < rest->end && rest->at[digits] >= '0' && rest->at[digits] <= '9')
		digits++;
	if (text_to_u64(rest->at, digits, INT64_MAX, ret) < 0 || *ret == 0)
		return false;
	rest->at += digits;
	return true;
}

/* As record.c writes them, in this order only. */
static bool checkpoint_members(struct rest *rest, struct checkpoint *ret)
{
	if (!rest_is(rest, "\"log\":\"") || !rest_hash(rest, ret->log) ||
	    !rest_is(rest, ",\"key\":\"") || !rest_key(rest, ret->key) ||
	    !rest_is(rest, ",\"oldest\":") || !rest_number(rest, &ret->first))
		return false;
	if (rest->at == rest->end)
		return true;
	if (!rest_is(rest, ",\"after\":") || !rest_number(rest, &ret->after))
		return false;
	if (rest_is(rest, ",\"replaces\":\"") && !rest_hash(rest, ret->replaces))
		return false;
	return rest_is(rest, ",\"digest\":\"") && rest_hash(rest, ret->digest) &&
	       rest->at == rest->end;
}

int checkpoint_read(const char *line, size_t len, struct checkpoint *ret)
{
	const char *event = memmem(line, len, EVENT, sizeof(EVENT) - 1);
	size_t size;

	if (!event)
		return 1;
	*ret = (struct checkpoint){ 0 };
	if ((size_t)(line + len - event) < sizeof(EVENT) - 1 + SIGNATURE_LEN + CHAIN_LEN)
		return -EBADMSG;
	const char *end = line + len - CHAIN_LEN; /* of the signature */

	if (end[-1] != '"' ||
	    memcmp(end - SIGNATURE_LEN, SIGNATURE_OPEN, sizeof(SIGNATURE_OPEN) - 1) != 0 ||
	    base64_decode(end - 1 - BASE64_LEN(SIGN_BYTES), BASE64_LEN(SIGN_BYTES), ret->signature,
			  SIGN_BYTES, &size) < 0 ||
	    size != SIGN_BYTES)
		return -EBADMSG;
	struct rest rest = { event + sizeof(EVENT) - 1, end - SIGNATURE_LEN };

	ret->signed_len = (size_t)(rest.end - line);
	return checkpoint_members(&rest, ret) ? 0 : -EBADMSG;
}

int checkpoint_check(const struct checkpoint *checkpoint, const char *line,
		     const char prev[DIGEST_TEXT_MAX])
{
	size_t len;
	auto_free char *message = checkpoint_message(prev, line, checkpoint->signed_len, &len);

	return sign_check(checkpoint->key, message, len, checkpoint->signature);
}

/* The signature of the line that @members begin, as text with its name. */
static int checkpoint_sign(const struct chain *chain, const struct sign_key *key,
			   const char *members, size_t members_len, char ret[SIGNATURE_LEN + 1],
			   struct err *why)
{
	auto_free char *line = mem_printf("{\"seq\":%llu%.*s", (unsigned long long)chain->seq + 1,
					  (int)members_len, members);
	size_t len;
	auto_free char *message = checkpoint_message(chain->hash, line, strlen(line), &len);
	uint8_t signature[SIGN_BYTES];
	int r = sign_bytes(key, message, len, signature, why);

	if (r < 0)
		return r;
	auto_free char *text = base64_encode(signature, sizeof(signature));

	(void)snprintf(ret, SIGNATURE_LEN + 1, SIGNATURE_OPEN "%s\"", text);
	return 0;
}

ssize_t checkpoint_seal(struct chain *next, const struct sign_key *key,
			const struct checkpoint_past *past, const char *replaces,
			char line[CHAIN_LINE_MAX], struct err *why)
{
	char text[SIGN_PUBLIC_TEXT_MAX], members[CHAIN_MEMBERS_MAX];
	const struct sink_checkpoint checkpoint = {
		.log = past->log,
		.key = sign_public_text(key->public, text),
		.first = past->first,
		.after = past->last.seq,
		.replaces = replaces,
	};
	struct sink_record record = {
		.event = SINK_CHECKPOINT,
		.checkpoint = &checkpoint,
		.digest = past->last.seq ? past->last.hash : NULL,
	};

	record_stamp(&record);
	ssize_t len = record_members(&record, members, sizeof(members) - SIGNATURE_LEN - 1);
	int r = len < 0 ? (int)len
			: checkpoint_sign(next, key, members, (size_t)len, members + len, why);

	return r < 0 ? r : chain_seal(next, members, (size_t)len + SIGNATURE_LEN, line);
}

char *checkpoint_past_path(const char *path, const char *dir)
{
	char key[SEGMENT_KEY_MAX];

	segment_key(path, key);
	return mem_printf("%s/checkpoint.%s", dir, key);
}

/* There is only one spelling: the opening, the first record, the log's identity, and a head. */
static void checkpoint_past_text(const struct checkpoint_past *past, char ret[PAST_BYTES])
{
	memset(ret, ' ', PAST_BYTES);
	memcpy(ret, PAST_OPENING, sizeof(PAST_OPENING) - 1);
	(void)text_from_u64(ret + PAST_FIRST_AT, past->first, TEXT_DIGITS_MAX);
	memcpy(ret + PAST_LOG_AT, past->log, HASH_LEN);
	ret[PAST_LOG_AT + HASH_LEN] = '\n';
	chain_head_text(&past->last, ret + PAST_LOG_AT + HASH_LEN + 1);
}

bool checkpoint_past_read(const char *path, struct checkpoint_past *ret)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	char bytes[PAST_BYTES + 1], again[PAST_BYTES];
	struct checkpoint_past past;

	if (fd < 0 || pread(fd, bytes, sizeof(bytes), 0) != PAST_BYTES ||
	    text_to_u64(bytes + PAST_FIRST_AT, TEXT_DIGITS_MAX, UINT64_MAX, &past.first) < 0 ||
	    chain_head_parse(bytes + PAST_LOG_AT + HASH_LEN + 1, &past.last) < 0)
		return false;
	memcpy(past.log, bytes + PAST_LOG_AT, HASH_LEN);
	past.log[HASH_LEN] = '\0';
	checkpoint_past_text(&past, again);
	if (memcmp(bytes, again, PAST_BYTES) != 0)
		return false;
	*ret = past;
	return true;
}

int checkpoint_past_write(const char *path, const struct checkpoint_past *past)
{
	auto_close int fd = logfile_open_own(path, O_WRONLY, NULL);
	char bytes[PAST_BYTES];

	if (fd < 0)
		return fd;
	checkpoint_past_text(past, bytes);
	ssize_t n = pwrite(fd, bytes, sizeof(bytes), 0);

	return n < 0 ? -errno : n == (ssize_t)sizeof(bytes) ? 0 : -ENOSPC;
}

int checkpoint_past_of(const struct logfile *log, const char *past_path,
		       struct checkpoint_past *ret, char ret_replaces[DIGEST_TEXT_MAX],
		       struct err *why)
{
	auto_free char *line = mem_new(CHAIN_LINE_MAX);
	ssize_t n = pread(log->fd, line, CHAIN_LINE_MAX, 0);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	char prev[DIGEST_TEXT_MAX], hash[DIGEST_TEXT_MAX];
	uint64_t seq = 0;
	int r = n < 0  ? -errno
		: !end ? -EBADMSG
		       : chain_read(line, (size_t)(end - line), &seq, prev, hash, NULL);

	ret_replaces[0] = '\0';
	if (r < 0)
		return err_errno(why, -r, "the first record of %s cannot be read", log->path);
	bool has_past = checkpoint_past_read(past_path, ret);

	if (!has_past)
		*ret = (struct checkpoint_past){ .first = seq };
	/* Only prune changes the first record of a log. */
	bool is_other = !has_past || (seq == 1 && strcmp(ret->log, hash) != 0);

	if (has_past && is_other)
		memcpy(ret_replaces, ret->log, DIGEST_TEXT_MAX);
	if (is_other) {
		memcpy(ret->log, seq == 1 ? hash : prev, DIGEST_TEXT_MAX);
		ret->first = seq;
	}
	return 0;
}

/* A record that says why nothing is signed. */
static ssize_t checkpoint_seal_unsigned(struct chain *next, const char *cause,
					char line[CHAIN_LINE_MAX])
{
	struct sink_record record = { .event = SINK_UNSIGNED, .cause = cause };
	char members[CHAIN_MEMBERS_MAX];

	record_stamp(&record);
	ssize_t len = record_members(&record, members, sizeof(members));

	return len < 0 ? len : chain_seal(next, members, (size_t)len, line);
}

static int checkpoint_append(struct logfile *log, const char *past_path, const struct sign_key *key,
			     const char *cause, struct err *why)
{
	struct checkpoint_past past;
	char line[CHAIN_LINE_MAX], replaces[DIGEST_TEXT_MAX];
	struct chain next = log->chain;

	if (log->chain.seq == 0)
		return 0;
	int r = checkpoint_past_of(log, past_path, &past, replaces, why);

	if (r < 0 ||
	    (past.last.seq == log->chain.seq && strcmp(past.last.hash, log->chain.hash) == 0))
		return r; /* everything is signed */
	ssize_t len = key ? checkpoint_seal(&next, key, &past, replaces, line, why)
			  : checkpoint_seal_unsigned(&next, cause, line);

	r = len < 0 ? (int)len : logfile_append(log, line, (size_t)len, &next, why);
	if (r < 0 || !key)
		return r;
	past.last = next;
	/* If this fails, the next checkpoint names the one before, which is in the log as well. */
	r = checkpoint_past_write(past_path, &past);
	return r < 0 ? err_errno(why, -r, "cannot write %s", past_path) : 0;
}

int checkpoint_write(struct logfile *log, const char *dir, const char *key_dir, int64_t limit_ms,
		     struct err *why)
{
	struct sign_key key = { 0 };
	struct err cause = { 0 };
	auto_free char *past_path = checkpoint_past_path(log->path, dir);
	int has_key = key_file_read(key_dir, true, &key, &cause);

	(void)replace_lock(log->fd, LOCK_EX, limit_ms); /* the next call tells */
	int r = logfile_lock(log, why);

	if (r == 0)
		r = checkpoint_append(log, past_path, has_key == 0 ? &key : NULL, cause.text, why);
	logfile_unlock(log);
	sign_key_forget(&key);
	if (r < 0)
		return r;
	return has_key < 0 ? err_set(why, has_key, "%s", cause.text) : 0;
}

int gateway_audit_sign(const char *path, const char *dir, const char *key_dir, struct err *why)
{
	struct logfile log = { .fd = -1, .head_fd = -1 };
	int r = access(path, F_OK) < 0 ? err_errno(why, errno, "cannot open %s", path)
				       : logfile_open(&log, path, why);

	if (r == 0)
		r = checkpoint_write(&log, dir, key_dir, LOCK_MS, why);
	logfile_close(&log);
	return r;
}
