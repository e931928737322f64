/* upstream_talk: the conversation with an upstream proxy until it has connected a tunnel: CONNECT
 * (RFC 9110 §9.3.6) or SOCKS5 (RFC 1928, RFC 1929). Pure: the caller sends and receives. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policies/policies_upstream.h"

#define UPSTREAM_TALK_OUT_MAX 2048 /* the longest message: two hosts and a login */
#define UPSTREAM_TALK_IN_MAX  8192 /* an answer */

struct upstream_talk {
	const struct policy_upstream *upstream;
	const struct policy_destination *dst;
	unsigned int step; /* of SOCKS5 */
	size_t out_len, in_len, scanned;
	enum policy_reason reason; /* after a failure, with text for people */
	char cause[128];
	char out[UPSTREAM_TALK_OUT_MAX]; /* to be sent */
	char in[UPSTREAM_TALK_IN_MAX];
};

/* Keeps @upstream and @dst; fills the first message. */
void upstream_talk_begin(struct upstream_talk *talk, const struct policy_upstream *upstream,
			 const struct policy_destination *dst);
/* Takes what has arrived: *@ret_used bytes of it, never one behind the end of the answer. 0: the
 * tunnel is connected; 1: there is a new message to send; -EAGAIN: more has to arrive; -EBADMSG:
 * see @reason. */
int upstream_talk_read(struct upstream_talk *talk, const char *bytes, size_t len, size_t *ret_used);
/* A failure with @reason; @cause follows the name of the proxy. Returns -EBADMSG. */
int upstream_talk_fail(struct upstream_talk *talk, enum policy_reason reason, const char *cause);
