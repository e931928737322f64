/* answer_link: what lets whoever holds it answer one question, once, until it would be over anyway:
 * signed under a key that only this start of the gate has. Pure. Private to this folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gateway/approvers/approver_impl.h"

#define ANSWER_LINK_MAX 192

/* "ID.SECONDS.SIGNATURE" for question @id, good until @until_s (seconds since 1970). 0 or -EIO. */
int answer_link_make(const char *key, const char *id, int64_t until_s, char ret[ANSWER_LINK_MAX]);
/* Which question @link is for. -EBADMSG: not made under @key; -ETIME: it is over. */
int answer_link_read(const char *key, const char *link, int64_t now_s, char ret_id[APPROVER_ID_MAX],
		     int64_t *ret_until_s);

/* A link that was used, and would still be good. */
struct answer_link_used {
	char id[APPROVER_ID_MAX];
	int64_t until_s;
};
