/* To add a frame: give it a number here, write both its halves in link_codec.c, handle it in
 * link_server.c or link_client.c, and raise LINK_VERSION. The first frame either way is LINK_HELLO:
 * both ends are the same program, and a stranger is cut off.
 *
 *   to the gateway   LINK_SUBMIT   id, facts                LINK_WITHDRAW  id LINK_REPORT  id or 0,
 *                    report
 *   to the worker    LINK_VERDICT  id, verdict              LINK_CUT       id, verdict (of one it
 *                    allowed)      LINK_OPEN exec + fds     LINK_CLOSE     exec
 *                    LINK_POLICY   0 + its image          LINK_LEASE     id, lease
 *   to the gateway   LINK_SPENT    id, spent
 *   both ways        LINK_FINISH   0: "say what is left", and behind all that was left, "that was
 *                    it"
 *
 * Ids are the worker's own and rise. Texts are sent only where there is one, by a bit that says so.
 */
#pragma once

#include "base/frame.h"
#include "gateway/gateway.h"
#include "policies/policies_request.h"

#define LINK_VERSION     6
#define LINK_TICKETS_MAX 65536 /* of one worker; one more is denied */

enum link_type {
	LINK_HELLO = 1,
	LINK_SUBMIT,
	LINK_WITHDRAW,
	LINK_REPORT,
	LINK_VERDICT,
	LINK_OPEN,
	LINK_CLOSE,
	LINK_FINISH,
	LINK_CUT,
	LINK_POLICY,
	LINK_SPENT,
	LINK_LEASE
};

void link_codec_put_hello(struct frame *frame);
/* Each get returns 0, or -EBADMSG: not such a frame, to its last byte. */
int link_codec_get_hello(struct frame *frame);

/* LINK_WITHDRAW, LINK_OPEN, LINK_CLOSE, LINK_POLICY, LINK_FINISH: one number. */
void link_codec_put_number(struct frame *frame, enum link_type type, uint64_t number);
int link_codec_get_number(struct frame *frame, uint64_t *ret_number);

void link_codec_put_submit(struct frame *frame, uint64_t id, const struct policy_facts *facts);
/* What facts->request and facts->plea of a frame that was read lies in. */
struct link_request {
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	char method[POLICY_METHOD_MAX], path[POLICY_PATH_MAX], query[POLICY_QUERY_MAX];
	char texts[POLICY_FIELDS_BYTES_MAX];
	char plea[GATEWAY_PLEA_MAX]; /* facts->plea is it, or NULL */
};
int link_codec_get_submit(struct frame *frame, uint64_t *ret_id, struct policy_facts *ret_facts,
			  struct link_request *room);

void link_codec_put_verdict(struct frame *frame, uint64_t id, const struct policy_verdict *verdict);
int link_codec_get_verdict(struct frame *frame, uint64_t *ret_id, struct policy_verdict *ret);

/* LINK_CUT: a denial. */
void link_codec_put_cut(struct frame *frame, uint64_t id, const struct policy_verdict *verdict);
int link_codec_get_cut(struct frame *frame, uint64_t *ret_id, struct policy_verdict *ret);

void link_codec_put_spent(struct frame *frame, uint64_t id, const struct gateway_spent *spent);
int link_codec_get_spent(struct frame *frame, uint64_t *ret_id, struct gateway_spent *ret);
void link_codec_put_lease(struct frame *frame, uint64_t id, const struct gateway_lease *lease);
int link_codec_get_lease(struct frame *frame, uint64_t *ret_id, struct gateway_lease *ret);

/* @id stands for the report's ticket; 0: it has none. */
void link_codec_put_report(struct frame *frame, uint64_t id, const struct gateway_report *report);
int link_codec_get_report(struct frame *frame, uint64_t *ret_id, struct gateway_report *ret);
