#include "agent/command/question_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/session/client.h"
#include "agent/command/confine.h"
#include "agent/changes.h"
#include "agent/patches.h"
#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/command/look.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/command/extra.h"
#include "agent/command/extra_look.h"
#include "agent/command/outcome.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_target.h"

static void finish_question(struct task *task, const struct orchestrator_result *result)
{
	json_t *told = json_object();

	if (result->kind == ORCHESTRATOR_DONE && task->files)
		patches_begin(task, !result->is_asked);
	else if (result->kind == ORCHESTRATOR_DONE && !result->is_for_session)
		extra_add(&task->session->permits, &task->permits);
	tell_add(told, "outcome",
		 json_string(result->kind == ORCHESTRATOR_DONE ? "approved"
							       : outcome_status(result)));
	tell_add(told, "duration_ms",
		 json_integer(
			 (json_int_t)(loop_now_ms(task->session->agent->loop) - task->started_ms)));
	outcome_add_words(told, result);
	task_complete(task, told);
}

static const struct task_ops question_ops = {
	.kind = TASK_QUESTION,
	.done = finish_question,
};

static int new_question(const struct submission *submission, struct task **ret, struct err *why)
{
	struct session *session = submission->session;

	if (session->task_count >= (size_t)session->tasks_max)
		return err_set(why, -EBUSY,
			       "%zu tasks of this session are open; wait for one to end",
			       session->task_count);
	*ret = task_new(session, &question_ops, submission->id);
	return 0;
}

struct wanted {
	const char **files, *reason, *root;
	const json_t *changes;
};
static const struct fields_entry wanted_fields[] = {
	{ "files", FIELDS_WORDS, offsetof(struct wanted, files), ORCHESTRATOR_KEYS_MAX, false,
	  NULL },
	{ "changes", FIELDS_LIST, offsetof(struct wanted, changes), ORCHESTRATOR_KEYS_MAX, false,
	  NULL },
	{ "grant_root", FIELDS_TEXT, offsetof(struct wanted, root), AGENT_PATH_MAX, false, NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct wanted, reason), AGENT_TEXT_MAX, false, NULL },
	{ 0 },
};

/* Absolute, in one spelling: returned owned; NULL with @why. */
static char **read_files(const struct session *session, const char *const *files, struct err *why)
{
	size_t count = mem_count_list(files);
	auto_free_list char **paths = mem_new_array(count + 1, sizeof(*paths));

	if (count == 0)
		(void)err_set(why, -EINVAL, "\"files\" is empty; name at least one file");
	for (size_t i = 0; i < count; i++) {
		paths[i] = confine_path(session->cwd, files[i], why);
		if (!paths[i])
			return NULL;
	}
	return count > 0 ? take(paths) : NULL;
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

/* The worst judgement of all files; @why describes the first file with it. */
static enum exec_target judge(const struct task *task, char ***ret_places, struct err *why)
{
	const struct session *session = task->session;
	const struct agent_config *config = &session->agent->config;
	char *const *files = task->files;
	auto_free_list char **theirs = config->host->reached(config->arg);
	struct exec_target_view *view =
		exec_target_view_new(task->sandbox, session->cwd, config->protection, theirs, why);
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

enum kind { TARGET = 't', PLACE = 'p' };

/* In the process: searches all that the session may write for protected files. */
static void look(FILE *out, const struct task *task)
{
	auto_free_list char **places = NULL;
	struct err why = { 0 };
	enum exec_target target = judge(task, &places, &why);
	auto_free char *word = mem_printf("%d", (int)target);
	char *const *keys = target == EXEC_TARGET_REFUSED ? task->files : places;

	look_put(out, TARGET, word, why.text);
	for (; keys && *keys; keys++)
		look_put(out, PLACE, *keys, "");
	extra_look(out, task);
}

/* One key per path, so that the answer also covers a later patch of some of the paths. The key is
 * the resolved path: a link that points elsewhere later is not covered. */
static int begin(struct task *task, struct err *why)
{
	const char *words = "", *value, *key;
	size_t at = 0;
	const char *word = look_next(task, TARGET, &at, &words);
	auto_free char *reason = words[0] ? text_visible_dup(words) : NULL;
	auto_free_list char **keys = NULL;

	for (at = 0; (key = look_next(task, PLACE, &at, &value)) != NULL;)
		mem_append_list(&keys, mem_strdup(key));
	size_t count = mem_count_list(keys);

	if (!word || count == 0)
		return err_set(why, -EIO, "the helper process did not say where these files are");
	if (count > ORCHESTRATOR_KEYS_MAX)
		return err_set(why, -EINVAL,
			       "\"files\" stands for %zu files, with the targets of links; at most "
			       "%d are allowed",
			       count, ORCHESTRATOR_KEYS_MAX);
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_PATCH,
		.cwd = task->session->cwd,
		.place = place_of((enum exec_target)strtol(word, NULL, 10)),
		.keys = (const char *const *)keys,
		.key_count = count,
		.changes = task->changes,
		.confinement =
			task->permits.count > 0 ? ORCHESTRATOR_WITH_ACCESS : ORCHESTRATOR_USUAL,
		.accesses = task->permits.list,
		.access_count = task->permits.count,
		.reason = reason,
		.justification = task->justification,
	};

	int r = extra_look_read(task, why);

	return r == 0 ? task_begin(task, &request, why) : r;
}

/* The folder that the session is to be able to write from then on. */
static int read_root(struct task *task, const char *root, struct err *why)
{
	json_t *object = root ? json_pack("{s:[s]}", "write", root) : NULL;
	int r = object ? extra_read(&task->permits, object, task->session->cwd, why) : 0;

	json_decref(object);
	return r;
}

/* Two changes of one file: which is applied last is not known. */
static int check_twice(char *const *files, struct err *why)
{
	for (size_t i = 0; files[i]; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(files[i], files[k]) == 0)
				return err_set(why, -EINVAL, "%.300s is changed twice", files[i]);
		}
	}
	return 0;
}

