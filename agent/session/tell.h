/* tell: makes events and replies, and sends them to the client. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

struct agent;
struct session;
struct submission;

#define AGENT_VERSION 2 /* of the protocol */

enum tell_event {
	TELL_TASK_STARTED,
	TELL_EXEC_BEGIN,
	TELL_EXEC_OUTPUT,
	TELL_PATCH_APPLY_BEGIN,
	TELL_PATCH_APPLY_END,
	TELL_APPROVAL_REQUEST,
	TELL_APPROVAL_UPDATED,
	TELL_APPROVAL_RESOLVED,
	TELL_REVIEW_STARTED,
	TELL_REVIEW_COMPLETED,
	TELL_NETWORK_DENIED,
	TELL_BACKGROUND,
	TELL_SESSION_ENDED,
	TELL_WARNING,
	TELL_ERROR,
	TELL_EVENTS
};

/* The members of an event or a reply: those that all about @session have. Returned owned. */
json_t *tell_of_session(const struct session *session);
/* Takes @params; if it is NULL or cannot be encoded, the client is disconnected. */
void tell_send(struct agent *agent, enum tell_event event, json_t *params);
/* The one reply to the submission @id, in the form of rpc_id_text(). Takes @result. */
void tell_reply(struct agent *agent, const char *id, json_t *result);

/* @text as JSON: bytes that are not UTF-8 become \xNN. NULL is "". Owned. */
json_t *tell_text(const char *text);
json_t *tell_list(const char *const *list); /* NULL: an empty one */
/* Adds "text", or "base64" if the bytes are not UTF-8. */
void tell_bytes(json_t *object, const char *bytes, size_t len);
json_t *tell_destination(const struct policy_destination *dst);
/* Adds @value (taken) unless it is NULL. */
void tell_add(json_t *object, const char *name, json_t *value);
/* Adds @text unless it is NULL or "". */
void tell_add_text(json_t *object, const char *name, const char *text);

/* An id in the form of rpc_id_text(), as the client has sent it. Owned. */
json_t *tell_id(const char *id);
/* The reply to a submission that is refused: with the reason for -errno; if @why is "", with its
 * text. */
void tell_failure(struct agent *agent, const char *id, int error, const char *why);
void tell_warning(struct agent *agent, const char *text);
/* The agent ends by itself: the last event. */
void tell_closing(struct agent *agent, const char *why);
/* The reply to a submission that is done. @more is taken, may be NULL. */
void tell_accepted(struct agent *agent, const struct submission *submission, json_t *more);
