#include "exec/notify/notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/process/helper.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/exec_plan.h"
#include "exec/run/failure.h"
#include "exec/notify/intercept.h"
#include "exec/run/listener.h"
#include "exec/notify/notify_frames.h"
#include "exec/notify/notify_process.h"
#include "exec/notify/notify_shared.h"
#include "exec/sandbox/plan.h"
#include "exec/notify/program.h"
#include "exec/run/wire.h"
#include "exec/notify/wire_told.h"

#define TURN_MAX 64 /* frames or calls that are handled in one turn of the loop */
#define LOOK_MS  2000
#define LATE_MS                                                                                    \
	10000 /* for one call; a file system that hangs delays only its own sandbox for so long */

/* A program that the caller has to judge. */
struct question {
	uint64_t id, request; /* the kernel's; kept after the answer, which may not have been
				 carried out */
	bool is_open;
};

struct notify {
	struct loop *loop;
	exec_evidence_fn on_refused;
	exec_program_fn on_program;
	void *arg;
	int listener, told;
	struct helper helper;
	struct notify_shared *shared;
	struct event readable; /* the helper process */
	struct event unseen;   /* the wall, once the helper process is gone */
	struct loop_timer watch, losing;
	struct question questions[INTERCEPT_ASKED_MAX];
	char *words;
	size_t words_len;
	bool is_lost, has_ended, has_told_loss;
};

uint32_t notify_wishes(const struct exec_plan_config *config)
{
	uint32_t wishes = 0;

	if (config->on_refused && config->tells_briefly)
		wishes |= WIRE_TELL_BRIEF;
	else if (config->on_refused)
		wishes |= WIRE_TELL_REFUSED | (config->tells_reads ? WIRE_TELL_READS : 0);
	if (config->on_program)
		wishes |= WIRE_TELL_PROGRAMS;
	return wishes;
}

/* A program that could not be judged. Its path is in the command's memory, which is not read
 * here. */
static void on_unjudged(struct notify *notify, int pid)
{
	const struct exec_evidence evidence = {
		.what = EXEC_REFUSED_PROGRAM,
		.pid = pid,
		.error = EACCES,
		.call = "execve",
		.path = "",
		.program = "",
	};

	if (!notify->on_refused)
		return;
	(void)__atomic_add_fetch(&notify->shared->refused, 1, __ATOMIC_SEQ_CST);
	if (!notify->has_told_loss)
		notify->on_refused(&evidence, notify->arg);
	notify->has_told_loss = true;
}

static void answer_unseen(struct notify *notify, uint64_t request, int error)
{
	if (error != 0)
		listener_refuse(notify->listener, request, error);
	else
		(void)listener_pass(notify->listener, request); /* fails if the task is gone */
}

static void on_unseen(evutil_socket_t fd, short what, void *arg)
{
	struct notify *notify = arg;
	struct wire_told told;

	for (int i = 0; i < TURN_MAX; i++) {
		auto_close int pidfd = -1;
		int r = notify_frames_read_told(notify->told, &told, &pidfd);

		if (r < 0)
			event_del(&notify->unseen); /* no task inside is left */
		if (r <= 0)
			return;
		bool is_program;
		int error = notify_frames_error(&told, &is_program);

		if (is_program)
			on_unjudged(notify, (int)told.request.pid);
		answer_unseen(notify, told.request.id, error);
	}
}

static int read_frame(struct notify *notify);

static void serve_unseen(struct notify *notify)
{
	event_assign(&notify->unseen, loop_base(notify->loop), notify->told, EV_READ | EV_PERSIST,
		     on_unseen, notify);
	event_add(&notify->unseen, NULL);
}

/* Refuses what the process was asked and did not answer, or answered and did not carry out, as well
 * as everything that comes from now on. The kernel kills the tasks that it traced together with
 * it. */
