#include "exec/exec_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_made.h"
#include "exec/exec_probe.h"
#include "exec/notify/inside.h"
#include "exec/notify/notify.h"
#include "exec/notify/refusal.h"
#include "exec/run/bait.h"
#include "exec/into/into.h"
#include "exec/run/launch.h"
#include "exec/run/wire.h"
#include "exec/sandbox/cgroup.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/plan_make.h"
#include "exec/terminal/pty.h"
#include "exec/view/made.h"
#include "policies/policies_limits.h"

#define SET_UP_MS                                                                                  \
	60000 /* from clone to the command's process, including mounts on a slow disk, and         \
		 hundreds of sandboxes that are made at once on a busy machine */
#define NO_SANDBOX 125

static const char over_memory[] = "the command used more memory than it may, and was killed";

struct exec_process {
	struct loop *loop;
	int pidfd, control; /* of init; -1: it was not launched */
	char *program;
	bool is_alone, waits_for_ready, waits_for_pty, waits_for_probe;
	bool is_going, has_listener, has_started, has_ended, is_reaped;
	uint64_t early_signals; /* bit N-1: signal N came before WIRE_GO was sent */
	bool has_result;        /* @result is final; later events do not change it */
	struct exec_process_result result;
	struct event ended, readable;
	struct loop_timer deadline;
	struct pty *pty; /* NULL: none of 0–2 is our terminal */
	struct exec_size size;
	exec_pty_fn on_pty;    /* NULL: the caller has no pty */
	struct notify *notify; /* NULL: no calls are reported */
	struct cgroup *cgroup; /* NULL: no control group */
	struct bait bait;      /* open until the probe has ended */
	exec_probed_fn on_probed;
	void (*on_started)(void *arg);
	exec_egress_fn egress;
	exec_process_done_fn done;
	bool is_confined;
	struct paths kept; /* the paths protected at the start */
	struct plan *plan; /* for added commands, and for @notify; NULL: not launched */
	struct intos intos;
	void (*gone)(void *arg); /* NULL: no callback */
	void *arg;
};

static void decide(struct exec_process *process, enum exec_process_end end, int status,
		   const char *why)
{
	if (process->has_result)
		return;
	process->has_result = true;
	process->result.end = end;
	process->result.status = status;
	(void)snprintf(process->result.why, sizeof(process->result.why), "%.*s",
		       (int)sizeof(process->result.why) - 1, why);
}

static void kill_all(struct exec_process *process)
{
	/* It is fine if it is gone already: then the descriptor is readable. The kernel kills the
	 * whole pid namespace with its init. Without a pid namespace, init kills its descendants
	 * when it sees the end of this connection. */
	if (process->is_alone)
		(void)shutdown(process->control, SHUT_RDWR);
	else if (process->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, process->pidfd, SIGKILL, NULL, 0);
}

static void fail(struct exec_process *process, const char *why)
{
	decide(process, EXEC_PROCESS_NOT_STARTED, NO_SANDBOX, why);
	kill_all(process);
}

static int send_message(struct exec_process *process, enum wire_type type, int32_t value)
{
	const struct wire_message message = { .type = type, .value = value };

	return fd_send(process->control, &message, sizeof(message), NULL, 0);
}

static void on_exec_other(struct exec_process *process)
{
	struct err why = { 0 };
	int status = refusal_of_other(&why, process->program);

	decide(process, EXEC_PROCESS_NOT_STARTED, status, why.text);
}

static void on_exec_failed(struct exec_process *process, int error)
{
	struct err why = { 0 };
	int status = refusal_of_exec(&why, process->program, error);

	decide(process, EXEC_PROCESS_NOT_STARTED, status, why.text);
}

static void maybe_go(struct exec_process *process)
{
	if (process->waits_for_ready || process->waits_for_pty || process->waits_for_probe)
		return;
	/* Init has died: its end will be reported, and a message from it may still be unread. */
	if (send_message(process, WIRE_GO, 0) < 0)
		return;
	process->is_going = true;
	if (process->notify) /* from now on its program may wait for a judgement, for any time */
		loop_timer_stop(&process->deadline);
	for (int i = 0; i < 64; i++)
		if (process->early_signals & (1ULL << i))
			exec_process_signal(process, i + 1);
}

/* A message of init does not belong here: its descriptors are closed, and the sandbox ends. */
static void fail_protocol(struct exec_process *process, const int *fds, size_t count)
{
	fd_close_all(fds, count);
	fail(process, "the sandbox's first process sent a malformed message");
}

