/* To add a frame: give it a number here, write both its halves in link_codec.c, handle it in
 * link_server.c or link_client.c, and raise LINK_VERSION. The first frame in each direction is
 * LINK_HELLO: both ends are the same program, and the link to any other program is closed.
 *
 *   to the gateway   LINK_SUBMIT     id, facts
 *                    LINK_WITHDRAW   id
 *                    LINK_REPORT     id or 0, report
 *                    LINK_SPENT      id, spent
 *                    LINK_RING       0: read the ring
 *   to the worker    LINK_VERDICT    id, verdict
 *                    LINK_CUT        id, verdict (of an allowed one)
 *                    LINK_OPEN       exec, with the listeners
 *                    LINK_CLOSE      exec
 *                    LINK_POLICY     0, with the policy's image
 *                    LINK_LEASE      id, lease
 *                    LINK_NAMES      bits, with the files
 *                    LINK_NOTE       exec, what its sandbox refused
 *                    LINK_RING       0, with the file for what it decides itself (rings.h);
 *                                    without a file: the number by which it may
 *                    LINK_DRAIN      0: accept nobody; LINK_FINISH follows the last connection
 *   both ways        LINK_FINISH     0: a request to report what is left; the answer follows the
 *                                    last report
 *
 * The worker chooses the ids, which rise. A bit says of each text whether it is sent. */
#pragma once

#include "base/frame.h"
#include "gateway/gateway.h"
#include "gateway/gateway_note.h"
#include "policies/policies_request.h"

#define LINK_VERSION     12
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
	LINK_LEASE,
	LINK_NAMES,
	LINK_NOTE,
	LINK_DRAIN,
	LINK_RING
};

/* LINK_NAMES: the files that are sent with it, in this order. */
enum link_names { LINK_RESOLV_CONF = 1, LINK_HOSTS = 2 };

void link_codec_put_hello(struct frame *frame);
/* Each get returns 0, or -EBADMSG: the frame is malformed, or has additional bytes. */
int link_codec_get_hello(struct frame *frame);

/* LINK_WITHDRAW, LINK_OPEN, LINK_CLOSE, LINK_POLICY, LINK_NAMES, LINK_FINISH,
 * LINK_DRAIN, LINK_RING: one number. */
void link_codec_put_number(struct frame *frame, enum link_type type, uint64_t number);
int link_codec_get_number(struct frame *frame, uint64_t *ret_number);

void link_codec_put_submit(struct frame *frame, uint64_t id, const struct policy_facts *facts);
/* The memory of facts->request and facts->plea of a frame that was read. */
struct link_request {
	struct policy_request request;
	struct policy_field fields[POLICY_FIELDS_MAX];
	char method[POLICY_METHOD_MAX], path[POLICY_PATH_MAX], query[POLICY_QUERY_MAX];
	char texts[POLICY_FIELDS_BYTES_MAX];
	char plea[GATEWAY_PLEA_MAX]; /* facts->plea points here, or is NULL */
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

/* A longer text is cut. */
void link_codec_put_note(struct frame *frame, uint64_t exec, const char *text);
int link_codec_get_note(struct frame *frame, uint64_t *ret_exec, char text[GATEWAY_NOTE_MAX]);

/* @id: of the report's ticket; 0: it has none. */
void link_codec_put_report(struct frame *frame, uint64_t id, const struct gateway_report *report);
int link_codec_get_report(struct frame *frame, uint64_t *ret_id, struct gateway_report *ret);