static void lose(void *arg)
{
	struct notify *notify = arg;
	uint64_t request = __atomic_load_n(&notify->shared->request, __ATOMIC_SEQ_CST);

	if (notify->is_lost)
		return;
	notify->is_lost = true;
	log_warn("exec: the process that judges the command's system calls was late or is dead; "
		 "from now on, programs that have to be judged are refused");
	loop_timer_stop(&notify->watch);
	event_del(&notify->readable);
	while (read_frame(notify) > 0) /* at most as many as the socket holds */
		;
	helper_end(notify->loop, &notify->helper);
	if (notify->listener < 0)
		return;
	if (request != 0)
		answer_unseen(notify, request, notify->shared->error);
	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		notify->questions[i].is_open = false;
		if (notify->questions[i].request != 0)
			listener_refuse(notify->listener, notify->questions[i].request, EACCES);
	}
	serve_unseen(notify);
}

/* Defers it, so that it never runs inside a call from our own code. */
static void lose_soon(struct notify *notify)
{
	if (!notify->is_lost)
		loop_defer(notify->loop, &notify->losing, lose, notify);
}

static void on_watch(void *arg)
{
	struct notify *notify = arg;
	int64_t since_ms = __atomic_load_n(&notify->shared->since_ms, __ATOMIC_SEQ_CST);

	if (since_ms != 0 && loop_clock_ms() - since_ms > LATE_MS)
		lose(notify);
	else
		loop_timer_start(notify->loop, &notify->watch, LOOK_MS, on_watch, notify);
}

static int on_words(struct notify *notify, struct frame *frame)
{
	size_t room = notify->words_len + NOTIFY_WORDS_PART;

	if (room > PROGRAM_BYTES_MAX + NOTIFY_WORDS_PART)
		return -E2BIG;
	notify->words = mem_grow(notify->words, room, 1);
	notify->words_len +=
		frame_get_bytes(frame, notify->words + notify->words_len, NOTIFY_WORDS_PART);
	return frame_is_whole(frame) ? 0 : -EBADMSG;
}

/* Pointers into the words received before, NULL at the end; NULL: their number is not @count. */
static const char **split_words(const struct notify *notify, size_t count)
{
	const char *at = notify->words, *end = at + notify->words_len;

	if (count == 0 || count > PROGRAM_WORDS_MAX || notify->words_len == 0 || end[-1] != '\0')
		return NULL;
	const char **argv = mem_new_array(count + 1, sizeof(*argv));

	for (size_t i = 0; i < count && at < end; at += strlen(at) + 1)
		argv[i++] = at;
	if (at == end && argv[count - 1])
		return argv;
	free(argv);
	return NULL;
}

/* At most as many questions are open as the process can hold: a new one in the same slot means that
 * the old one is over. */
static int ask(struct notify *notify, struct frame *frame)
{
	struct notify_frames_room room;
	struct notify_program asked;
	int r = notify_frames_get_program(frame, &room, &asked);
	auto_free const char **argv = r < 0 ? NULL : split_words(notify, asked.argc);

	notify->words_len = 0;
	if (!argv || !notify->on_program)
		return -EBADMSG;
	struct question *question = &notify->questions[asked.slot];

	*question = (struct question){ asked.id, asked.request,
				       !notify->has_ended && !notify->is_lost };
	if (question->is_open)
		notify->on_program(asked.id, &asked.program, argv, asked.cwd, notify->arg);
	return 0;
}

static int on_evidence(struct notify *notify, struct frame *frame)
{
	struct notify_frames_room room;
	struct exec_evidence evidence;
	int r = notify_frames_get_evidence(frame, &room, &evidence);

	if (r < 0 || !notify->on_refused)
		return -EBADMSG;
	notify->on_refused(&evidence, notify->arg);
	return 0;
}

/* 1: a frame was read; 0: none now; -errno: no more will come. */
static int read_frame(struct notify *notify)
{
	int fds[FD_PASS_MAX];
	size_t count = 0;
	struct frame frame;
	int r = frame_link_receive_on(notify->helper.socket, &frame, fds, &count);

	for (size_t i = 0; r == 0 && i < count; i++)
		fd_close(fds[i]);
	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	if (frame.type == NOTIFY_EVIDENCE)
		r = on_evidence(notify, &frame);
	else if (frame.type == NOTIFY_WORDS)
		r = on_words(notify, &frame);
	else
		r = frame.type == NOTIFY_PROGRAM ? ask(notify, &frame) : -EBADMSG;
	return r < 0 ? r : 1;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct notify *notify = arg;
	int r = 1;

	for (int i = 0; i < TURN_MAX && r > 0; i++)
		r = read_frame(notify);
	if (r < 0)
		lose(notify);
}

