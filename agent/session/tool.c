#include "agent/session/tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/rpc/fields.h"
#include "agent/rpc/limits.h"
#include "agent/rpc/piece.h"
#include "agent/session/received.h"
#include "agent/session/session.h"
#include "agent/command/task.h"
#include "agent/session/tell.h"
#include "agent/command/task_exec.h"
#include "base/crypto/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "exec/exec.h"

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
	return *ret_task ? 0 : err_set(why, -ENOENT, "no command with this number is running");
}

/* The exec of it that is running now. */
static struct exec *running_of(const struct task *task)
{
	const struct task_exec *exec = task->exec_count ? task->execs[task->exec_count - 1] : NULL;

	return exec && !exec->has_result ? exec->running : NULL;
}

static bool is_looked_for(const struct task *task)
{
	const struct task_exec *exec = task->exec_count ? task->execs[task->exec_count - 1] : NULL;

	return exec && exec->look.aside && !exec->has_result;
}

static int find_running(const struct submission *submission, const struct fields_entry *table,
			struct wanted *wanted, struct exec **ret_running, struct err *why)
{
	struct task *task;
	int r = read_and_find(submission, table, wanted, &task, why);

	if (r < 0)
		return r;
	*ret_running = running_of(task);
	return *ret_running ? 0 : err_set(why, -EAGAIN, "the command is not running");
}

/* The event says how many bytes were taken: the client must send the rest again. */
static int write_bytes(struct agent *agent, const struct submission *submission,
		       struct exec *running, const struct wanted *wanted, const void *bytes,
		       size_t len, struct err *why)
{
	ssize_t taken = len > 0 ? exec_write(running, bytes, len) : 0;

	if (taken == -EAGAIN)
		taken = 0;
	if (taken < 0)
		return err_set(why, (int)taken,
			       "the command takes no input, or its input is closed");
	if (wanted->is_end && (size_t)taken == len)
		exec_close_input(running);
	tell_accepted(agent, submission, json_pack("{s:I}", "taken", (json_int_t)taken));
	return 0;
}

int tool_write_input(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct exec *running;
	size_t len = 0;
	int r = find_running(submission, input_fields, &wanted, &running, why);

	if (r < 0)
		return r;
	if (wanted.text && wanted.base64)
		return err_set(why, -EINVAL, "give either \"text\" or \"base64\"");
	if (!wanted.base64)
		return write_bytes(agent, submission, running, &wanted, wanted.text,
				   wanted.text ? strlen(wanted.text) : 0, why);
	auto_free uint8_t *bytes = mem_new(INPUT_MAX);

	if (base64_decode(wanted.base64, strlen(wanted.base64), bytes, INPUT_MAX, &len) < 0)
		return err_set(why, -EINVAL, "\"base64\" is not valid base64");
	return write_bytes(agent, submission, running, &wanted, bytes, len, why);
}

int tool_resize(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct exec *running;
	int r = find_running(submission, size_fields, &wanted, &running, why);

	if (r == 0)
		r = exec_resize(running, (struct exec_size){ (uint16_t)wanted.rows,
							     (uint16_t)wanted.columns });
	if (r == -ENOTTY)
		return err_set(why, -EINVAL, "the command has no terminal");
	if (r == 0)
		tell_accepted(agent, submission, NULL);
	return r;
}

static void on_polled(struct exec *running, const struct exec_poll *poll, void *arg)
{
	struct task *task = arg;
	auto_free char *id = take(task->poll_id);
	struct task_exec *exec = task->execs[task->exec_count - 1];
	size_t len;
	auto_free char *bytes =
		piece_join(&exec->polled, poll->bytes, poll->len, poll->result != NULL, &len);
	json_t *told = tell_of_session(task->session);

	tell_add(told, "exec", json_integer((json_int_t)task->number));
	tell_bytes(told, bytes, len);
	tell_add(told, "dropped", json_integer((json_int_t)poll->dropped));
	tell_add(told, "running", json_boolean(poll->result == NULL));
	tell_reply(task->session->agent, id, told);
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
			       "the command was not started as \"polled\"; its output is sent "
			       "without a poll");
	if (task->exec_count == 0)
		return err_set(why, -EAGAIN, "the command has not started yet");
	r = exec_poll(task->execs[task->exec_count - 1]->running, wanted.wait_ms,
		      (size_t)wanted.max_bytes, on_polled, task);
	if (r == -EBUSY)
		return err_set(why, r, "another poll of this command is waiting");
	if (r == 0)
		task->poll_id = mem_strdup(submission->id);
	return r;
}

/* Is the task before an exec, or after one whose end was told: is it asked about, or about to run
 * again? */
static bool is_between(const struct task *task)
{
	return task->is_started &&
	       (task->exec_count == 0 || task->execs[task->exec_count - 1]->has_settled);
}

/* A command that is being asked about has no process to signal: its question is withdrawn. */
int tool_interrupt(struct agent *agent, const struct submission *submission, struct err *why)
{
	struct wanted wanted = { 0 };
	struct task *task;
	int r = read_and_find(submission, exec_fields, &wanted, &task, why);

	if (r < 0)
		return r;
	struct exec *running = running_of(task);

	if (!running && !is_between(task))
		return err_set(why, -EAGAIN, "the command has ended");
	if (running && is_looked_for(task))
		r = exec_stop(running, EXEC_INTERRUPTED, "the client interrupted it");
	else if (running)
		r = exec_interrupt(running);
	if (r == -EAGAIN)
		return err_set(why, r, "the command has not started yet");
	if (r == 0)
		tell_accepted(agent, submission, NULL);
	if (!running)
		task_cancel(task, "the client interrupted it");
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
	task_cancel(task, "the client cancelled it");
	return 0;
}
