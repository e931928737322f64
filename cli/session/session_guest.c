/* One connection to a session: a client that asks for the state, or a run that joins. If a run
 * disconnects or sends a malformed frame, it is over: its command's requests are denied and its
 * worker is disconnected. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/session/session_holder.h"
#include "cli/session/session_wire.h"
#include "gateway/gateway.h"
#include "gateway/bundle/bundle.h"
#include "gateway/gateway_guests.h"

#define STATUS_KILLED (128 + SIGKILL)

enum guest_state {
	GUEST_NEW,     /* has not sent its greeting */
	GUEST_TALKING, /* has sent it */
	GUEST_JOINING, /* has got the terms */
	GUEST_RUNNING, /* its exec has begun */
	GUEST_ENDED,   /* its exec is over; its worker reports the rest */
	GUEST_OVER,    /* was told everything; must disconnect */
};

#define NOTES_MAX 1003 /* RUN_MADE_MAX, and one of each other kind */

struct session_guest {
	struct session_holder *holder;
	struct frame_link *link;
	enum guest_state state;
	unsigned int notes; /* received about its command */
	uint64_t exec;
	bool has_worker, awaits_worker; /* the second: another one, after a death */
	bool is_exec_over;              /* for the gateway */
	struct bundle *bundle;          /* unanswered questions; NULL: the run does not want them */
	struct gateway_trip *trips, others;
	size_t trip_count;
	struct loop_timer timer;
	LIST_ENTRY(session_guest) entry;
};

static struct gateway *gateway_of(const struct session_guest *guest)
{
	return guest->holder->gate.gateway;
}

static void end_exec(struct session_guest *guest, int status)
{
	if (guest->is_exec_over || guest->state < GUEST_RUNNING)
		return;
	guest->is_exec_over = true;
	gateway_exec_end(gateway_of(guest), guest->exec, status);
}

static void drop_trips(struct session_guest *guest)
{
	for (size_t i = 0; i < guest->trip_count; i++)
		gateway_trip_done(&guest->trips[i]);
	gateway_trip_done(&guest->others);
	free(take(guest->trips));
	guest->trip_count = 0;
}

static void guest_free(struct session_guest *guest)
{
	loop_timer_stop(&guest->timer);
	LIST_REMOVE(guest, entry);
	guest->holder->guest_count--;
	end_exec(guest, STATUS_KILLED);
	if (guest->has_worker)
		gateway_guest_drop(gateway_of(guest), guest->exec);
	frame_link_free(guest->link);
	bundle_free(guest->bundle);
	drop_trips(guest);
	free(guest);
}

static void guest_close(struct session_guest *guest)
{
	struct session_holder *holder = guest->holder;

	guest_free(guest);
	session_holder_changed(holder);
}

static void on_late(void *arg)
{
	guest_close(arg);
}

static void guest_send(struct session_guest *guest, const struct frame *frame, const int *fds,
		       size_t count)
{
	(void)frame_link_send(guest->link, frame, fds, count); /* a dead link reports itself */
}

static void guest_wait(struct session_guest *guest, int64_t ms)
{
	loop_timer_start(guest->holder->gate.loop, &guest->timer, ms, on_late, guest);
}

static void guest_kill(struct session_guest *guest, enum session_kill why)
{
	struct frame frame;

	frame_begin(&frame, SESSION_KILL);
	frame_put_u8(&frame, (uint8_t)why);
	guest_send(guest, &frame, NULL, 0);
}

static void guest_refuse(struct session_guest *guest, const char *words)
{
	struct frame frame;

	frame_begin(&frame, SESSION_REFUSED);
	frame_put_text(&frame, words);
	guest_send(guest, &frame, NULL, 0);
}

