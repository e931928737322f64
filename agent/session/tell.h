/* tell: makes events and sends them to the client. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "policies/policies.h"

struct agent;
struct session;
struct submission;

#define AGENT_VERSION 1 /* of the protocol */

enum tell_event {
	TELL_SESSION_CONFIGURED,
	TELL_TASK_STARTED,
	TELL_EXEC_BEGIN,
	TELL_EXEC_OUTPUT,
	TELL_EXEC_END,
	TELL_PATCH_APPLY_BEGIN,
	TELL_PATCH_APPLY_END,
	TELL_APPROVAL_REQUEST,
	TELL_APPROVAL_UPDATED,
	TELL_APPROVAL_RESOLVED,
	TELL_NETWORK_DENIED,
	TELL_BACKGROUND,
	TELL_OUTPUT,
	TELL_LISTED,
	TELL_ACCEPTED,
	TELL_SESSION_ENDED,
	TELL_WARNING,
	TELL_ERROR,
	TELL_TASK_COMPLETE,
	TELL_EVENTS
};

/* A new event; @id, of the submission that it answers, may be NULL. Returned owned. */
json_t *tell_new(enum tell_event event, const char *id);
json_t *tell_of_session(enum tell_event event, const char *id, const struct session *session);
/* Takes @event; if it is NULL or cannot be encoded, the client is disconnected. */
void tell_send(struct agent *agent, json_t *event);

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

/* Events of one line. @id may be NULL. */
void tell_error(struct agent *agent, const char *id, const char *code, const char *text);
/* With the code for -errno; if @why is "", with its text. */
void tell_failure(struct agent *agent, const char *id, int error, const char *why);
void tell_warning(struct agent *agent, const char *id, const char *text);
void tell_accepted(struct agent *agent, const struct submission *submission, json_t *more);
