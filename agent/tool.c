#include "agent/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/core.h"
#include "agent/fields.h"
#include "agent/submission.h"
#include "agent/task.h"
#include "agent/tell.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_job.h"

#define INPUT_MAX     (256 << 10)
#define POLL_MAX      (1 << 20)
#define POLL_USUAL_MS 0
#define TERMINAL_SIDE 4096

struct wanted {
	int64_t exec, rows, columns, wait_ms, max_bytes;
	const char *text, *base64;
	bool is_end;
};
#define EXEC_FIELD                                                                                 \
	{                                                                                          \
		"exec", FIELDS_NUMBER, offsetof(struct wanted, exec), INT64_MAX, true, NULL        \
	}
static const struct fields_entry exec_fields[] = { EXEC_FIELD, { 0 } };
static const struct fields_entry input_fields[] = {
	EXEC_FIELD,
	{ "text", FIELDS_TEXT, offsetof(struct wanted, text), INPUT_MAX, false, NULL },
	{ "base64", FIELDS_TEXT, offsetof(struct wanted, base64), BASE64_LEN(INPUT_MAX), false,
	  NULL },
	{ "eof", FIELDS_FLAG, offsetof(struct wanted, is_end), 0, false, NULL },
	{ 0 },
};
static const struct fields_entry size_fields[] = {
	EXEC_FIELD,
	{ "rows", FIELDS_NUMBER, offsetof(struct wanted, rows), TERMINAL_SIDE, true, NULL },
	{ "cols", FIELDS_NUMBER, offsetof(struct wanted, columns), TERMINAL_SIDE, true, NULL },
	{ 0 },
};
static const struct fields_entry poll_fields[] = {
	EXEC_FIELD,
	{ "wait_ms", FIELDS_NUMBER, offsetof(struct wanted, wait_ms), AGENT_DURATION_MAX, false,
	  NULL },
	{ "max_bytes", FIELDS_NUMBER, offsetof(struct wanted, max_bytes), POLL_MAX, false, NULL },
	{ 0 },
};

/* Reads @table and finds the command: 0, or -errno with @why. */
static int read_and_find(const struct submission *submission, const struct fields_entry *table,
			 struct wanted *wanted, struct task **ret_task, struct err *why)
{
	int r = fields_read(submission->body, table, false, wanted, why);

	if (r < 0)
		return r;
	*ret_task = task_find(submission->session, (uint64_t)wanted->exec);
	return *ret_task ? 0 : err_set(why, -ENOENT, "no such command runs");
}

/* What runs of it now. */
static struct exec_job *job_of(const struct task *task)
{
	const struct trial *trial = task->trial_count ? task->trials[task->trial_count - 1] : NULL;

	return trial && !trial->has_result ? trial->job : NULL;
}

static int find_job(const struct submission *submission, const struct fields_entry *table,
		    struct wanted *wanted, struct exec_job **ret_job, struct err *why)
{
	struct task *task;
	int r = read_and_find(submission, table, wanted, &task, why);

	if (r < 0)
		return r;
	*ret_job = job_of(task);
	return *ret_job ? 0 : err_set(why, -EAGAIN, "it does not run yet, or any more");
}

/* How much was taken is said: the rest is the client's to send again. */
static int write_bytes(struct agent *agent, const struct submission *submission,
		       struct exec_job *job, const struct wanted *wanted, const void *bytes,
		       size_t len, struct err *why)
{
	ssize_t taken = len > 0 ? exec_job_write(job, bytes, len) : 0;

	if (taken == -EAGAIN)
		taken = 0;
	if (taken < 0)
		return err_set(why, (int)taken, "it takes no input (any more)");
	if (wanted->is_end && (size_t)taken == len)
		exec_job_close_input(job);
	tell_accepted(agent, submission, json_pack("{s:I}", "taken", (json_int_t)taken));
	return 0;
}