static void guest_over(struct session_guest *guest)
{
	struct frame frame;
	struct err why = { 0 };

	guest->state = GUEST_OVER;
	for (size_t i = 0; i < guest->trip_count; i++) {
		session_wire_put_trip(&frame, SESSION_TRIP, &guest->trips[i]);
		guest_send(guest, &frame, NULL, 0);
	}
	session_wire_put_trip(&frame, SESSION_OVER, &guest->others);
	int fd = guest->bundle ? session_bundle_pack(guest->bundle, &why) : -1;

	/* Without the file the run fails, as it must. */
	if (guest->bundle && fd < 0)
		log_warn("cannot hand the unanswered questions to their run: %s", why.text);
	guest_send(guest, &frame, &fd, fd >= 0);
	guest_wait(guest, SESSION_TALK_MS);
	session_holder_changed(guest->holder);
}

/* The strings of the copy belonged to the gateway. */
static void own_texts(struct gateway_trip *trip)
{
	trip->rule = mem_strdup_or_null(trip->rule);
	trip->because = mem_strdup_or_null(trip->because);
	trip->program = mem_strdup_or_null(trip->program);
	trip->request = mem_strdup_or_null(trip->request);
}

/* The run replaces it, or ends. It adds one note about it. */
static void guest_lost(struct session_guest *guest, bool is_hostile)
{
	struct frame frame;

	guest->awaits_worker = true;
	if (guest->notes > 0)
		guest->notes--;
	frame_begin(&frame, SESSION_LOST);
	frame_put_u8(&frame, is_hostile);
	guest_send(guest, &frame, NULL, 0);
}

static void on_worker_gone(const struct gateway_trip *trips, size_t count,
			   const struct gateway_trip *others, bool is_hostile, void *arg)
{
	struct session_guest *guest = arg;

	guest->has_worker = false;
	drop_trips(guest);
	guest->trips = mem_grow(guest->trips, count + 1, sizeof(*trips));
	guest->trip_count = count;
	guest->others = *others;
	if (count > 0)
		memcpy(guest->trips, trips, count * sizeof(*trips));
	for (size_t i = 0; i < count; i++)
		own_texts(&guest->trips[i]);
	own_texts(&guest->others);
	if (guest->state == GUEST_ENDED)
		guest_over(guest);
	else if (guest->state == GUEST_RUNNING)
		guest_lost(guest, is_hostile);
}

/* The worker does not answer: the counts it did not report are lost, but not its written records.
 */
static void on_worker_late(void *arg)
{
	struct session_guest *guest = arg;

	gateway_guest_drop(gateway_of(guest), guest->exec);
	guest->has_worker = false;
	guest_over(guest);
}

static int handle_hello(struct session_guest *guest, struct frame *frame)
{
	struct frame answer;
	struct err why = { 0 };

	if (guest->state != GUEST_NEW || frame->type != SESSION_HELLO)
		return -EBADMSG;
	/* Greets a client of another version, too: that client then reports the mismatch and
	 * disconnects. */
	session_wire_hello(&answer);
	guest_send(guest, &answer, NULL, 0);
	if (session_wire_check_hello(frame, &why) < 0)
		return -EPROTO;
	guest->state = GUEST_TALKING;
	return 0;
}

static int handle_join(struct session_guest *guest, const struct frame *frame)
{
	struct session_terms terms = { 0 };
	struct frame answer;
	struct err why = { 0 };
	int fds[SESSION_LISTS];

	/* May be asked again: the policy may have changed since the run read it. */
	if ((guest->state != GUEST_TALKING && guest->state != GUEST_JOINING) ||
	    !frame_is_whole(frame))
		return -EBADMSG;
	if (guest->holder->is_ending) {
		guest_refuse(guest, "the session is ending");
		return 0;
	}
	if (guest->exec == 0)
		guest->exec = ++guest->holder->last_exec;
	int r = session_holder_terms(guest->holder, guest->exec, &terms, &why);

	if (r == 0)
		r = session_wire_put_terms(&answer, &terms, fds, &why);
	if (r == 0) {
		guest->state = GUEST_JOINING;
		guest_wait(guest, SESSION_TALK_MS);
		guest_send(guest, &answer, fds, SESSION_LISTS);
	} else {
		guest_refuse(guest, why.text);
	}
	session_wire_free_terms(&terms);
	return 0;
}

