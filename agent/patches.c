#include "agent/patches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/command/task.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/rpc/rpc.h"
#include "agent/session/client.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"

#define OPEN_MAX 256 /* approved, and not reported as applied; an older one is forgotten */

struct wanted {
	const char *message;
	bool is_success;
};
static const struct fields_entry wanted_fields[] = {
	{ "success", FIELDS_FLAG, offsetof(struct wanted, is_success), 0, true, NULL },
	{ "message", FIELDS_TEXT, offsetof(struct wanted, message), AGENT_TEXT_MAX, false, NULL },
	{ 0 },
};

static void forget(char **list, size_t at)
{
	free(list[at]);
	for (; list[at]; at++)
		list[at] = list[at + 1];
}

void patches_begin(const struct task *task, bool is_unasked)
{
	struct session *session = task->session;
	json_t *event = task_event(task);

	if (mem_count_list(session->patches) == OPEN_MAX)
		forget(session->patches, 0);
	mem_append_list(&session->patches, mem_strdup(task->id));
	tell_add(event, "auto_approved", json_boolean(is_unasked));
	tell_add(event, "files", tell_list((const char *const *)task->files));
	if (task->changes)
		tell_add(event, "changes", json_loads(task->changes, 0, NULL));
	tell_send(session->agent, TELL_PATCH_APPLY_BEGIN, event);
}

int patches_serve_applied(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct session *session = submission->session;
	struct wanted wanted = { 0 };
	auto_free char *patch = rpc_id_text(json_object_get(submission->body, "patch"));
	size_t at = 0;
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r < 0)
		return r;
	if (!patch)
		return err_set(why, -EINVAL, "\"patch\" must be the id of a request");
	while (session->patches && session->patches[at] && strcmp(session->patches[at], patch) != 0)
		at++;
	if (!session->patches || !session->patches[at])
		return err_set(why, -ENOENT,
			       "no patch with this id was approved in this session, or its end "
			       "was reported before");
	json_t *event = tell_of_session(session);

	tell_add(event, "id", tell_id(patch));
	tell_add(event, "success", json_boolean(wanted.is_success));
	tell_add_text(event, "message", wanted.message);
	forget(session->patches, at);
	tell_send(agent, TELL_PATCH_APPLY_END, event);
	tell_accepted(agent, submission, NULL);
	return 0;
}
