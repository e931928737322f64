#include "exec/notify/intercept.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/notify/evidence.h"
#include "exec/run/failure.h"
#include "exec/run/listener.h"
#include "exec/notify/notify_shared.h"
#include "exec/notify/program.h"

/* After our answer the kernel reads the path and the words again, and they may have changed by
 * then: a thread writes them, a link is changed, a file is renamed. So a task that may continue is
 * traced first. It stops in its new program before the first instruction (PTRACE_EVENT_EXEC), where
 * no other process can change it: if the program is the one that was judged, it continues, else it
 * is killed. docs/decisions/0030. */

#define TRACED_MS 60000 /* enough to read a program from a slow disk */

enum state {
	FREE,
	ASKED,    /* @program waits for its answer */
	ANSWERED, /* the answer has not been carried out yet */
	TRACED    /* it is executing @program */
};
struct entry {
	enum state state;
	uint64_t id; /* our own; the kernel's is @request */
	uint64_t request;
	pid_t task;
	int listener;
	bool is_allowed;
	int64_t due_ms;
	struct program program;
};

struct intercept {
	struct intercept_config config;
	struct entry entries[INTERCEPT_ASKED_MAX];
	uint64_t last_id;
	struct event children;
	struct loop_timer settling, deadline;
};

static void on_child(evutil_socket_t signal, short what, void *arg);
static void on_deadline(void *arg);

struct intercept *intercept_new(const struct intercept_config *config)
{
	struct intercept *intercept = mem_new(sizeof(*intercept));

	intercept->config = *config;
	event_assign(&intercept->children, loop_base(config->loop), SIGCHLD, EV_SIGNAL | EV_PERSIST,
		     on_child, intercept);
	event_add(&intercept->children, NULL);
	return intercept;
}

static void release(struct entry *entry)
{
	program_done(&entry->program);
	entry->state = FREE;
}

/* Called while the task waits, because its identity is certain then. */
static void tell(struct intercept *intercept, const struct entry *entry)
{
	const struct exec_evidence evidence = {
		.what = EXEC_REFUSED_PROGRAM,
		.pid = (int)entry->program.process,
		.error = EACCES,
		.call = "execve",
		.path = entry->program.path,
	};

	failure_refused(intercept->config.failure, entry->task, entry->program.path);
	evidence_tell(intercept->config.evidence, &evidence);
}

static void refuse(struct intercept *intercept, struct entry *entry)
{
	tell(intercept, entry);
	listener_refuse(entry->listener, entry->request, EACCES);
	release(entry);
}

static void kill_task(struct intercept *intercept, struct entry *entry, const char *why)
{
	log_info("exec: killed a process of the command: %s", why);
	tell(intercept, entry);
	(void)kill(entry->program.process, SIGKILL);
}

/* A traced task cannot escape: it stops in its new program or, if the call fails, where it was,
 * because it is interrupted right away. */
static void let_go_on(struct intercept *intercept, struct entry *entry)
{
	if (ptrace(PTRACE_SEIZE, entry->task, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
		/* A process inside traces it, and could change it; or it is gone. */
		refuse(intercept, entry);
		return;
	}
	entry->state = TRACED;
	entry->due_ms = loop_now_ms(intercept->config.loop) + TRACED_MS;
	if (!intercept->deadline.is_armed)
		loop_timer_start(intercept->config.loop, &intercept->deadline, TRACED_MS,
				 on_deadline, intercept);
	/* If it is gone by now, its end is noticed as for any traced task. */
	(void)listener_pass(entry->listener, entry->request);
	(void)ptrace(PTRACE_INTERRUPT, entry->task, NULL, NULL);
}

/* Only one thread per process at a time. The first thread that gets a new program ends the others,
 * and waits until their tracer has reaped them; meanwhile every attempt to trace another of them
 * blocks. We are that tracer, so we would block ourselves. */
static bool is_busy(const struct intercept *intercept, pid_t process)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++)
		if (intercept->entries[i].state == TRACED &&
		    intercept->entries[i].program.process == process)
			return true;
	return false;
}

static void settle(void *arg)
{
	struct intercept *intercept = arg;

	notify_shared_begin(intercept->config.shared, 0, 0);
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry->state != ANSWERED)
			continue;
		if (!listener_is_waiting(entry->listener, entry->request))
			release(entry);
		else if (!entry->is_allowed)
			refuse(intercept, entry);
		else if (!is_busy(intercept, entry->program.process))
			let_go_on(intercept, entry);
	}
	notify_shared_end(intercept->config.shared);
}

void intercept_answer(struct intercept *intercept, uint64_t id, bool is_allowed)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry->state != ASKED || entry->id != id)
			continue;
		entry->state = ANSWERED;
		entry->is_allowed = is_allowed;
		loop_defer(intercept->config.loop, &intercept->settling, settle, intercept);
		return;
	}
}

