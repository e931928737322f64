/* reviewer_line: what is said to a reviewer and by it, one JSON object a line, as
 * sallyport-reviewer(7) has it. Pure. Private to reviewer*.c. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "gateway/approvers/approver_impl.h"

#define REVIEWER_ID_MAX         48    /* "7f3a-12.5" */
#define REVIEWER_LINE_MAX_BYTES 65536 /* of an answer */
#define REVIEWER_REASON_MAX     200   /* of it that is kept */
#define REVIEWER_TTL_MAX_S      (24 * 60 * 60)

enum reviewer_say { REVIEWER_ABSTAIN, REVIEWER_ALLOW, REVIEWER_DENY };

/* A plain value. */
struct reviewer_reply {
	char id[REVIEWER_ID_MAX];
	enum reviewer_say say;
	char reason[REVIEWER_REASON_MAX]; /* visible text, or "" */
	int64_t ttl_s, negative_ttl_s;    /* 0: not to be remembered */
};

/* 0, or -EBADMSG: then @ret->id is the question's, if that at least could be read, or "", and the
 * rest is empty. Borrows @line. */
int reviewer_line_parse(const char *line, size_t len, struct reviewer_reply *ret);

/* All that is told of @question but its id and deadline. Returned owned; NULL: out of memory. */
json_t *reviewer_line_describe(const struct approver_question *question);
/* Two questions with the same key look the same to the reviewer. 0 or -EIO. */
int reviewer_line_key(const json_t *what, char ret[DIGEST_TEXT_MAX]);
/* One line, with its end. Changes @what. Returned owned; NULL: out of memory. */
char *reviewer_line_ask(json_t *what, const char *id, int64_t deadline_ms);
