/* A line is {"seq":N,…,"prev":"P","hash":"H"} and a newline. P is the H of the line before, 64
 * zeros on the first. H is the SHA-256, as lower-case hexadecimal text, of P's 64 characters
 * followed by the line's bytes without ,"hash":"H" and without the newline. Both members stand at
 * fixed places from the end and seq at the start, so a checker needs no JSON reader that keeps
 * bytes. */
#include "gateway/audit/chain.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define HASH_LEN     (DIGEST_TEXT_MAX - 1)
#define PREV_OPENING ",\"prev\":\""
#define HASH_OPENING ",\"hash\":\""
#define CLOSING      "\"}"
#define SEQ_OPENING  "{\"seq\":"
#define HEAD_OPENING "sallyport-audit-head 1 "
#define HEAD_SEQ_AT  23
#define HEAD_SIZE_AT 44
#define HEAD_HASH_AT 65
#define HEAD_BOOT_AT 130 /* heads of older versions have blanks there */
#define BOOT_ID      "/proc/sys/kernel/random/boot_id" /* 8 digits, "-", 4, "-", 4, … */

void chain_begin(struct chain *chain)
{
	chain->seq = 0;
	chain->size = 0;
	memset(chain->hash, '0', HASH_LEN);
	chain->hash[HASH_LEN] = '\0';
	chain_stamp(chain);
}

void chain_stamp(struct chain *chain)
{
	auto_close int fd = open(BOOT_ID, O_RDONLY | O_CLOEXEC);
	char id[8 + 1 + 4 + 1 + 4 + 1];
	ssize_t n = fd < 0 ? -1 : read(fd, id, sizeof(id) - 1);

	chain->boot[0] = '\0';
	if (n != sizeof(id) - 1)
		return;
	id[n] = '\0';
	if (strspn(id, "0123456789abcdef-") == (size_t)n && id[8] == '-' && id[13] == '-')
		(void)snprintf(chain->boot, sizeof(chain->boot), "%.8s%.4s%.4s", id, id + 9,
			       id + 14);
}

bool chain_is_of_other_boot(const struct chain *chain)
{
	struct chain now;

	chain_stamp(&now);
	return chain->boot[0] != '\0' && now.boot[0] != '\0' && strcmp(chain->boot, now.boot) != 0;
}

