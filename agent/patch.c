#include "agent/patch.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/confine.h"
#include "agent/core.h"
#include "agent/fields.h"
#include "agent/submission.h"
#include "agent/wish.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_target.h"

struct wanted {
	const char **files, *reason;
};
static const struct fields_entry wanted_fields[] = {
	{ "files", FIELDS_WORDS, offsetof(struct wanted, files), ORCHESTRATOR_KEYS_MAX, true,
	  NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct wanted, reason), AGENT_TEXT_MAX, false, NULL },
	{ 0 },
};

/* Absolute, in one spelling: returned owned; NULL with @why. */
static char **read_files(const struct session *session, const char *const *files, struct err *why)
{
	auto_free_list char **paths = mem_new_array(mem_count_list(files) + 1, sizeof(*paths));

	if (!files[0])
		(void)err_set(why, -EINVAL, "\"files\" names none");
	for (size_t i = 0; files[i]; i++) {
		paths[i] = confine_path(session->cwd, files[i], why);
		if (!paths[i])
			return NULL;
	}
	return files[0] ? take(paths) : NULL;
}

static enum orchestrator_place place_of(enum exec_target target)
{
	switch (target) {
	case EXEC_TARGET_INSIDE:
		return ORCHESTRATOR_INSIDE;
	case EXEC_TARGET_OUTSIDE:
		return ORCHESTRATOR_OUTSIDE;
	case EXEC_TARGET_REFUSED:
		break;
	}
	return ORCHESTRATOR_NO_PLACE;
}

/* Of all of them: the first of the worst says @why. */
static enum exec_target judge(const struct session *session, char *const *files, char ***ret_places,
			      struct err *why)
{
	const struct agent_config *config = &session->agent->config;
	struct exec_target_view *view =
		exec_target_view_new(session->sandbox, session->cwd, config->protection, why);
	auto_free_list char **guarded = config->host->guarded(config->arg);
	enum exec_target target = EXEC_TARGET_INSIDE;

	if (!view)
		return EXEC_TARGET_REFUSED;
	exec_target_view_keep(view, config->hidden);
	exec_target_view_keep(view, config->read_only);
	exec_target_view_keep(view, (const char *const *)guarded);
	for (; *files && target != EXEC_TARGET_REFUSED; files++) {
		struct err of_this = { 0 };
		enum exec_target next = exec_target_judge(view, *files, ret_places, &of_this);

		if (next < target) {
			target = next;
			*why = of_this;
		}
	}
	exec_target_view_free(view);
	return target;
}

/* One key a place, so that a later patch of some of them is covered by the answer, and none of a
 * link that leads elsewhere by then. */
static int begin(const struct submission *submission, const struct wanted *wanted, struct err *why)
{
	struct session *session = submission->session;
	auto_free_list char **files = read_files(session, (const char *const *)wanted->files, why);
	auto_free_list char **places = NULL;
	struct err judged = { 0 };

	if (!files)
		return -EINVAL;
	enum exec_target target = judge(session, files, &places, &judged);
	auto_free char *reason = judged.text[0] ? text_visible_dup(judged.text) : NULL;
	size_t count = mem_count_list(places);

	if (count > ORCHESTRATOR_KEYS_MAX)
		return err_set(why, -EINVAL, "%zu files, with what their links lead to; at most %d",
			       count, ORCHESTRATOR_KEYS_MAX);
	char **keys = target == EXEC_TARGET_REFUSED ? files : places;
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_PATCH,
		.place = place_of(target),
		.keys = (const char *const *)keys,
		.key_count = mem_count_list(keys),
		.reason = reason,
		.justification = wanted->reason,
	};

	return wish_begin_question(submission, &request, why);
}

int patch_ask(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r == 0)
		r = begin(submission, &wanted, why);
	fields_forget(wanted_fields, &wanted);
	return r;
}