/* Once: an agent may run thousands of commands. */
static void warn_uncaptured(int error)
{
	static bool was_said;

	if (was_said)
		return;
	was_said = true;
	log_warn("exec: programs that ignore the proxy variables cannot connect: this kernel does "
		 "not let the sandbox capture connections (nf_tables with tproxy: %s)",
		 strerror(error));
}

static void on_ready(struct exec_process *process, int captured, int *fds, size_t count)
{
	if (!process->waits_for_ready || count != EXEC_EGRESS_FDS)
		return fail_protocol(process, fds, count);
	if (captured != 0)
		warn_uncaptured(captured);
	process->waits_for_ready = false;
	if (process->egress(fds, EXEC_EGRESS_FDS, process->arg) != 0)
		fail(process,
		     "the gate could not open its listeners, so the command was not started");
	else
		maybe_go(process);
}

static void on_pty(struct exec_process *process, const int *fds, size_t count)
{
	const struct winsize size = { .ws_row = process->size.rows,
				      .ws_col = process->size.columns };

	if (!process->waits_for_pty || count != 1)
		return fail_protocol(process, fds, count);
	process->waits_for_pty = false;
	if (process->pty) {
		pty_start(process->pty, fds[0]);
	} else {
		(void)ioctl(fds[0], TIOCSWINSZ, &size); /* fails if it is not a pty: ignored */
		process->on_pty(fds[0], process->arg);
	}
	maybe_go(process);
}

/* The wall sends it, so it may come before or after other messages. */
static void on_listener(struct exec_process *process, const int *fds, size_t count)
{
	if (process->has_listener || count != 2 || !process->notify)
		return fail_protocol(process, fds, count);
	process->has_listener = true;
	notify_start(process->notify, fds[0], fds[1]);
}

/* Anything that the probe could do, the command could do, too. */
static void on_probed(struct exec_process *process, const struct exec_probe *probe)
{
	enum exec_way way;
	const char *what = exec_probe_worked(probe, &way);
	struct err why = { 0 };

	if (!process->waits_for_probe)
		return fail_protocol(process, NULL, 0);
	process->waits_for_probe = false;
	process->result.probe = *probe;
	bait_close(&process->bait);
	process->on_probed(probe, process->arg);
	if (!what)
		return maybe_go(process);
	if (probe->ways[way] == EXEC_TRY_OPEN)
		(void)err_set(&why, 0,
			      "the sandbox does not hold: its probe could %s (%s); nothing was "
			      "started: report this, with the kernel's version",
			      what, exec_way_name(way));
	else
		(void)err_set(&why, 0,
			      "the sandbox could not be probed: no descriptors or no memory were "
			      "left to try to %s (%s); nothing was started",
			      what, exec_way_name(way));
	fail(process, why.text);
}

/* We behave like a child of a shell: the whole job stops, and continues when the shell says so. If
 * no process could continue it (an orphaned process group, or SIGTSTP ignored), the kernel drops
 * the signal, and the command continues at once. */
static void on_stopped(struct exec_process *process)
{
	if (!process->pty)
		return;
	pty_suspend(process->pty);
	(void)kill(0, SIGTSTP);
	pty_resume(process->pty);
	exec_process_signal(process, SIGCONT);
}

static void on_drained(void *arg)
{
	struct exec_process *process = arg;

	process->done(&process->result, process->arg);
}

/* No process of the command is left. */
static void finish(void *arg)
{
	struct exec_process *process = arg;
	struct exec_process_result *result = &process->result;

	event_del(&process->readable);
	loop_timer_stop(&process->deadline);
	into_end_all(&process->intos);
	result->limits |= cgroup_reached(process->cgroup);
	/* The kernel killed all processes in the group, including init. */
	if (result->end == EXEC_PROCESS_KILLED && (result->limits & BIT(POLICY_LIMIT_MEMORY)) != 0)
		(void)snprintf(result->why, sizeof(result->why), "%s", over_memory);
	result->refused = process->notify ? notify_end(process->notify) : 0;
	if (process->notify && result->end == EXEC_PROCESS_EXITED)
		result->origin = notify_origin(process->notify, result->status);
	if (process->pty)
		pty_end(process->pty, on_drained, process);
	else
		process->done(result, process->arg);
}