static void guest_begin(struct session_guest *guest, const struct session_begin *begin)
{
	struct gateway *gw = gateway_of(guest);

	loop_timer_stop(&guest->timer);
	session_holder_add_writable(guest->holder, begin->writable);
	guest->state = GUEST_RUNNING;
	gateway_exec_begin(gw, guest->exec, begin->command);
	gateway_exec_set_argv(gw, guest->exec, (const char *const *)begin->argv);
	if (begin->wants_bundle)
		guest->bundle = bundle_new();
	gateway_guest_unattended(gw, guest->exec, guest->bundle, begin->is_impatient);
}

static int handle_begin(struct session_guest *guest, struct frame *frame, int *fds, size_t count)
{
	struct session_begin begin;
	struct err why = { 0 };
	int r = session_wire_get_begin(frame, fds, count, &begin, &why);

	if (r == 0 && guest->state != GUEST_JOINING)
		r = -EBADMSG;
	if (r == 0)
		guest_begin(guest, &begin);
	session_wire_free_begin(&begin);
	if (r < 0)
		return -EBADMSG;
	session_holder_changed(guest->holder);
	if (!guest->holder->is_ending)
		return 0;
	end_exec(guest, STATUS_KILLED);
	guest_kill(guest, SESSION_BY_END);
	return 0;
}

static int handle_worker(struct session_guest *guest, const struct frame *frame, int *fds,
			 size_t count)
{
	const struct gateway_guest served = {
		.exec = guest->exec,
		.image = guest->holder->gate.loaded.image,
		.on_gone = on_worker_gone,
		.arg = guest,
	};

	if (guest->state != GUEST_RUNNING || guest->has_worker || count != 1 ||
	    !frame_is_whole(frame))
		return -EBADMSG;
	if (guest->is_exec_over)
		return 0; /* was told to end already */
	guest->has_worker = true;
	guest->awaits_worker = false;
	if (gateway_guest_serve(gateway_of(guest), &served, fd_take(&fds[0])) == 0)
		return 0;
	guest->has_worker = false;
	guest_kill(guest, SESSION_BY_WORKER);
	return 0;
}

static int handle_way(struct session_guest *guest, const struct frame *frame, int *fds,
		      size_t count)
{
	int ways[FD_PASS_MAX];

	if (guest->state != GUEST_RUNNING || count == 0 || !frame_is_whole(frame))
		return -EBADMSG;
	if (guest->is_exec_over)
		return 0;
	for (size_t i = 0; i < count; i++)
		ways[i] = fd_take(&fds[i]);
	int r = gateway_open_way(gateway_of(guest), guest->exec, ways, count);

	/* The worker that follows gets them. */
	if (r < 0 && !(r == -EPIPE && guest->awaits_worker))
		guest_kill(guest, SESSION_BY_WORKER);
	return 0;
}

static int handle_program(const struct session_guest *guest, struct frame *frame)
{
	struct session_refused text;
	struct gateway_refused refused;

	if (guest->state != GUEST_RUNNING || session_wire_get_refused(frame, &text, &refused) < 0)
		return -EBADMSG;
	if (!guest->is_exec_over)
		gateway_exec_refused(gateway_of(guest), guest->exec, &refused);
	return 0;
}

static int handle_note(struct session_guest *guest, struct frame *frame)
{
	struct session_note note;

	if (guest->state != GUEST_RUNNING || session_wire_get_note(frame, &note) < 0)
		return -EBADMSG;
	/* A run sends no more notes than the report of its end has. */
	if (!guest->is_exec_over && guest->notes < NOTES_MAX) {
		guest->notes++;
		gateway_exec_note(gateway_of(guest), guest->exec, note.what, note.path, note.words);
	}
	return 0;
}

static int handle_ended(struct session_guest *guest, struct frame *frame)
{
	uint32_t status = frame_get_u32(frame);

	if (guest->state != GUEST_RUNNING || !frame_is_whole(frame))
		return -EBADMSG;
	end_exec(guest, (int)status);
	guest->state = GUEST_ENDED;
	if (!guest->has_worker) {
		guest_over(guest);
		return 0;
	}
	gateway_guest_finish(gateway_of(guest), guest->exec);
	loop_timer_start(guest->holder->gate.loop, &guest->timer, SESSION_FINISH_MS, on_worker_late,
			 guest);
	return 0;
}

