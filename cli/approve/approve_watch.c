#include "cli/approve/approve_watch.h"

#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "gateway/gateway_far.h"

#define WATCH_INPUT_MAX    65536
#define WATCH_NOTIFY_BYTES 4096

void approve_watch_print(json_t *event)
{
	(void)json_dumpf(event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)putchar('\n');
	(void)fflush(stdout); /* SIGPIPE ends us if the reader has gone */
}

static void watch_hint(const struct watch *watch, const char *id)
{
	if (!watch->is_prompting)
		return;

	auto_free char *shown = text_visible_once(id);
	(void)printf("  answer    y %s   y allows once, e for this command, s for the session,\n   "
		     "         a always; n, E, S and D deny likewise; q aborts. Options may\n      "
		     "      follow the id, such as --domain --for 1h and --words TEXT\n",
		     shown);
}

static void watch_print_text(struct watch *watch, const struct far_link *link, const json_t *event)
{
	const json_t *question = json_object_get(event, "question");
	const char *kind = approve_text_member(event, "event");
	auto_free char *id = text_visible_once(approve_text_member(question, "id"));
	auto_free char *how = text_visible_once(approve_text_member(event, "how"));
	auto_free char *session = text_visible_once(approve_text_member(event, "session"));

	if (strcmp(kind, "run_began") == 0) {
		(void)printf("watching run %s, session %s\n", far_link_run(link), session);
	} else if (strcmp(kind, "run_ended") == 0) {
		(void)printf("run %s has ended\n", far_link_run(link));
	} else if (strcmp(kind, "asked") == 0 || strcmp(kind, "agent_asked") == 0) {
		(void)putchar('\n');
		approve_text_question(stdout, question);
		watch_hint(watch, approve_text_member(question, "id"));
	} else if (strcmp(kind, "changed") == 0) {
		(void)printf("%s  %lld connections wait\n", id,
			     (long long)json_integer_value(json_object_get(question, "waiting")));
	} else if (strcmp(kind, "retracted") == 0) {
		approve_watch_lines_settled(watch, link, approve_text_member(question, "id"));
		(void)printf("%s  %s\n", id, how);
	}
	(void)fflush(stdout);
}

static void watch_event(struct watch *watch, const struct far_link *link, json_t *message)
{
	(void)json_object_set_new(message, "run",
				  json_string(far_link_run(link))); /* fails only without memory */
	if (watch->is_json)
		approve_watch_print(message);
	else
		watch_print_text(watch, link, message);
}

/* Takes @event. */
static void watch_event_new(struct watch *watch, const struct far_link *link, json_t *event)
{
	watch_event(watch, link, event);
	json_decref(event);
}

static bool watch_heard(struct far_link *link, json_t *message, void *arg)
{
	const json_t *questions = json_object_get(message, "questions");
	const json_t *of_agents = json_object_get(message, "agent_questions");

	if (json_object_get(message, "sallyport")) {
		watch_event_new(arg, link,
				json_pack("{s:s, s:s, s:s}", "event", "run_began", "run",
					  far_link_run(link), "session",
					  approve_text_member(message, "session")));
	} else if (json_object_get(message, "event")) {
		watch_event(arg, link, message);
	} else { /* the reply to `watch`: the questions that are open already */
		for (size_t i = 0; i < json_array_size(questions); i++)
			watch_event_new(arg, link,
					json_pack("{s:s, s:O}", "event", "asked", "question",
						  json_array_get(questions, i)));
		for (size_t i = 0; i < json_array_size(of_agents); i++)
			watch_event_new(arg, link,
					json_pack("{s:s, s:O}", "event", "agent_asked", "question",
						  json_array_get(of_agents, i)));
	}
	return true;
}

static void watch_replied(struct far_link *link, const void *of, json_t *reply, void *arg)
{
	struct watch *watch = arg;
	const struct watch_request *request = of;
	const struct approve_answer *answer = &request->answer;
	bool is_ok = json_is_true(json_object_get(reply, "ok"));
	auto_free char *error = text_visible_once(approve_text_member(reply, "error"));

	if (!reply)
		return; /* the end of the run is reported */
	if (request->tag > 0)
		return approve_watch_lines_previewed(watch, request, reply);
	if (watch->is_json) {
		(void)json_object_del(reply, "id"); /* our own number, of no use to the reader */
		(void)json_object_set_new(reply, "event", json_string("answered"));
		(void)json_object_set_new(reply, "question", json_pack("{s:s}", "id", answer->id));
		return watch_event(watch, link, reply);
	}
	/* If the answer was accepted, the retraction reports the result to every watcher. */
	if (!is_ok)
		(void)printf("%s  not answered: %s\n", answer->id, error);
	(void)fflush(stdout);
}

static void watch_scan(void *arg);

static void watch_scan_later(struct watch *watch)
{
	if (!watch->rescan.is_armed)
		loop_timer_start(watch->loop, &watch->rescan, WATCH_RESCAN_MS, watch_scan, watch);
}