static void on_status(struct exec_process *process, const struct wire_message *message)
{
	int status = message->value;

	if (WIFSIGNALED(status))
		decide(process, EXEC_PROCESS_SIGNALLED, WTERMSIG(status), "");
	else
		decide(process, EXEC_PROCESS_EXITED, WEXITSTATUS(status), "");
	if (message->is_full)
		process->result.limits |= BIT(POLICY_LIMIT_TMP);
	process->result.usage = (struct exec_usage){
		.user_us = (int64_t)message->user_us,
		.system_us = (int64_t)message->system_us,
		.max_rss_bytes = message->rss_kib * 1024,
	};
	/* All other processes are dead by now, and init is about to exit: do not wait while the
	 * kernel destroys its namespaces. */
	if (!process->has_ended)
		loop_defer(process->loop, &process->deadline, finish, process);
	process->has_ended = true;
}

static void on_failed(struct exec_process *process, const struct wire_message *message)
{
	struct err why = { 0 };

	(void)refusal_of_step(&why, message);
	decide(process, EXEC_PROCESS_NOT_STARTED, NO_SANDBOX, why.text);
}

static void on_memory(struct exec_process *process)
{
	process->result.limits |= BIT(POLICY_LIMIT_MEMORY);
	decide(process, EXEC_PROCESS_KILLED, SIGKILL, over_memory);
}

static void on_uncovered(struct exec_process *process, const struct wire_message *message)
{
	auto_free char *path = text_visible_dup(message->detail);
	struct err why = { 0 };

	if (message->value == 1)
		(void)err_set(&why, 0,
			      "%.300s, which is hidden or protected from the command, was "
			      "created while the command ran; the command was killed: run "
			      "it again",
			      path);
	else
		(void)err_set(&why, 0,
			      "%.300s, which is protected from the command, or one of its "
			      "directories, was replaced, renamed or removed outside the sandbox; "
			      "the command was killed: run it again",
			      path);
	decide(process, EXEC_PROCESS_KILLED, SIGKILL, why.text);
}

static void on_message(struct exec_process *process, struct wire_message *message, int *fds,
		       size_t count)
{
	message->detail[sizeof(message->detail) - 1] = '\0';
	if (message->into != 0) {
		if (!into_take(&process->intos, message, fds, count))
			fail_protocol(process, NULL, 0);
		return;
	}
	if (message->type == WIRE_READY) {
		on_ready(process, message->value, fds, count);
		return;
	}
	if (message->type == WIRE_PTY) {
		on_pty(process, fds, count);
		return;
	}
	if (message->type == WIRE_LISTENER) {
		on_listener(process, fds, count);
		return;
	}
	fd_close_all(fds, count);
	switch (message->type) {
	case WIRE_PROBED:
		on_probed(process, &message->probe);
		break;
	case WIRE_STARTED:
		process->has_started = true;
		loop_timer_stop(&process->deadline);
		if (process->waits_for_probe)
			fail(process, "the probe of the sandbox ended without a result, so nothing "
				      "was started");
		else if (process->on_started && !process->has_result)
			process->on_started(process->arg);
		break;
	case WIRE_FAILED:
		on_failed(process, message);
		break;
	case WIRE_EXEC_FAILED:
		on_exec_failed(process, message->value);
		break;
	case WIRE_EXEC_OTHER:
		on_exec_other(process);
		break;
	case WIRE_STATUS:
		on_status(process, message);
		break;
	case WIRE_MEMORY:
		on_memory(process);
		break;
	case WIRE_UNCOVERED:
		on_uncovered(process, message);
		break;
	case WIRE_STOPPED:
		on_stopped(process);
		break;
	case WIRE_TIME:
		log_debug("exec: step %u after %d us", message->step, message->value);
		break;
	default:
		fail(process, "the sandbox's first process sent a malformed message");
	}
}

/* Reads all messages that are there. False: no more will come. */
static bool read_messages(struct exec_process *process)
{
	for (;;) {
		struct wire_message message;
		int fds[FD_PASS_MAX];
		size_t count = 0;
		ssize_t n = fd_recv(process->control, &message, sizeof(message), fds, &count);

		if (n == -EAGAIN)
			return true;
		if (n == -EMSGSIZE)
			fail(process,
			     "no descriptors were left for the gate's listeners; raise the "
			     "limit (ulimit -n)");
		if (n != (ssize_t)sizeof(message)) {
			fd_close_all(fds, count);
			return false;
		}
		on_message(process, &message, fds, count);
	}
}

static void on_control_readable(evutil_socket_t fd, short what, void *arg)
{
	struct exec_process *process = arg;

	if (!read_messages(process))
		event_del(&process->readable); /* the end is reported on the pidfd */
}

