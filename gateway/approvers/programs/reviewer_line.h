/* reviewer_line: the messages to and from a reviewer, one JSON object per line, as in
 * sallyport-reviewer(7). No I/O. Private to reviewer*.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto/digest.h"
#include "gateway/approvers/approver_impl.h"

#define REVIEWER_ID_MAX         48    /* "7f3a-12.5" */
#define REVIEWER_LINE_MAX_BYTES 65536 /* of an answer */
#define REVIEWER_REASON_MAX     200   /* of the reason that is kept */
#define REVIEWER_TTL_MAX_S      (24 * 60 * 60)

enum reviewer_say { REVIEWER_ABSTAIN, REVIEWER_ALLOW, REVIEWER_DENY };

/* A plain value. */
struct reviewer_reply {
	char id[REVIEWER_ID_MAX];
	enum reviewer_say say;
	char reason[REVIEWER_REASON_MAX]; /* visible text, or "" */
	int64_t ttl_s, negative_ttl_s;    /* 0: not remembered */
};

/* 0, or -EBADMSG: then @ret->id is the question's id if it could be read, or "", and the other
 * members are empty. Borrows @line. */
int reviewer_line_parse(const char *line, size_t len, struct reviewer_reply *ret);

/* The description of @question without its id and deadline. Returned owned; NULL: out of memory. */
json_t *reviewer_line_describe(const struct approver_question *question);
/* A digest of @what: questions with the same key are equal for the reviewer. 0 or -EIO. */
int reviewer_line_key(const json_t *what, char ret[DIGEST_TEXT_MAX]);
/* Makes one line, with its newline. Changes @what. Returned owned; NULL: out of memory. */
char *reviewer_line_ask(json_t *what, const char *id, int64_t deadline_ms);
