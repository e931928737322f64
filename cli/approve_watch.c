#include "cli/approve_watch.h"

#include <errno.h>
#include <event2/buffer.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/approve_screen.h"
#include "cli/cli.h"

#define WATCH_INPUT_MAX    65536
#define WATCH_NOTIFY_BYTES 4096

void approve_watch_print(json_t *event)
{
	(void)json_dumpf(event, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)putchar('\n');
	(void)fflush(stdout); /* a reader that went away ends us by SIGPIPE */
}

static void watch_hint(const struct watch *watch, const char *id)
{
	if (!watch->is_prompting)
		return;

	auto_free char *shown = approve_text_shown(id);
	(void)printf("  answer    y %s   y once, e this command, s session, a always;\n"
		     "            n, E, S, D the same to deny; q abort; behind the id a width,\n"
		     "            such as --domain --for 1h, and --words TEXT\n",
		     shown);
}

static void watch_print_text(struct watch_link *link, const json_t *event)
{
	const json_t *question = json_object_get(event, "question");
	const char *kind = approve_text_member(event, "event");
	auto_free char *id = approve_text_shown(approve_text_member(question, "id"));
	auto_free char *how = approve_text_shown(approve_text_member(event, "how"));
	auto_free char *session = approve_text_shown(approve_text_member(event, "session"));

	if (strcmp(kind, "run_began") == 0) {
		(void)printf("watching run %s, session %s\n", link->run, session);
	} else if (strcmp(kind, "run_ended") == 0) {
		(void)printf("run %s is over\n", link->run);
	} else if (strcmp(kind, "asked") == 0) {
		(void)putchar('\n');
		approve_text_question(stdout, question);
		watch_hint(link->watch, approve_text_member(question, "id"));
	} else if (strcmp(kind, "changed") == 0) {
		(void)printf("%s  %lld connections wait\n", id,
			     (long long)json_integer_value(json_object_get(question, "waiting")));
	} else if (strcmp(kind, "retracted") == 0) {
		approve_watch_lines_settled(link->watch, link, approve_text_member(question, "id"));
		(void)printf("%s  %s\n", id, how);
	}
	(void)fflush(stdout);
}

void approve_watch_event(struct watch_link *link, json_t *message)
{
	(void)json_object_set_new(message, "run", json_string(link->run)); /* OOM only */
	if (link->watch->screen)
		approve_screen_event(link->watch->screen, link, message);
	else if (link->watch->is_json)
		approve_watch_print(message);
	else
		watch_print_text(link, message);
}

void approve_watch_previewed(struct watch_link *link, const struct approve_answer *answer,
			     unsigned int tag, const json_t *reply)
{
	if (link->watch->screen)
		approve_screen_previewed(link->watch->screen, answer, tag, reply);
	else
		approve_watch_lines_previewed(link->watch, answer, tag, reply);
}