/* ECHILD: SIGCHLD is ignored, so the kernel has reaped it. */
static void reap(struct exec_process *process)
{
	siginfo_t ended = { 0 };

	(void)waitid(P_PIDFD, (id_t)process->pidfd, &ended, WEXITED | WNOHANG);
	process->is_reaped = true;
}

static void on_init_ended(evutil_socket_t fd, short what, void *arg)
{
	struct exec_process *process = arg;

	reap(process);
	if (process->has_ended) {
		if (process->gone)
			process->gone(process->arg);
		return;
	}
	(void)read_messages(process); /* init's last messages */
	if (!process->has_started)
		decide(process, EXEC_PROCESS_NOT_STARTED, NO_SANDBOX,
		       "the sandbox's first process died before the command started");
	decide(process, EXEC_PROCESS_KILLED, SIGKILL, "a process outside the sandbox killed it");
	process->has_ended = true;
	finish(process);
}

static void on_deadline(void *arg)
{
	const struct exec_process *process = arg;

	fail(arg, process->waits_for_probe ? "the sandbox was not set up and probed in time"
					   : "the sandbox was not set up in time");
}

/* Takes the descriptors and the control group of @launch. */
static void watch_init(struct exec_process *process, const struct launch *launch,
		       const char *program, bool has_pty)
{
	struct loop *loop = process->loop;

	process->pidfd = launch->pidfd;
	process->control = launch->control;
	process->cgroup = launch->cgroup;
	process->program = mem_strdup(program);
	process->is_alone = launch->is_alone;
	process->waits_for_ready = launch->has_egress;
	process->waits_for_pty = has_pty;
	process->waits_for_probe = process->on_probed != NULL;
	(void)fd_set_nonblocking(process->control, true); /* cannot fail for an open socket */
	event_assign(&process->ended, loop_base(loop), process->pidfd, EV_READ, on_init_ended,
		     process);
	event_add(&process->ended, NULL);
	event_assign(&process->readable, loop_base(loop), process->control, EV_READ | EV_PERSIST,
		     on_control_readable, process);
	event_add(&process->readable, NULL);
	loop_timer_start(loop, &process->deadline, SET_UP_MS, on_deadline, process);
}

static int start(struct exec_process *process, const struct exec_plan_config *config,
		 struct err *why)
{
	struct launch launch = { .pidfd = -1, .control = -1 };
	int r = 0;
	struct plan *plan = plan_make(config, &r, why);

	process->plan = plan;
	if (plan && config->on_planned)
		r = config->on_planned(process->arg, why);
	if (!plan || r < 0)
		return r;
	for (size_t i = 0; i < plan->warnings.count; i++) {
		auto_free char *warning = text_visible_dup(plan->warnings.list[i]);

		log_warn("exec: %s", warning);
	}
	for (size_t i = 0; i < plan->read_only.count; i++)
		paths_add(&process->kept, plan->read_only.list[i]);
	process->is_confined = !(plan->flags & WIRE_UNCONFINED);
	if (log_get_level() >= LOG_LEVEL_DEBUG)
		plan->flags |= WIRE_TIMES;
	if (!(plan->flags & WIRE_UNCONFINED)) {
		plan->flags |= notify_wishes(config);
	} else if (config->on_program) {
		return err_set(why, -ENOTSUP, "programs cannot be judged without a sandbox");
	}
	uint32_t terminals = plan->flags & WIRE_TERMINALS;
	bool is_told = (plan->flags & WIRE_TELLS) != 0;

	if (config->pty && !config->on_pty)
		r = err_set(why, -EINVAL, "a pty needs a function that takes it");
	if (config->pty) {
		process->size = *config->pty;
		process->on_pty = config->on_pty;
	} else if (terminals) {
		process->pty = pty_new(process->loop, terminals, why);
		r = process->pty ? 0 : -ENOTTY;
	}
	if (r == 0 && config->on_probed && process->is_confined) {
		process->on_probed = config->on_probed;
		r = bait_open(&process->bait, plan, config->control, why);
	}
	if (r == 0)
		r = launch_plan(plan, config, &launch, why);
	if (r < 0)
		return r;
	/* Its process starts while init sets up. */
	if (is_told)
		process->notify = notify_new(process->loop, plan, config, process->arg, why);
	watch_init(process, &launch, config->argv[0], terminals != 0);
	if (is_told && !process->notify)
		return -EAGAIN;
	maybe_go(process); /* at once if nothing is waited for: init reads it when it is ready */
	return 0;
}

struct exec_process *exec_process_start(struct loop *loop, const struct exec_plan_config *config,
					exec_egress_fn egress, exec_process_done_fn done, void *arg,
					struct err *why)
{
	struct exec_process *process = mem_new(sizeof(*process));

