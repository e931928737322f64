#include "exec/intercept.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/evidence.h"
#include "exec/listener.h"
#include "exec/program.h"

/* The kernel reads the path and the words again after our answer, when they may be others: a thread
 * changes them, a link is turned, a file renamed. So whoever may go on is traced first, and stops
 * in its new program before the first instruction of it (PTRACE_EVENT_EXEC), where nobody else can
 * change it: is it what was judged, it is let go, else it is killed. docs/decisions/0151. */

#define ASKED_MAX 128
#define TRACED_MS 60000 /* for reading a program from a slow disk */

enum state {
	FREE,
	ASKED,    /* @program waits for its answer */
	ANSWERED, /* which is carried out soon */
	TRACED    /* on its way into @program */
};
struct entry {
	enum state state;
	uint64_t id; /* ours; the kernel's is @request */
	uint64_t request;
	pid_t task;
	int listener;
	bool is_allowed;
	int64_t due_ms;
	struct program program;
};

struct intercept {
	struct intercept_config config;
	struct entry entries[ASKED_MAX];
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

static void tell(struct intercept *intercept, const struct entry *entry)
{
	const struct exec_evidence evidence = {
		.what = EXEC_REFUSED_PROGRAM,
		.pid = (int)entry->program.process,
		.error = EACCES,
		.call = "execve",
		.path = entry->program.path,
	};

	evidence_tell(intercept->config.evidence, &evidence);
}

static void refuse(struct intercept *intercept, struct entry *entry)
{
	listener_refuse(entry->listener, entry->request, EACCES);
	tell(intercept, entry);
	release(entry);
}

static void kill_task(struct intercept *intercept, struct entry *entry, const char *why)
{
	log_info("exec: killed a process of the command: %s", why);
	tell(intercept, entry);
	(void)kill(entry->program.process, SIGKILL);
}

/* Traced, the task cannot slip away: it stops either in its new program or, when there is none
 * after all, where it was, since it is asked to stop right away. */
static void let_go_on(struct intercept *intercept, struct entry *entry)
{
	if (ptrace(PTRACE_SEIZE, entry->task, NULL, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL) < 0) {
		/* Somebody inside traces it, who could make it anything; or it is gone. */
		refuse(intercept, entry);
		return;
	}
	entry->state = TRACED;
	entry->due_ms = loop_now_ms(intercept->config.loop) + TRACED_MS;
	if (!intercept->deadline.is_armed)
		loop_timer_start(intercept->config.loop, &intercept->deadline, TRACED_MS,
				 on_deadline, intercept);
	/* Gone meanwhile: its end is seen as that of any traced task. */
	(void)listener_pass(entry->listener, entry->request);
	(void)ptrace(PTRACE_INTERRUPT, entry->task, NULL, NULL);
}

/* One thread of a process at a time: the first to get a new program ends the others, waits until
 * their tracer has buried them, and meanwhile keeps everybody waiting who wants to trace another of
 * them. That would be us. */
static bool is_busy(const struct intercept *intercept, pid_t process)
{
	for (size_t i = 0; i < ASKED_MAX; i++)
		if (intercept->entries[i].state == TRACED &&
		    intercept->entries[i].program.process == process)
			return true;
	return false;
}

static void settle(void *arg)
{
	struct intercept *intercept = arg;

	for (size_t i = 0; i < ASKED_MAX; i++) {
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
}

int intercept_answer(struct intercept *intercept, uint64_t id, bool is_allowed)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry->state != ASKED || entry->id != id)
			continue;
		entry->state = ANSWERED;
		entry->is_allowed = is_allowed;
		loop_defer(intercept->config.loop, &intercept->settling, settle, intercept);
		return 0;
	}
	return -ENOENT;
}

