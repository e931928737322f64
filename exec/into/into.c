#include "exec/into/into.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/refusal.h"
#include "exec/sandbox/env.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/plan_make.h"
#include "exec/sandbox/plan_seal.h"

#define NO_SANDBOX 125

_Static_assert(EXEC_INTO_MAX == WIRE_INTO_MAX, "one limit for both ends");

static struct into *find(struct intos *intos, uint64_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(intos->list); i++)
		if (intos->list[i].number == number)
			return &intos->list[i];
	return NULL;
}

/* What it has of its own, and for the rest @plan, which it borrows. */
static int seal(const struct plan *plan, const struct exec_into_config *config, struct err *why)
{
	struct plan added = *plan;
	auto_free_list char **env = mem_copy_list((const char *const *)plan->env);
	auto_free char *program = mem_strdup_or_null(config->program.path);

	added.flags &= ~(uint32_t)(WIRE_TERMINALS | WIRE_HAS_FILES | WIRE_HAS_PROGRAM | WIRE_PROBE);
	added.argv = (char **)(uintptr_t)config->argv;
	if (config->term)
		env = env_set(env, "TERM", config->term);
	added.env = env;
	added.program = program;
	if (program)
		added.flags |= WIRE_HAS_PROGRAM;
	added.device = config->program.device;
	added.inode = config->program.inode;
	int r = plan_make_check_stdio(&added, config->stdio, why);

	added.flags |= config->terminals & WIRE_TERMINALS;
	return r < 0 ? r : plan_seal(&added, why);
}

static int check(const struct plan *plan, const struct exec_into_config *config, struct err *why)
{
	if (plan->flags & WIRE_UNCONFINED)
		return err_set(why, -ENOTSUP, "the run has no sandbox");
	if (plan->flags & WIRE_TELLS & ~(uint32_t)WIRE_TELL_BRIEF)
		return err_set(why, -ENOTSUP,
			       "the run has every program judged (--intercept-exec), and those of "
			       "an added command could not be");
	if (!config->argv || !config->argv[0])
		return err_set(why, -EINVAL, "the command is empty");
	return 0;
}

int into_start(struct intos *intos, int control, const struct plan *plan,
	       const struct exec_into_config *config, uint64_t *ret, struct err *why)
{
	struct into *into = find(intos, 0);
	int r = check(plan, config, why);

	if (r < 0)
		return r;
	if (!into)
		return err_set(why, -EAGAIN,
			       "%d commands run in it besides its own; wait for one of them to end",
			       EXEC_INTO_MAX);
	auto_close int sealed = seal(plan, config, why);

	if (sealed < 0)
		return sealed;
	const struct wire_message message = { .type = WIRE_INTO,
					      .into = intos->last,
					      .value = (int32_t)((uint32_t)config->size.rows << 16 |
								 config->size.columns) };
	const int fds[] = { sealed, config->stdio[0], config->stdio[1], config->stdio[2] };

	r = fd_send(control, &message, sizeof(message), fds, ARRAY_SIZE(fds));
	if (r < 0)
		return err_errno(why, -r, "the sandbox's first process could not be told");
	*into = (struct into){ .number = intos->last,
			       .program = mem_strdup(config->argv[0]),
			       .on_pty = config->terminals ? config->on_pty : NULL,
			       .done = config->done,
			       .arg = config->arg };
	*ret = into->number;
	return 0;
}

void into_signal(const struct intos *intos, int control, uint64_t number, int signal)
{
	const struct wire_message message = { .type = WIRE_SIGNAL,
					      .value = signal,
					      .into = number };

	/* As exec_process_signal(): what cannot be sent is lost. */
	if (number != 0 && number <= intos->last)
		(void)fd_send(control, &message, sizeof(message), NULL, 0);
}

void into_drop(struct intos *intos, int control, uint64_t number)
{
	struct into *into = number ? find(intos, number) : NULL;

	if (!into)
		return;
	into->done = NULL;
	into->on_pty = NULL;
	into_signal(intos, control, number, SIGKILL);
}

static void decide(struct into *into, enum exec_process_end end, int status, const char *why)
{
	if (into->has_result)
		return;
	into->has_result = true;
	into->result.end = end;
	into->result.status = status;
	(void)snprintf(into->result.why, sizeof(into->result.why), "%.*s",
		       (int)sizeof(into->result.why) - 1, why);
}

static void over(struct into *into)
{
	struct into ended = *into;

	*into = (struct into){ 0 };
	if (ended.done)
		ended.done(&ended.result, ended.arg);
	free(ended.program);
}

static void on_failed(struct into *into, const struct wire_message *message)
{
	struct err why = { 0 };

	if (message->step == WIRE_STEP_FORK && message->value == EAGAIN)
		(void)err_set(&why, 0,
			      "the sandbox has no room for another command: the processes of "
			      "earlier ones still run there");
	else if (message->step == WIRE_STEP_FORK && message->value == ECANCELED)
		(void)err_set(&why, 0,
			      "a process that runs in the sandbox stopped the command before its "
			      "program began, so it was killed");
	else
		(void)refusal_of_step(&why, message);
	decide(into, EXEC_PROCESS_NOT_STARTED, NO_SANDBOX, why.text);
}

static void on_status(struct into *into, int status)
{
	if (WIFSIGNALED(status))
		decide(into, EXEC_PROCESS_SIGNALLED, WTERMSIG(status), "");
	else
		decide(into, EXEC_PROCESS_EXITED, WEXITSTATUS(status), "");
	over(into);
}

static void on_exec_failed(struct into *into, const struct wire_message *message)
{
	struct err why = { 0 };
	int status = message->type == WIRE_EXEC_OTHER
			     ? refusal_of_other(&why, into->program)
			     : refusal_of_exec(&why, into->program, message->value);

	decide(into, EXEC_PROCESS_NOT_STARTED, status, why.text);
}

bool into_take(struct intos *intos, const struct wire_message *message, const int *fds,
	       size_t count)
{
	struct into *into = find(intos, message->into);

	if (into && message->type == WIRE_PTY && count == 1) {
		if (into->on_pty)
			into->on_pty(fds[0], into->arg);
		else
			fd_close(fds[0]);
		return true;
	}
	fd_close_all(fds, count);
	if (!into || count > 0)
		return false;
	switch (message->type) {
	case WIRE_STARTED:
		return true;
	case WIRE_FAILED:
		on_failed(into, message);
		return true;
	case WIRE_EXEC_FAILED:
	case WIRE_EXEC_OTHER:
		on_exec_failed(into, message);
		return true;
	case WIRE_STATUS:
		on_status(into, message->value);
		return true;
	default:
		return false;
	}
}

void into_end_all(struct intos *intos)
{
	for (size_t i = 0; i < ARRAY_SIZE(intos->list); i++) {
		if (intos->list[i].number == 0)
			continue;
		decide(&intos->list[i], EXEC_PROCESS_KILLED, SIGKILL,
		       "the run has ended, and with it all of its processes");
		over(&intos->list[i]);
	}
}