/* A gate that rejected us is not tried again until the directory changes. */
static void watch_lost(struct far_link *link, const char *why, void *arg)
{
	struct watch *watch = arg;

	if (why[0] != '\0')
		(void)cli_fail(0, "run %s: %s", far_link_run(link), why);
	if (far_link_is_greeted(link)) {
		watch_event_new(watch, link, json_pack("{s:s}", "event", "run_ended"));
		watch_scan_later(watch);
	}
	approve_watch_lines_settled(watch, link, NULL);
	for (size_t i = 0; i < watch->link_count; i++) {
		if (watch->links[i] == link)
			watch->links[i] = watch->links[--watch->link_count];
	}
	far_link_free(link);
	if (watch->only)
		loop_stop(watch->loop); /* its session has ended */
}

static const struct far_link_calls link_calls = {
	.heard = watch_heard,
	.replied = watch_replied,
	.closed = watch_lost,
};

/* A run that is shown on the screen has ended. */
static void watch_far_lost(bool is_greeted, void *arg)
{
	struct watch *watch = arg;

	if (is_greeted)
		watch_scan_later(watch);
	if (watch->only)
		loop_stop(watch->loop); /* its session has ended */
}

static void watch_far_left(void *arg)
{
	loop_stop(((struct watch *)arg)->loop);
}

static const struct gateway_far_watch far_watch = { watch_far_lost, watch_far_left };

static bool watch_has(const struct watch *watch, const char *run)
{
	if (watch->far)
		return gateway_far_has(watch->far, run);
	for (size_t i = 0; i < watch->link_count; i++) {
		if (strcmp(far_link_run(watch->links[i]), run) == 0)
			return true;
	}
	return false;
}

/* The gate is busy, or has ended: if only this one is watched, the watch ends. */
static void watch_missed(struct watch *watch, const char *run)
{
	auto_free char *name = mem_printf("%s.sock", run);

	if (watch->only && faccessat(watch->dir_fd, name, F_OK, 0) < 0)
		loop_stop(watch->loop);
	watch_scan_later(watch); /* also before the loop runs */
}