/* Those whose task died keep their place until it is needed. */
static struct entry *find_free(struct intercept *intercept)
{
	for (size_t i = 0; i < ASKED_MAX; i++)
		if (intercept->entries[i].state == FREE)
			return &intercept->entries[i];
	for (size_t i = 0; i < ASKED_MAX; i++) {
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

	if (!entry) { /* more questions than anybody could answer */
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
		listener_refuse(listener, request->id, error);
		if (flaw == PROGRAM_REFUSED)
			tell(intercept, entry);
		release(entry);
		return;
	}
	const struct program *program = &entry->program;
	const struct exec_program what = {
		.path = program->path,
		.device = program->device,
		.inode = program->inode,
		.interpreter = program->by.path ? &program->by : NULL,
	};

	entry->state = ASKED;
	entry->id = ++intercept->last_id;
	intercept->config.fn(entry->id, &what, (const char *const *)program->argv, program->cwd,
			     intercept->config.arg);
}

/* A thread that executes a program takes its process's number, and all other threads end: @former
 * is what it was called before. */
static struct entry *find_traced(struct intercept *intercept, pid_t former)
{
	for (size_t i = 0; i < ASKED_MAX; i++)
		if (intercept->entries[i].state == TRACED && intercept->entries[i].task == former)
			return &intercept->entries[i];
	return NULL;
}

static void forget_threads(struct intercept *intercept, pid_t process, const struct entry *but)
{
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		if (entry != but && entry->state == TRACED && entry->program.process == process)
			release(entry);
	}
}

/* @process stands before the first instruction of its new program. */
static void on_exec(struct intercept *intercept, pid_t process)
{
	unsigned long former = 0;

	if (ptrace(PTRACE_GETEVENTMSG, process, NULL, &former) < 0)
		return; /* killed: its end is seen */
	struct entry *entry = find_traced(intercept, (pid_t)former);

	if (!entry) {
		log_info("exec: process %d executed a program that nobody judged: killed",
			 (int)process);
		(void)kill(process, SIGKILL);
		return;
	}
	forget_threads(intercept, process, entry);
	entry->task = process;
	if (!program_is(&entry->program, intercept->config.inside, process)) {
		kill_task(intercept, entry, "it executed something else than was judged");
		return; /* its end is seen */
	}
	if (ptrace(PTRACE_DETACH, process, NULL, NULL) == 0)
		release(entry);
}

/* No program came of it: the file was none, or a signal came first, after which the kernel asks
 * again. */
static void on_stop(struct intercept *intercept, struct entry *entry, pid_t pid, int status)
{
	int signal = WSTOPSIG(status);
	bool is_event = (status >> 16) != 0;

	if (ptrace(PTRACE_DETACH, pid, NULL, (void *)(uintptr_t)(is_event ? 0 : signal)) == 0)
		release(entry);
}

/* False: nothing to tell of @pid now. */
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
	for (size_t i = 0; i < ASKED_MAX; i++) {
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

/* Others of the process may have waited for it. */
static void look_around(struct intercept *intercept)
{
	look_at_all(intercept);
	for (size_t i = 0; i < ASKED_MAX; i++)
		if (intercept->entries[i].state == ANSWERED)
			loop_defer(intercept->config.loop, &intercept->settling, settle, intercept);
}

/* Of all our children: each is asked for by its number, so that nobody's end is taken away. */
static void on_child(evutil_socket_t signal, short what, void *arg)
{
	look_around(arg);
}

static void on_deadline(void *arg)
{
	struct intercept *intercept = arg;
	int64_t now_ms = loop_now_ms(intercept->config.loop), next_ms = INT64_MAX;

	look_around(intercept);
	for (size_t i = 0; i < ASKED_MAX; i++) {
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

/* What is traced is ours to bury: until then the sandbox's init would wait for it. */
void intercept_free(struct intercept *intercept)
{
	if (!intercept)
		return;
	event_del(&intercept->children);
	loop_timer_stop(&intercept->settling);
	loop_timer_stop(&intercept->deadline);
	for (size_t i = 0; i < ASKED_MAX; i++) {
		struct entry *entry = &intercept->entries[i];

		for (bool is_left = entry->state == TRACED; is_left;) {
			int status = 0;
			pid_t r = waitpid(entry->task, &status, __WALL);

			/* A signal says nothing of it. */
			is_left = r < 0 ? errno == EINTR : WIFSTOPPED(status);
		}
		if (entry->state != FREE)
			release(entry);
	}
	free(intercept);
}