static int handle_look(struct session_guest *guest, const struct frame *frame)
{
	struct session_state state;
	struct frame answer;

	if (guest->state != GUEST_TALKING || !frame_is_whole(frame))
		return -EBADMSG;
	session_holder_state(guest->holder, &state);
	session_wire_put_state(&answer, &state);
	guest_send(guest, &answer, NULL, 0);
	return 0;
}

static int handle_stop(const struct session_guest *guest, const struct frame *frame)
{
	if (guest->state != GUEST_TALKING || !frame_is_whole(frame))
		return -EBADMSG;
	session_holder_stop(guest->holder);
	return 0;
}

/* Descriptors that it keeps are removed from @fds. */
static int handle_frame(struct session_guest *guest, struct frame *frame, int *fds, size_t count)
{
	switch (guest->state == GUEST_NEW ? SESSION_HELLO : (enum session_frame)frame->type) {
	case SESSION_HELLO:
		return handle_hello(guest, frame);
	case SESSION_JOIN:
		return handle_join(guest, frame);
	case SESSION_BEGIN:
		return handle_begin(guest, frame, fds, count);
	case SESSION_WORKER:
		return handle_worker(guest, frame, fds, count);
	case SESSION_WAY:
		return handle_way(guest, frame, fds, count);
	case SESSION_PROGRAM:
		return handle_program(guest, frame);
	case SESSION_NOTE:
		return handle_note(guest, frame);
	case SESSION_ENDED:
		return handle_ended(guest, frame);
	case SESSION_LOOK:
		return handle_look(guest, frame);
	case SESSION_STOP:
		return handle_stop(guest, frame);
	case SESSION_TERMS:
	case SESSION_REFUSED:
	case SESSION_KILL:
	case SESSION_LOST:
	case SESSION_TRIP:
	case SESSION_OVER:
	case SESSION_STATE:
	default:
		return -EBADMSG;
	}
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct session_guest *guest = arg;
	int r = handle_frame(guest, frame, fds, count);

	fd_close_all(fds, count);
	if (r == 0)
		return;
	if (r != -EPROTO)
		log_warn("malformed frame from a run; closing its connection");
	guest_close(guest);
}

static void on_closed(void *arg)
{
	guest_close(arg);
}

void session_guest_admit(struct session_holder *holder, int socket)
{
	struct session_guest *guest = mem_new(sizeof(*guest));

	guest->holder = holder;
	guest->link = frame_link_new(holder->gate.loop, socket, on_frame, on_closed, guest);
	LIST_INSERT_HEAD(&holder->guests, guest, entry);
	holder->guest_count++;
	guest_wait(guest, SESSION_TALK_MS);
}

void session_guest_abort(const struct session_holder *holder, uint64_t exec)
{
	struct session_guest *guest;

	LIST_FOREACH (guest, &holder->guests, entry) {
		if (guest->state == GUEST_RUNNING && guest->exec == exec)
			guest_kill(guest, SESSION_BY_PERSON);
	}
}

void session_guest_end_all(struct session_holder *holder)
{
	struct session_guest *guest;

	LIST_FOREACH (guest, &holder->guests, entry) {
		if (guest->state != GUEST_RUNNING)
			continue;
		end_exec(guest, STATUS_KILLED);
		guest_kill(guest, SESSION_BY_END);
	}
}

void session_guest_free_all(struct session_holder *holder)
{
	while (!LIST_EMPTY(&holder->guests))
		guest_free(LIST_FIRST(&holder->guests));
}

unsigned int session_guest_runs(const struct session_holder *holder)
{
	const struct session_guest *guest;
	unsigned int count = 0;

	LIST_FOREACH (guest, &holder->guests, entry)
		count += guest->state == GUEST_RUNNING || guest->state == GUEST_ENDED;
	return count;
}
