#include "agent/submission.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/core.h"
#include "agent/channel.h"
#include "agent/fields.h"
#include "agent/listing.h"
#include "agent/patch.h"
#include "agent/propose.h"
#include "agent/reply.h"
#include "agent/talk.h"
#include "agent/tell.h"
#include "agent/tool.h"
#include "agent/wish.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

/* To add a submission: a line here, a schema in docs/schema/agent, a paragraph in
 * sallyport-agent(7). What is served returns 0, or -errno with @why, and then nothing was done. */
static const struct {
	const char *type;
	int (*serve)(struct agent *agent, const struct submission *submission, struct err *why);
	bool needs_session;
} kinds[] = {
	{ "configure_session", talk_configure, false },
	{ "end_session", talk_serve_end, true },
	{ "exec", wish_exec, true },
	{ "request_patch_approval", patch_ask, true },
	{ "request_permissions", wish_permissions, true },
	{ "request_elicitation", wish_elicitation, true },
	{ "propose_network_rule", propose_serve, true },
	{ "approve", reply_serve, false },
	{ "write_input", tool_write_input, true },
	{ "resize", tool_resize, true },
	{ "poll", tool_poll, true },
	{ "interrupt", tool_interrupt, true },
	{ "cancel", tool_cancel, true },
	{ "list", listing_serve, true },
	{ "revoke", listing_revoke, true },
};

struct envelope {
	int64_t version;
	const char *type, *id, *session;
};
/* The id first: an error about the rest can then name it. */
static const struct fields_entry envelope_fields[] = {
	{ "id", FIELDS_TEXT, offsetof(struct envelope, id), AGENT_ID_MAX, true, NULL },
	{ "version", FIELDS_NUMBER, offsetof(struct envelope, version), INT32_MAX, true, NULL },
	{ "type", FIELDS_TEXT, offsetof(struct envelope, type), AGENT_NAME_MAX, true, NULL },
	{ "session", FIELDS_TEXT, offsetof(struct envelope, session), AGENT_NAME_MAX, false, NULL },
	{ 0 },
};

/* The codes are few: what a program can do about it. */
static const char *code_of(int r)
{
	switch (-r) {
	case EINVAL:
	case EBADMSG:
		return "malformed";
	case ENOENT:
	case ESRCH:
	case ESTALE:
		return "unknown";
	case EPERM:
	case EACCES:
		return "refused";
	case EBUSY:
	case EAGAIN:
	case ENOSPC:
	case E2BIG:
		return "busy";
	default:
		return "failed";
	}
}

static void refuse_line(struct agent *agent, const char *id, const char *text)
{
	tell_error(agent, id, "malformed", text);
	if (++agent->malformed > AGENT_MALFORMED_MAX)
		agent_end(agent, "too many lines of the client are no submissions");
}

/* Two that go by one name could not be told apart. */
static bool is_open(const struct agent *agent, const char *id)
{
	const struct session *session;
	const struct task *task;

	TAILQ_FOREACH (session, &agent->sessions, entry) {
		TAILQ_FOREACH (task, &session->tasks, entry) {
			if (task->kind != TASK_PROGRAM && strcmp(task->id, id) == 0)
				return true;
		}
	}
	return false;
}

static void dispatch(struct agent *agent, const struct envelope *envelope, const json_t *object)
{
	struct submission submission = { envelope->type, envelope->id, NULL, object };
	struct err why = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(kinds[i].type, envelope->type) != 0)
			continue;
		if (is_open(agent, envelope->id))
			return tell_error(agent, NULL, "malformed",
					  "a submission of this id is open");
		submission.type = kinds[i].type;
		submission.session = talk_find(agent, envelope->session);
		if (kinds[i].needs_session && !submission.session)
			return tell_error(agent, envelope->id, "unknown",
					  envelope->session ? "there is no such session"
							    : "configure a session first");
		int r = kinds[i].serve(agent, &submission, &why);

		if (r < 0)
			tell_error(agent, envelope->id, code_of(r),
				   why.text[0] ? why.text : strerror(-r));
		return;
	}
	tell_error(agent, envelope->id, "unknown_type", "there is no such type of submission");
}

void submission_serve(struct agent *agent, const char *line, size_t len)
{
	struct envelope envelope = { 0 };
	struct err why = { 0 };
	json_error_t error;

	if (!line)
		return refuse_line(agent, NULL, "the line is too long");
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, &error);

	if (!json_is_object(object)) {
		auto_free char *text =
			object ? mem_strdup("a submission is a JSON object")
			       : mem_printf("not JSON, at byte %d: %s", error.position, error.text);
		auto_free char *shown = text_visible_dup(text);

		refuse_line(agent, NULL, shown);
	} else if (fields_read(object, envelope_fields, false, &envelope, &why) < 0) {
		refuse_line(agent, envelope.id, why.text);
	} else if (envelope.version != AGENT_VERSION) {
		tell_error(agent, envelope.id, "version", "this speaks version 1");
	} else if (envelope.id[0] == '\0') {
		refuse_line(agent, NULL, "\"id\" is empty");
	} else {
		dispatch(agent, &envelope, object);
	}
	json_decref(object);
}
