#include "gateway/audit/resume.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/audit/sink_impl.h"

/* The most that a writer can leave after its head: one batch, and another if it had adopted a batch
 * before. Our programs never leave more. */
#define BEHIND_MAX (2U * SINK_BATCH_MAX * CHAIN_LINE_MAX)
/* Records that were written before these are on the disk: durable.h. */
#define RECENT_MAX (4 << 20)

static int resume_read(int fd, char *bytes, size_t len, off_t at, struct err *why)
{
	while (len > 0) {
		ssize_t n = pread(fd, bytes, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno, "cannot read it");
		if (n == 0)
			return err_set(why, -EBADMSG, "the file was truncated while it was read");
		bytes += n;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

int resume_record(int fd, off_t end, uint64_t *ret_seq, char ret_hash[DIGEST_TEXT_MAX],
		  struct err *why)
{
	size_t len = end < CHAIN_LINE_MAX ? (size_t)end : CHAIN_LINE_MAX;
	auto_free char *tail = mem_new(len);
	char prev[DIGEST_TEXT_MAX];
	int r = resume_read(fd, tail, len, end - (off_t)len, why);

	if (r < 0)
		return r;
	if (tail[len - 1] != '\n')
		return err_set(why, -EBADMSG, "its last record is not complete");
	const char *before = len > 1 ? memrchr(tail, '\n', len - 1) : NULL;
	const char *line = before ? before + 1 : tail;

	r = chain_read(line, (size_t)(tail + len - 1 - line), ret_seq, prev, ret_hash, why);
	return r < 0 ? err_prefix(why, r, "its last record") : 0;
}

/* The record that ends at the head's size must be the record that the head names. */
static int resume_check_last(int fd, const struct chain *head, struct err *why)
{
	char hash[DIGEST_TEXT_MAX];
	uint64_t seq;

	if (head->seq == 0 || head->size == 0) {
		struct chain fresh;

		chain_begin(&fresh);
		if (head->seq == 0 && head->size == 0 && strcmp(head->hash, fresh.hash) == 0)
			return 0;
		return err_set(why, -EBADMSG, "its head does not match it");
	}
	int r = resume_record(fd, head->size, &seq, hash, why);

	if (r < 0)
		return r;
	if (seq != head->seq || strcmp(hash, head->hash) != 0)
		return err_set(why, -EBADMSG, "its head does not match its last record");
	return 0;
}

/* Adopts what a killed writer left before it updated the head: complete records that continue the
 * chain. A partial line at the end is cut off: a signal can interrupt write(2) between two pages,
 * and a record that the head does not include has had no effect. */
static int resume_adopt(int fd, off_t size, struct chain *chain, struct err *why)
{
	size_t len = (size_t)(size - chain->size);

	if (len > BEHIND_MAX)
		return err_set(why, -EBADMSG, "its head is too far behind it");
	auto_free char *tail = mem_new(len);
	int r = resume_read(fd, tail, len, chain->size, why);

	for (const char *at = tail; r == 0 && at < tail + len;) {
		const char *end = memchr(at, '\n', (size_t)(tail + len - at));

		if (!end)
			return ftruncate(fd, chain->size) < 0
				       ? err_errno(why, errno,
						   "its incomplete last line cannot be removed")
				       : 0;
		r = chain_check(chain, at, (size_t)(end - at), why);
		at = end + 1;
	}
	return r;
}

/* If the file is smaller than its head says but ends in the same record, it was pruned by a process
 * that was killed before it wrote the head. */
static int resume_head(int fd, int head_fd, off_t size, struct chain *ret, struct err *why)
{
	int r = chain_head_read(head_fd, ret);

	if (r < 0)
		return err_set(why, -EBADMSG, "its head is missing or damaged");
	if (ret->size <= size)
		return 0;
	ret->size = size;
	if (resume_check_last(fd, ret, NULL) == 0)
		return 0;
	return err_set(why, -EBADMSG,
		       "the file was truncated: its head counts more records than it has");
}

int resume_first(int fd, int head_fd, off_t size, struct chain *ret, struct err *why)
{
	struct chain chain;
	int r = resume_head(fd, head_fd, size, &chain, why);

	if (r == 0)
		r = resume_check_last(fd, &chain, why);
	if (r == 0 && size > chain.size)
		r = resume_adopt(fd, size, &chain, why);
	if (r == 0)
		*ret = chain;
	return r;
}

/* Follows the chain from a record in the last part of the file, to where it breaks. */
static void resume_follow(const char *tail, size_t len, struct chain *chain)
{
	char prev[DIGEST_TEXT_MAX], hash[DIGEST_TEXT_MAX];
	bool is_first = true;
	uint64_t seq;

	for (const char *at = tail, *end; at < tail + len; at = end + 1) {
		end = memchr(at, '\n', (size_t)(tail + len - at));
		if (!end)
			return;
		if (is_first && chain_read(at, (size_t)(end - at), &seq, prev, hash, NULL) == 0) {
			chain->seq = seq - 1;
			memcpy(chain->hash, prev, sizeof(prev));
		}
		is_first = false;
		if (chain_check(chain, at, (size_t)(end - at), NULL) < 0)
			return;
	}
}

int resume_after_loss(int fd, const struct chain *head, off_t size, struct chain *ret,
		      uint64_t *ret_lost, struct err *why)
{
	struct chain chain;

	if (!chain_is_of_other_boot(head))
		return err_set(why, -EBADMSG, "its head does not fit it");
	off_t from = head->size < size ? head->size : size;

	from = from > RECENT_MAX ? from - RECENT_MAX : 0;
	auto_free char *tail = mem_new((size_t)(size - from) + 1);

	int r = resume_read(fd, tail, (size_t)(size - from), from, why);

	if (r < 0)
		return r;
	const char *line = from == 0 ? tail : memchr(tail, '\n', (size_t)(size - from));
	size_t skipped = line ? (size_t)(line - tail) + (from != 0) : (size_t)(size - from);

	chain_begin(&chain);
	chain.size = from + (off_t)skipped;
	resume_follow(tail + skipped, (size_t)(size - from) - skipped, &chain);
	if (chain.seq == 0 && chain.size > 0)
		return err_set(why, -EBADMSG, "its last part is damaged");
	if (ftruncate(fd, chain.size) < 0)
		return err_errno(why, errno, "its incomplete end cannot be removed");
	*ret_lost = head->seq > chain.seq ? head->seq - chain.seq : 1; /* or more */
	*ret = chain;
	return 0;
}

int resume_again(int fd, int head_fd, off_t size, struct chain *chain, struct err *why)
{
	struct chain now;
	int r = resume_head(fd, head_fd, size, &now, why);

	if (r < 0)
		return r;
	if (now.size < chain->size || now.seq < chain->seq)
		return err_set(why, -EBADMSG, "its head is older than the last record");
	if (size > now.size)
		r = resume_adopt(fd, size, &now, why);
	if (r == 0)
		*chain = now;
	return r;
}