void approve_watch_replied(struct watch_link *link, const struct approve_answer *answer,
			   json_t *reply)
{
	bool is_ok = json_is_true(json_object_get(reply, "ok"));
	auto_free char *error = approve_text_shown(approve_text_member(reply, "error"));

	if (link->watch->screen)
		return approve_screen_replied(link->watch->screen, answer, reply);
	if (link->watch->is_json) {
		(void)json_object_del(reply, "id"); /* ours, not the reader's */
		(void)json_object_set_new(reply, "event", json_string("answered"));
		(void)json_object_set_new(reply, "question", json_pack("{s:s}", "id", answer->id));
		return approve_watch_event(link, reply);
	}
	/* What became of it when it was taken, the retraction says to every watcher alike. */
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

static bool watch_has(const struct watch *watch, const char *run)
{
	for (size_t i = 0; i < watch->link_count; i++) {
		if (strcmp(watch->links[i]->run, run) == 0)
			return true;
	}
	return false;
}

/* It is busy, or over: that is the end where there is only this one. */
static void watch_missed(struct watch *watch, const char *run)
{
	auto_free char *name = mem_printf("%s.sock", run);

	if (watch->only && faccessat(watch->dir_fd, name, F_OK, 0) < 0)
		loop_stop(watch->loop);
	watch_scan_later(watch); /* also when it does not loop yet */
}

static void watch_scan(void *arg)
{
	struct watch *watch = arg;
	auto_free_list char **runs = NULL;

	if (!watch->only && approve_dir_runs(watch->dir_fd, NULL, &runs, NULL) < 0)
		return watch_scan_later(watch);
	for (char **run = watch->only ? watch->only : runs;
	     *run && watch->link_count < WATCH_LINKS_MAX; run++) {
		struct watch_link *link =
			watch_has(watch, *run) ? NULL : approve_watch_link_new(watch, *run);

		if (link)
			watch->links[watch->link_count++] = link;
		else if (!watch_has(watch, *run))
			watch_missed(watch, *run);
	}
}

/* A gate that turned us away is not asked again until something moves in the directory. */
void approve_watch_lost(struct watch_link *link, const char *why)
{
	struct watch *watch = link->watch;
	json_t *event = json_pack("{s:s}", "event", "run_ended");

	if (why[0] != '\0' && watch->screen) {
		auto_free char *text = mem_printf("run %s: %s", link->run, why);

		approve_screen_say(watch->screen, text);
	} else if (why[0] != '\0') {
		(void)cli_fail(0, "run %s: %s", link->run, why);
	}
	if (link->is_greeted) {
		approve_watch_event(link, event);
		watch_scan_later(watch);
	}
	json_decref(event);
	approve_watch_lines_settled(watch, link, NULL);
	for (size_t i = 0; i < watch->link_count; i++) {
		if (watch->links[i] == link)
			watch->links[i] = watch->links[--watch->link_count];
	}
	if (watch->screen)
		approve_screen_lost(watch->screen, link);
	approve_watch_link_free(link);
	if (watch->only)
		loop_stop(watch->loop); /* its session is over */
}

static void watch_noticed(evutil_socket_t fd, short what, void *arg)
{
	char events[WATCH_NOTIFY_BYTES];

	while (read(fd, events, sizeof(events)) > 0)
		; /* which name does not matter: all are looked at */
	watch_scan(arg);
}

static void watch_input(evutil_socket_t fd, short what, void *arg)
{
	struct watch *watch = arg;
	char *line;

	if (watch->screen) {
		if (!approve_screen_keys_read(watch->screen))
			loop_stop(watch->loop);
		return;
	}
	int got = evbuffer_read(watch->input, fd, WATCH_INPUT_MAX);

	/* The end of the answers is not the end of the questions: somebody else may answer those.
	 */
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

/* A file or /dev/null cannot be waited for (epoll_ctl(2), EPERM), and holds no answers. */
static bool watch_can_wait(int fd)
{
	struct stat what;

	if (fstat(fd, &what) < 0)
		return false;
	return S_ISFIFO(what.st_mode) || S_ISSOCK(what.st_mode) || isatty(fd);
}

static int watch_open(struct watch *watch, struct err *why)
{
	int r;

	watch->loop = loop_new();
	watch->input = evbuffer_new();
	watch->is_prompting = !watch->is_json && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	/* The file first: from now on gates wait for us a little, and the scan below finds them. Of
	 * one session there is nothing to be found. */
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
	if (watch_can_wait(STDIN_FILENO) &&
	    watch_add(watch, &watch->input_event, STDIN_FILENO, EV_READ, watch_input) < 0)
		return err_set(why, -EIO, "cannot read answers from standard input");
	if (!watch->is_prompting || watch->is_plain || approve_screen_check() < 0)
		return 0;
	watch->screen = approve_screen_new(watch, why);
	return watch->screen ? 0 : -ENOTTY;
}

static void watch_done(struct watch *watch)
{
	struct event *events[] = { watch->notify_event, watch->input_event, watch->signal_events[0],
				   watch->signal_events[1] };

	approve_screen_free(watch->screen);
	for (size_t i = 0; i < watch->link_count; i++)
		approve_watch_link_free(watch->links[i]);
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

int approve_watch(int dir_fd, const struct approve_options *options)
{
	struct watch watch = {
		.dir_fd = dir_fd,
		.lock_fd = -1,
		.notify_fd = -1,
		.is_json = options->is_json,
		.is_plain = options->is_plain,
	};
	struct err why = { 0 };
	int status = CLI_OK;
	int r = options->session ? approve_dir_runs(dir_fd, options->session, &watch.only, &why)
				 : 0;

	if (r < 0)
		return approve_dir_fail(r, &why);

	(void)signal(SIGTTIN,
		     SIG_IGN); /* in the background nothing is typed, and watching goes on */
	if (watch_open(&watch, &why) < 0) {
		status = cli_fail(CLI_ERROR, "%s", why.text);
	} else {
		watch_scan(&watch);
		if (watch.is_prompting && !watch.screen && watch.link_count == 0)
			(void)printf("no sallyport run yet; waiting for one\n");
		(void)fflush(stdout);
		if (loop_run(watch.loop) < 0)
			status = cli_fail(CLI_ERROR, "the event loop failed");
	}
	watch_done(&watch);
	return status;
}