static char *chain_put(char *at, const char *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

ssize_t chain_seal(struct chain *chain, const char *members, size_t len, char *out)
{
	char hash[DIGEST_TEXT_MAX], *at = chain_put(out, SEQ_OPENING, strlen(SEQ_OPENING));

	if (len > CHAIN_MEMBERS_MAX)
		return -E2BIG;
	at += text_from_u64(at, chain->seq + 1, 1);
	at = chain_put(at, members, len);
	at = chain_put(at, PREV_OPENING, strlen(PREV_OPENING));
	at = chain_put(at, chain->hash, HASH_LEN);
	at = chain_put(at, CLOSING, strlen(CLOSING));
	int r = digest_text(chain->hash, HASH_LEN, out, (size_t)(at - out), hash);

	if (r < 0)
		return r;
	at = chain_put(at - 1, HASH_OPENING, strlen(HASH_OPENING)); /* over the closing brace */
	at = chain_put(at, hash, HASH_LEN);
	at = chain_put(at, CLOSING "\n", strlen(CLOSING "\n"));
	memcpy(chain->hash, hash, sizeof(hash));
	chain->seq++;
	chain->size += at - out;
	return at - out;
}

static bool chain_is_hash(const char *text)
{
	return strspn(text, "0123456789abcdef") >= HASH_LEN;
}

/* Finds the member @opening VALUE" that ends right before @end: copies the value and returns the
 * start of the member; NULL: there is none. */
static const char *chain_member(const char *line, const char *end, const char *opening,
				char ret[DIGEST_TEXT_MAX])
{
	size_t whole = strlen(opening) + HASH_LEN + 1;

	if ((size_t)(end - line) < whole || end[-1] != '"' ||
	    memcmp(end - whole, opening, strlen(opening)) != 0 ||
	    !chain_is_hash(end - HASH_LEN - 1))
		return NULL;
	memcpy(ret, end - HASH_LEN - 1, HASH_LEN);
	ret[HASH_LEN] = '\0';
	return end - whole;
}

static int chain_read_seq(const char *line, size_t len, uint64_t *ret_seq)
{
	size_t skip = strlen(SEQ_OPENING), digits = 0;

	if (len <= skip || memcmp(line, SEQ_OPENING, skip) != 0)
		return -EBADMSG;
	while (skip + digits < len && line[skip + digits] >= '0' && line[skip + digits] <= '9')
		digits++;
	return text_to_u64(line + skip, digits, UINT64_MAX, ret_seq) < 0 ? -EBADMSG : 0;
}

int chain_read(const char *line, size_t len, uint64_t *ret_seq, char ret_prev[DIGEST_TEXT_MAX],
	       char ret_hash[DIGEST_TEXT_MAX], struct err *why)
{
	char hash[DIGEST_TEXT_MAX], body[CHAIN_LINE_MAX];

	if (len >= CHAIN_LINE_MAX || len < 2 || line[len - 1] != '}' ||
	    chain_read_seq(line, len, ret_seq) < 0)
		return err_set(why, -EBADMSG, "this is not an audit record");
	const char *cut = chain_member(line, line + len - 1, HASH_OPENING, ret_hash);

	if (!cut || !chain_member(line, cut, PREV_OPENING, ret_prev))
		return err_set(why, -EBADMSG, "this is not an audit record");
	memcpy(body, line, (size_t)(cut - line));
	body[cut - line] = '}';
	int r = digest_text(ret_prev, HASH_LEN, body, (size_t)(cut - line) + 1, hash);

	if (r < 0)
		return err_set(why, r, "the hash function failed");
	if (strcmp(hash, ret_hash) != 0)
		return err_set(why, -EBADMSG,
			       "the record was edited: its hash does not match its content");
	return 0;
}

const char *chain_members(const char *line, size_t len, size_t *ret_len)
{
	size_t begin = strlen(SEQ_OPENING);
	size_t end = len - strlen(PREV_OPENING) - strlen(HASH_OPENING) - (2 * (size_t)HASH_LEN) -
		     1 - strlen(CLOSING);

	while (line[begin] >= '0' && line[begin] <= '9')
		begin++;
	*ret_len = end - begin;
	return line + begin;
}

int chain_check(struct chain *chain, const char *line, size_t len, struct err *why)
{
	char prev[DIGEST_TEXT_MAX], hash[DIGEST_TEXT_MAX];
	uint64_t seq, want = chain->seq + 1;
	int r = chain_read(line, len, &seq, prev, hash, why);

	if (r < 0)
		return r;
	if (seq > want)
		return err_set(why, -EBADMSG,
			       "found record %" PRIu64 " instead of %" PRIu64
			       ": records were removed or reordered",
			       seq, want);
	if (seq < want)
		return err_set(why, -EBADMSG,
			       "found record %" PRIu64 " instead of %" PRIu64
			       ": a record was repeated, inserted or reordered",
			       seq, want);
	if (strcmp(prev, chain->hash) != 0)
		return err_set(
			why, -EBADMSG,
			"the record does not follow the one before: one of them was replaced");
	chain->seq = seq;
	chain->size += (off_t)len + 1;
	memcpy(chain->hash, hash, sizeof(hash));
	return 0;
}

char *chain_head_path(const char *path)
{
	return mem_printf("%s.head", path);
}

/* There is only one spelling: the fields, blanks up to the fixed size, a newline. */
void chain_head_text(const struct chain *chain, char ret[CHAIN_HEAD_BYTES])
{
	static_assert(sizeof(HEAD_OPENING) - 1 == HEAD_SEQ_AT &&
			      HEAD_SIZE_AT == HEAD_SEQ_AT + TEXT_DIGITS_MAX + 1 &&
			      HEAD_HASH_AT == HEAD_SIZE_AT + TEXT_DIGITS_MAX + 1,
		      "one blank between the fields");

	memset(ret, ' ', CHAIN_HEAD_BYTES);
	memcpy(ret, HEAD_OPENING, sizeof(HEAD_OPENING)); /* a digit replaces the NUL */
	(void)text_from_u64(ret + HEAD_SEQ_AT, chain->seq, TEXT_DIGITS_MAX);
	(void)text_from_u64(ret + HEAD_SIZE_AT, (uint64_t)chain->size, TEXT_DIGITS_MAX);
	memcpy(ret + HEAD_HASH_AT, chain->hash, HASH_LEN);
	memcpy(ret + HEAD_BOOT_AT, chain->boot, strlen(chain->boot));
	ret[CHAIN_HEAD_BYTES - 1] = '\n';
}

int chain_head_parse(const char bytes[CHAIN_HEAD_BYTES], struct chain *ret)
{
	char head[CHAIN_HEAD_BYTES + 1], again[CHAIN_HEAD_BYTES];
	uint64_t size;
	struct chain chain = { 0 };

	memcpy(head, bytes, CHAIN_HEAD_BYTES);
	head[CHAIN_HEAD_BYTES] = '\0';
	if (text_to_u64(head + HEAD_SEQ_AT, 20, UINT64_MAX, &chain.seq) < 0 ||
	    text_to_u64(head + HEAD_SIZE_AT, 20, INT64_MAX, &size) < 0 ||
	    !chain_is_hash(head + HEAD_HASH_AT))
		return -EBADMSG;
	chain.size = (off_t)size;
	memcpy(chain.hash, head + HEAD_HASH_AT, HASH_LEN);
	chain.hash[HASH_LEN] = '\0';
	memcpy(chain.boot, head + HEAD_BOOT_AT, CHAIN_BOOT_MAX - 1);
	chain.boot[strspn(chain.boot, "0123456789abcdef")] = '\0';
	chain_head_text(&chain, again);
	if (memcmp(head, again, CHAIN_HEAD_BYTES) != 0)
		return -EBADMSG;
	*ret = chain;
	return 0;
}

int chain_head_read(int fd, struct chain *ret)
{
	char head[CHAIN_HEAD_BYTES + 1];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return -errno;
	return n == CHAIN_HEAD_BYTES ? chain_head_parse(head, ret) : -EBADMSG;
}

int chain_head_write(int fd, const struct chain *chain)
{
	char head[CHAIN_HEAD_BYTES];

	chain_head_text(chain, head);
	ssize_t n = pwrite(fd, head, sizeof(head), 0);

	if (n < 0)
		return -errno;
	return n == (ssize_t)sizeof(head) ? 0 : -ENOSPC;
}