/* An entry whose task died stays until its place is needed. */
static struct entry *find_free(struct intercept *intercept)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++)
		if (intercept->entries[i].state == FREE)
			return &intercept->entries[i];
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry->state != ASKED || listener_is_waiting(entry->listener, entry->request))
			continue;
		release(entry);
		return entry;
	}
	return NULL;
}

void intercept_ask(struct intercept *intercept, int listener, const struct seccomp_notif *request)
{
	struct entry *entry = find_free(intercept);
	int error = 0;

	if (!entry) { /* too many questions are open */
		listener_refuse(listener, request->id, EAGAIN);
		return;
	}
	entry->request = request->id;
	entry->task = (pid_t)request->pid;
	entry->listener = listener;
	enum program_flaw flaw = program_find(intercept->config.plan, intercept->config.inside,
					      request, &entry->program, &error);

	if (!listener_is_waiting(listener, request->id)) {
		release(entry);
		return;
	}
	if (flaw != PROGRAM_FINE) {
		if (flaw == PROGRAM_REFUSED)
			tell(intercept, entry);
		listener_refuse(listener, request->id, error);
		release(entry);
		return;
	}
	entry->state = ASKED;
	entry->id = ++intercept->last_id;
	intercept->config.fn(entry->id, (uint32_t)(entry - intercept->entries), entry->request,
			     &entry->program, intercept->config.arg);
}

/* A thread that executes a program takes over the pid of its process, and all other threads end:
 * @former is its own id before that. */
static struct entry *find_traced(struct intercept *intercept, pid_t former)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++)
		if (intercept->entries[i].state == TRACED && intercept->entries[i].task == former)
			return &intercept->entries[i];
	return NULL;
}

static void forget_threads(struct intercept *intercept, pid_t process, const struct entry *but)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry != but && entry->state == TRACED && entry->program.process == process)
			release(entry);
	}
}

/* @process has stopped before the first instruction of its new program. */
static void on_exec(struct intercept *intercept, pid_t process)
{
	unsigned long former = 0;

	if (ptrace(PTRACE_GETEVENTMSG, process, NULL, &former) < 0)
		return; /* killed: its end is noticed */
	struct entry *entry = find_traced(intercept, (pid_t)former);

	if (!entry) {
		log_info("exec: killed process %d: it executed a program before the policy had "
			 "judged it",
			 (int)process);
		(void)kill(process, SIGKILL);
		return;
	}
	forget_threads(intercept, process, entry);
	entry->task = process;
	if (!program_is(&entry->program, intercept->config.inside, process)) {
		kill_task(intercept, entry,
			  "it executed another program than the one that was judged");
		return; /* its end is noticed */
	}
	if (ptrace(PTRACE_DETACH, process, NULL, NULL) == 0)
		release(entry);
}

/* No program was executed: the file was not executable, or a signal came first, after which the
 * kernel repeats the call. */
static void on_stop(struct intercept *intercept, struct entry *entry, pid_t pid, int status)
{
	int signal = WSTOPSIG(status);
	bool is_event = (status >> 16) != 0;

	if (ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)(is_event ? 0 : signal)) == 0)
		release(entry);
}

/* False: there is no event for @pid now. */
static bool look_at(struct intercept *intercept, struct entry *entry, pid_t pid)
{
	int status = 0;
	pid_t r = waitpid(pid, &status, WNOHANG | __WALL);

	if (r <= 0)
		return false;
	if (!WIFSTOPPED(status))
		release(entry);
	else if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_EXEC << 8)))
		on_exec(intercept, pid);
	else
		on_stop(intercept, entry, pid, status);
	return true;
}

static void look_at_all(struct intercept *intercept)
{
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		while (entry->state == TRACED) {
			pid_t task = entry->task, process = entry->program.process;

			if (look_at(intercept, entry, task))
				continue;
			if (task == process || !look_at(intercept, entry, process))
				break;
		}
	}
}

/* Other calls of the same process may have waited for it. */
static void look_around(struct intercept *intercept)
{
	notify_shared_begin(intercept->config.shared, 0, 0);
	look_at_all(intercept);
	notify_shared_end(intercept->config.shared);
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++)
		if (intercept->entries[i].state == ANSWERED)
			loop_defer(intercept->config.loop, &intercept->settling, settle, intercept);
}

/* SIGCHLD covers all our children: each is waited for by its pid, so that the status of a child of
 * other code is not consumed. */
static void on_child(evutil_socket_t signal, short what, void *arg)
{
	look_around(arg);
}

static void on_deadline(void *arg)
{
	struct intercept *intercept = arg;
	int64_t now_ms = loop_now_ms(intercept->config.loop), next_ms = INT64_MAX;

	look_around(intercept);
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry->state != TRACED)
			continue;
		if (entry->due_ms <= now_ms) {
			kill_task(intercept, entry, "its program did not start in time");
			entry->due_ms = now_ms + TRACED_MS;
		}
		next_ms = entry->due_ms < next_ms ? entry->due_ms : next_ms;
	}
	if (next_ms != INT64_MAX)
		loop_timer_start(intercept->config.loop, &intercept->deadline, next_ms - now_ms,
				 on_deadline, intercept);
}