/* Connected to the gate of @run, after the request `watch`; -1: it has ended, or is busy. */
static int watch_connect(const struct watch *watch, const char *run)
{
	static const char request[] = "{\"op\":\"watch\",\"id\":1}\n";
	const ssize_t len = sizeof(request) - 1;
	auto_close int fd = approve_dir_connect(watch->dir_fd, run, 0, NULL);

	if (fd < 0 || send(fd, request, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		return -1;
	return fd_take(&fd);
}

/* False: not possible now. */
static bool watch_take(struct watch *watch, const char *run)
{
	struct far_link_config config = { .run = run, .heard = "" };

	if (!watch->far && watch->link_count == WATCH_LINKS_MAX)
		return false;
	config.socket = watch_connect(watch, run);
	if (config.socket < 0)
		return false;
	if (watch->far)
		return gateway_far_add(watch->far, run, config.socket, "", NULL) == 0;
	struct far_link *link = far_link_new(watch->loop, &config, &link_calls, watch, NULL);

	if (link)
		watch->links[watch->link_count++] = link;
	return link != NULL;
}

static void watch_scan(void *arg)
{
	struct watch *watch = arg;
	auto_free_list char **runs = NULL;

	if (!watch->only && approve_dir_runs(watch->dir_fd, NULL, &runs, NULL) < 0)
		return watch_scan_later(watch);
	for (char **run = watch->only ? watch->only : runs; *run; run++) {
		if (!watch_has(watch, *run) && !watch_take(watch, *run))
			watch_missed(watch, *run);
	}
}

static void watch_noticed(evutil_socket_t fd, short what, void *arg)
{
	char events[WATCH_NOTIFY_BYTES];

	while (read(fd, events, sizeof(events)) > 0)
		; /* the name does not matter: all runs are checked */
	watch_scan(arg);
}

static void watch_input(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;
	char *line;

	int got = evbuffer_read(watch->input, fd, WATCH_INPUT_MAX);

	/* At EOF on the answers the watch goes on: the questions may be answered elsewhere. */
	if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
		event_del(watch->input_event);
	while ((line = evbuffer_readln(watch->input, NULL, EVBUFFER_EOL_LF))) {
		approve_watch_lines_take(watch, line);
		free(line);
	}
	if (evbuffer_get_length(watch->input) > WATCH_INPUT_MAX)
		evbuffer_drain(watch->input, evbuffer_get_length(watch->input));
}

static void watch_signalled(evutil_socket_t signal, short what, void *arg)
{
	loop_stop(((struct watch *)arg)->loop);
}

static int watch_open_notify(struct watch *watch, struct err *why)
{
	auto_free char *path = mem_printf("/proc/self/fd/%d", watch->dir_fd);

	watch->notify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (watch->notify_fd < 0 ||
	    inotify_add_watch(watch->notify_fd, path, IN_CREATE | IN_MOVED_TO | IN_ONLYDIR) < 0)
		return err_errno(why, errno, "cannot watch the control directory");
	return 0;
}

static int watch_add(struct watch *watch, struct event **ret_event, int fd, short what,
		     event_callback_fn fn)
{
	*ret_event = event_new(loop_base(watch->loop), fd, what | EV_PERSIST, fn, watch);
	return *ret_event ? event_add(*ret_event, NULL) : -1;
}

/* A file or /dev/null cannot be polled (epoll_ctl(2), EPERM), and contains no answers. */
static bool watch_can_wait(int fd)
{
	struct stat what;

	if (fstat(fd, &what) < 0)
		return false;
	return S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode) || isatty(fd);
}

/* Are standard input and output one terminal with a movable cursor? */
static bool watch_has_screen(void)
{
	const char *term = getenv("TERM");
	struct stat in, out;

	return term && strcmp(term, "dumb") != 0 && fstat(STDIN_FILENO, &in) == 0 &&
	       fstat(STDOUT_FILENO, &out) == 0 && in.st_rdev == out.st_rdev;
}

static int watch_open_screen(struct watch *watch, struct err *why)
{
	const struct gateway_far_config config = {
		.terminal = &watch->terminal,
		.may_always = true, /* a gateway without a policy file says so */
		.watch = &far_watch,
		.arg = watch,
	};

	watch->terminal = (struct gateway_terminal){ .fd = STDIN_FILENO };
	watch->far = gateway_far_new(watch->loop, &config, why);
	return watch->far ? 0 : -ENOTTY;
}

static int watch_open(struct watch *watch, struct err *why)
{
	int r;

	watch->loop = loop_new();
	watch->input = evbuffer_new();
	watch->is_prompting = !watch->is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* The lock file comes first: from now on gates wait a little for a watcher, and the scan
	 * below finds those that exist. A watch of one session needs no scan. */
	if (!watch->only)
		watch->lock_fd = approve_lock_take(watch->dir_fd, why);
	if (!watch->only && watch->lock_fd < 0)
		return watch->lock_fd;
	r = watch_open_notify(watch, why);
	if (r < 0)
		return r;
	if (!watch->input ||
	    watch_add(watch, &watch->notify_event, watch->notify_fd, EV_READ, watch_noticed) < 0 ||
	    watch_add(watch, &watch->signal_events[0], SIGINT, EV_SIGNAL, watch_signalled) < 0 ||
	    watch_add(watch, &watch->signal_events[1], SIGTERM, EV_SIGNAL, watch_signalled) < 0)
		return err_set(why, -ENOMEM, "cannot watch");
	if (watch->is_prompting && !watch->is_plain && watch_has_screen())
		return watch_open_screen(watch, why);
	if (watch_can_wait(STDIN_FILENO) &&
	    watch_add(watch, &watch->input_event, STDIN_FILENO, EV_READ, watch_input) < 0)
		return err_set(why, -EIO, "cannot read answers from standard input");
	return 0;
}

static void watch_done(struct watch *watch)
{
	struct event *events[] = { watch->notify_event, watch->input_event, watch->signal_events[0],
				   watch->signal_events[1] };

	gateway_far_free(watch->far);
	for (size_t i = 0; i < watch->link_count; i++)
		far_link_free(watch->links[i]);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		if (events[i])
			event_free(events[i]);
	}
	loop_timer_stop(&watch->rescan);
	if (watch->input)
		evbuffer_free(watch->input);
	fd_close(watch->notify_fd);
	approve_lock_drop(watch->dir_fd, watch->lock_fd);
	mem_free_list(watch->only);
	loop_free(watch->loop);
}

int approve_watch(int dir_fd, const struct options *options)
{
	struct watch watch = {
		.dir_fd = dir_fd,
		.lock_fd = -1,
		.notify_fd = -1,
		.is_json = options_has(options, OPT_JSON),
		.is_plain = options_has(options, OPT_PLAIN),
	};
	struct err why = { 0 };
	int status = CLI_OK;
	const char *session = options_get(options, OPT_OF_SESSION);
	int r = session ? approve_dir_runs(dir_fd, session, &watch.only, &why) : 0;

	if (r < 0)
		return approve_dir_fail(r, &why);

	(void)signal(SIGTTIN, SIG_IGN); /* in the background: watch without input */
	if (watch_open(&watch, &why) < 0) {
		status = cli_fail(CLI_ERROR, "%s", why.text);
	} else {
		watch_scan(&watch);
		if (watch.is_prompting && !watch.far && watch.link_count == 0)
			(void)printf("no sallyport run is active; waiting for one\n");
		(void)fflush(stdout);
		if (loop_run(watch.loop) < 0)
			status = cli_fail(CLI_ERROR, "the event loop failed");
	}
	watch_done(&watch);
	return status;
}