struct notify *notify_new(struct loop *loop, struct plan *plan,
			  const struct exec_plan_config *config, void *arg, struct err *why)
{
	struct notify *notify = mem_new(sizeof(*notify));

	notify->loop = loop;
	notify->on_refused = config->on_refused;
	notify->on_program = config->on_program;
	notify->arg = arg;
	notify->listener = notify->told = -1;
	notify->helper = HELPER_NONE;
	notify->shared = mmap(NULL, sizeof(*notify->shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (notify->shared == MAP_FAILED)
		abort(); /* out of memory, as in base/mem */
	struct notify_process_config process = {
		.plan = plan,
		.shared = notify->shared,
		.tells_refused = config->on_refused != NULL,
		.judges_programs = config->on_program != NULL,
	};

	if (helper_start("sallyport-calls", notify_process_run, &process, &notify->helper, why) <
	    0) {
		notify_free(notify);
		return NULL;
	}
	event_assign(&notify->readable, loop_base(loop), notify->helper.socket,
		     EV_READ | EV_PERSIST, on_readable, notify);
	event_add(&notify->readable, NULL);
	return notify;
}

void notify_start(struct notify *notify, int listener, int told)
{
	const int fds[] = { listener, told };
	struct frame frame;

	notify->listener = listener;
	notify->told = told;
	(void)fd_set_nonblocking(told, true); /* cannot fail for an open socket */
	if (notify->is_lost) {
		serve_unseen(notify);
		return;
	}
	frame_begin(&frame, NOTIFY_START);
	if (frame_link_send_on(notify->helper.socket, &frame, fds, 2) < 0)
		lose_soon(notify);
	else
		loop_timer_start(notify->loop, &notify->watch, LOOK_MS, on_watch, notify);
}

int notify_answer(struct notify *notify, uint64_t id, bool is_allowed)
{
	struct frame frame;

	for (size_t i = 0; i < INTERCEPT_ASKED_MAX; i++) {
		struct question *question = &notify->questions[i];

		if (!question->is_open || question->id != id)
			continue;
		question->is_open = false;
		frame_begin(&frame, NOTIFY_ANSWER);
		frame_put_u64(&frame, id);
		frame_put_u8(&frame, is_allowed);
		if (frame_link_send_on(notify->helper.socket, &frame, NULL, 0) < 0)
			lose_soon(notify);
		return 0;
	}
	return -ENOENT;
}

struct exec_origin notify_origin(const struct notify *notify, int status)
{
	if (notify->is_lost)
		return (struct exec_origin){ 0 };
	return failure_origin(&notify->shared->failure, status);
}

uint64_t notify_end(struct notify *notify)
{
	int r = 1;

	notify->has_ended = true;
	/* All frames were sent before the command could end. */
	for (int i = 0; i < EXEC_EVIDENCE_MAX + INTERCEPT_ASKED_MAX && r > 0 && !notify->is_lost;
	     i++)
		r = read_frame(notify);
	return __atomic_load_n(&notify->shared->refused, __ATOMIC_SEQ_CST);
}

void notify_free(struct notify *notify)
{
	if (!notify)
		return;
	loop_timer_stop(&notify->watch);
	loop_timer_stop(&notify->losing);
	if (notify->helper.pid > 0)
		event_del(&notify->readable);
	else if (notify->is_lost && notify->listener >= 0)
		event_del(&notify->unseen);
	helper_end(notify->loop, &notify->helper);
	fd_close(notify->listener);
	fd_close(notify->told);
	(void)munmap(notify->shared, sizeof(*notify->shared));
	free(notify->words);
	free(notify);
}