static int fill(struct task *task, const struct wanted *wanted, struct err *why)
{
	auto_free_list char **named = NULL;
	int r = 0;

	if ((wanted->files != NULL) == (wanted->changes != NULL))
		return err_set(why, -EINVAL, "give either \"files\" or \"changes\"");
	if (wanted->changes)
		r = changes_read(wanted->changes, &named, &task->changes, why);
	if (r < 0)
		return r;
	task->files = read_files(
		task->session,
		named ? (const char *const *)named : (const char *const *)wanted->files, why);
	if (!task->files)
		return -EINVAL;
	r = wanted->changes ? check_twice(task->files, why) : 0;
	task->justification = mem_strdup_or_null(wanted->reason);
	return r == 0 ? read_root(task, wanted->root, why) : r;
}

static int put(const struct submission *submission, const struct wanted *wanted, struct err *why)
{
	struct task *task;
	int r = new_question(submission, &task, why);

	if (r < 0)
		return r;
	r = fill(task, wanted, why);
	if (r == 0)
		look_task(task, look, begin);
	else
		task_free(task);
	return r;
}

int question_request_patch(struct agent *agent, const struct submission *submission,
			   struct err *why)
{
	struct wanted wanted = { 0 };
	int r = fields_read(submission->body, wanted_fields, false, &wanted, why);

	if (r == 0)
		r = put(submission, &wanted, why);
	fields_forget(wanted_fields, &wanted);
	return r;
}

struct asked_for {
	const char **items, *reason;
	const json_t *extra;
};
static const struct fields_entry permission_fields[] = {
	{ "additional_permissions", FIELDS_OBJECT, offsetof(struct asked_for, extra), 0, true,
	  NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct asked_for, reason), AGENT_TEXT_MAX, false, NULL },
	{ 0 },
};
static const struct fields_entry elicitation_fields[] = {
	{ "items", FIELDS_WORDS, offsetof(struct asked_for, items), ORCHESTRATOR_KEYS_MAX, false,
	  NULL },
	{ "reason", FIELDS_TEXT, offsetof(struct asked_for, reason), AGENT_TEXT_MAX, true, NULL },
	{ 0 },
};

static int begin_permissions(struct task *task, struct err *why)
{
	int r = extra_look_read(task, why);
	struct orchestrator_request request = {
		.kind = ORCHESTRATOR_PERMISSIONS,
		.cwd = task->session->cwd,
		.accesses = task->permits.list,
		.access_count = task->permits.count,
		.justification = task->justification,
	};

	return r == 0 ? task_begin(task, &request, why) : r;
}

static int put_permissions(const struct submission *submission, const struct asked_for *wanted,
			   struct err *why)
{
	const struct session *session = submission->session;
	struct task *task;
	int r = new_question(submission, &task, why);

	if (r < 0)
		return r;
	r = extra_read(&task->permits, wanted->extra, session->cwd, why);
	if (r == 0 && task->permits.count == 0)
		r = err_set(why, -EINVAL, "\"additional_permissions\" is empty; name at least one");
	if (r == 0)
		r = extra_check(&task->permits, session->agent->gateway, NULL, why);
	if (r < 0) {
		task_free(task);
		return r;
	}
	task->justification = mem_strdup_or_null(wanted->reason);
	look_task(task, extra_look, begin_permissions);
	return 0;
}

int question_request_permissions(struct agent *agent, const struct submission *submission,
				 struct err *why)
{
	struct asked_for wanted = { 0 };
	int r = fields_read(submission->body, permission_fields, false, &wanted, why);

	if (r == 0)
		r = put_permissions(submission, &wanted, why);
	fields_forget(permission_fields, &wanted);
	return r;
}

static int begin_elicitation(const struct submission *submission,
			     struct orchestrator_request *request, struct err *why)
{
	struct task *task;
	int r = new_question(submission, &task, why);

	if (r < 0)
		return r;
	request->cwd = submission->session->cwd;
	r = task_begin(task, request, why);
	if (r < 0)
		task_free(task);
	return r;
}

int question_request_elicitation(struct agent *agent, const struct submission *submission,
				 struct err *why)
{
	struct asked_for wanted = { 0 };
	int r = fields_read(submission->body, elicitation_fields, false, &wanted, why);

	if (r == 0) {
		struct orchestrator_request request = {
			.kind = ORCHESTRATOR_ELICITATION,
			.keys = wanted.items,
			.justification = wanted.reason,
		};

		while (wanted.items && wanted.items[request.key_count])
			request.key_count++;
		r = begin_elicitation(submission, &request, why);
	}
	fields_forget(elicitation_fields, &wanted);
	return r;
}