	process->loop = loop;
	process->pidfd = process->control = -1;
	process->bait = (struct bait)BAIT_NONE;
	process->egress = egress;
	process->on_started = config->on_started;
	process->done = done;
	process->arg = arg;
	if (start(process, config, why) < 0) {
		exec_process_free(process);
		return NULL;
	}
	return process;
}

void exec_process_kill(struct exec_process *process, const char *why)
{
	decide(process, EXEC_PROCESS_KILLED, SIGKILL, why);
	kill_all(process);
}

void exec_process_signal(struct exec_process *process, int signal)
{
	if (signal < 1 || signal > 64)
		return;
	/* A full queue means that init has not read dozens of earlier signals; a closed one, that
	 * init is gone. */
	if (process->is_going)
		(void)send_message(process, WIRE_SIGNAL, signal);
	else
		process->early_signals |= 1ULL << (signal - 1);
}

/* The kernel keeps a group that still contains a process. */
static void drop_group(void *arg)
{
	cgroup_free(arg);
}

/* Kills what is left of a launched sandbox; the loop waits for it. */
static void let_go(struct exec_process *process)
{
	event_del(&process->ended);
	event_del(&process->readable);
	loop_timer_stop(&process->deadline);
	if (process->is_reaped) {
		drop_group(process->cgroup);
	} else {
		kill_all(process);
		loop_reap_then(process->loop, fd_take(&process->pidfd), drop_group,
			       process->cgroup);
	}
	fd_close(process->pidfd);
	fd_close(process->control);
}

void exec_process_free(struct exec_process *process)
{
	bool was_launched = process && process->pidfd >= 0;

	if (!process)
		return;
	if (process->notify && was_launched)
		exec_process_kill(process, "the gate ended the command");
	notify_free(process->notify); /* it must reap the processes that it traces, or exit */
	if (was_launched)
		let_go(process);
	pty_free(process->pty);
	bait_close(&process->bait);
	into_end_all(&process->intos);
	paths_done(&process->kept);
	plan_free(process->plan);
	free(process->program);
	free(process);
}

int exec_into_start(struct exec_process *process, const struct exec_into_config *config,
		    uint64_t *ret, struct err *why)
{
	process->intos.last++; /* also for one that is not started: its number was recorded */
	if (!process->has_started || process->has_result || process->has_ended)
		return err_set(why, -ESRCH, "the run's own command does not run");
	return into_start(&process->intos, process->control, process->plan, config, ret, why);
}

uint64_t exec_into_next(const struct exec_process *process)
{
	return process->intos.last + 1;
}

void exec_into_signal(struct exec_process *process, uint64_t number, int signal)
{
	into_signal(&process->intos, process->control, number, signal);
}

void exec_into_drop(struct exec_process *process, uint64_t number)
{
	into_drop(&process->intos, process->control, number);
}

int exec_process_answer(struct exec_process *process, uint64_t id, bool is_allowed)
{
	return process->notify ? notify_answer(process->notify, id, is_allowed) : -ENOENT;
}

bool exec_process_when_gone(struct exec_process *process, void (*gone)(void *arg))
{
	bool is_left = !process->is_reaped;

	process->gone = is_left ? gone : NULL;
	return is_left;
}

void exec_process_hold_terminal(struct exec_process *process)
{
	if (process->pty)
		pty_hold(process->pty);
}

void exec_process_release_terminal(struct exec_process *process)
{
	if (process->pty)
		pty_release(process->pty);
}

int exec_made(const struct exec_process *process, const struct exec_plan_config *config,
	      exec_made_fn each, void *arg, struct err *why)
{
	return process->is_confined ? made_find(config, &process->kept, each, arg, why) : 0;
}

const char *const *exec_process_protected(const struct exec_process *process)
{
	static const char *const none[] = { NULL };

	return process->kept.list ? (const char *const *)process->kept.list : none;
}

bool exec_process_is_inside(void)
{
	const char *active = getenv("SALLYPORT_ACTIVE");

	return active && strcmp(active, "1") == 0 && inside_number(getpid(), "\nSeccomp:") == 2;
}

size_t exec_process_ancestors(pid_t pid, pid_t *ret, size_t max)
{
	for (size_t count = 0; pid > 0 && count < max;) {
		ret[count++] = pid;
		if (inside_number(pid, "\nNSpid:") == 1)
			return count;
		pid = inside_number(pid, "\nPPid:");
	}
	return 0;
}
