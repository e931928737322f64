/* answer_link: a link that can answer one question, once, until its deadline: signed with a key of
 * this start of the gate. No I/O. Private to this folder. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gateway/approvers/approver_impl.h"

#define ANSWER_LINK_MAX 192

/* Makes "ID.SECONDS.SIGNATURE" for question @id, valid until @until_s (seconds since 1970). 0 or
 * -EIO. */
int answer_link_make(const char *key, const char *id, int64_t until_s, char ret[ANSWER_LINK_MAX]);
/* Finds the question of @link. -EBADMSG: not made with @key; -ETIME: it has expired. */
int answer_link_read(const char *key, const char *link, int64_t now_s, char ret_id[APPROVER_ID_MAX],
		     int64_t *ret_until_s);

/* A link that was used, and has not expired. */
struct answer_link_used {
	char id[APPROVER_ID_MAX];
	int64_t until_s;
};