int tool_write_input(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct exec_job *job;
	size_t len = 0;
	int r = find_job(submission, input_fields, &wanted, &job, why);

	if (r < 0)
		return r;
	if (wanted.text && wanted.base64)
		return err_set(why, -EINVAL, "either \"text\" or \"base64\"");
	if (!wanted.base64)
		return write_bytes(agent, submission, job, &wanted, wanted.text,
				   wanted.text ? strlen(wanted.text) : 0, why);
	auto_free uint8_t *bytes = mem_new(INPUT_MAX);

	if (base64_decode(wanted.base64, strlen(wanted.base64), bytes, INPUT_MAX, &len) < 0)
		return err_set(why, -EINVAL, "\"base64\" is none");
	return write_bytes(agent, submission, job, &wanted, bytes, len, why);
}

int tool_resize(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct exec_job *job;
	int r = find_job(submission, size_fields, &wanted, &job, why);

	if (r == 0)
		r = exec_job_resize(
			job, (struct exec_size){ (uint16_t)wanted.rows, (uint16_t)wanted.columns });
	if (r == -ENOTTY)
		return err_set(why, -EINVAL, "it has no terminal");
	if (r == 0)
		tell_accepted(agent, submission, NULL);
	return r;
}

static void on_polled(struct exec_job *job, const struct exec_poll *poll, void *arg)
{
	struct task *task = arg;
	auto_free char *id = take(task->poll_id);
	struct trial *trial = task->trials[task->trial_count - 1];
	size_t len;
	auto_free char *bytes =
		piece_join(&trial->polled, poll->bytes, poll->len, poll->result != NULL, &len);
	json_t *event = tell_of_task(TELL_OUTPUT, task);

	(void)json_object_set_new(event, "id", tell_text(id)); /* of the poll; out of memory only */
	tell_bytes(event, bytes, len);
	tell_add(event, "dropped", json_integer((json_int_t)poll->dropped));
	tell_add(event, "running", json_boolean(poll->result == NULL));
	tell_send(task->session->agent, event);
}

int tool_poll(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct task *task;
	int r = read_and_find(submission, poll_fields, &wanted, &task, why);

	if (r < 0)
		return r;
	if (task->is_streamed)
		return err_set(why, -EINVAL,
			       "its output comes by itself: it was not started as "
			       "\"polled\"");
	if (task->trial_count == 0)
		return err_set(why, -EAGAIN, "it does not run yet");
	r = exec_job_poll(task->trials[task->trial_count - 1]->job, wanted.wait_ms,
			  (size_t)wanted.max_bytes, on_polled, task);
	if (r == -EBUSY)
		return err_set(why, r, "another poll of it waits");
	if (r == 0)
		task->poll_id = mem_strdup(submission->id);
	return r;
}

/* Is it before an attempt, or behind one whose end was told: asked about, or about to run again? */
static bool is_between(const struct task *task)
{
	return task->is_started &&
	       (task->trial_count == 0 || task->trials[task->trial_count - 1]->has_settled);
}

/* What is asked about has nothing that a signal could reach: its question is withdrawn. */
int tool_interrupt(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct task *task;
	int r = read_and_find(submission, exec_fields, &wanted, &task, why);

	if (r < 0)
		return r;
	struct exec_job *job = job_of(task);

	if (!job && !is_between(task))
		return err_set(why, -EAGAIN, "it does not run any more");
	if (job)
		r = exec_job_interrupt(job);
	if (r == -EAGAIN)
		return err_set(why, r, "it has not started yet");
	if (r == 0)
		tell_accepted(agent, submission, NULL);
	if (!job)
		task_cancel(task, "interrupted by the client");
	return r;
}

int tool_cancel(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct task *task;
	int r = read_and_find(submission, exec_fields, &wanted, &task, why);

	if (r < 0)
		return r;
	tell_accepted(agent, submission, NULL);
	task_cancel(task, "cancelled by the client");
	return 0;
}
