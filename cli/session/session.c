#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"
#include "cli/session/session_holder.h"
#include "cli/session/session_wire.h"

#define FIRST_FD    3 /* the first after stderr */
#define NAME_BYTES  3
#define RETRY_MS    20
#define WHEN_MAX    32
#define COLUMN_NAME 16

static const struct timespec retry = { .tv_nsec = RETRY_MS * 1000000L };

/* Closes inherited descriptors except these two: a process that reads the starter's output must see
 * EOF when the starter ends. */
static int close_others(int one, int other)
{
	unsigned int low = (unsigned int)(one < other ? one : other);
	unsigned int high = (unsigned int)(one < other ? other : one);

	if ((low > FIRST_FD && close_range(FIRST_FD, low - 1, 0) < 0) ||
	    (high > low + 1 && close_range(low + 1, high - 1, 0) < 0) ||
	    close_range(high + 1, ~0U, 0) < 0)
		return cli_fail(CLI_ERROR, "cannot close the inherited descriptors: %s",
				strerror(errno));
	return CLI_OK;
}

static int hold(struct session_start *start, struct session_place *place, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid(); /* fails only for a process group leader, which a new child is not */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return cli_fail(CLI_ERROR, "cannot open /dev/null");
	int status = close_others(ready, place->dir_fd);

	return status == CLI_OK ? session_holder_run(start, place, ready) : status;
}

/* Waits until the child has reported that it is ready, or has ended. An exit status. */
static int wait_for(int ready, pid_t child)
{
	char byte;
	int status = 0;
	ssize_t got;

	do
		got = read(ready, &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got == 1)
		return CLI_OK;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status)
				 : cli_fail(CLI_ERROR, "the session died while it was starting");
}

static int spawn(struct session_start *start, struct session_place *place)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cli_fail(CLI_ERROR, "cannot make a pipe: %s", strerror(errno));
	pid_t child = fork();

	if (child == 0) {
		fd_close(ends[0]);
		int status = hold(start, place, ends[1]);

		(void)fflush(NULL); /* its messages have been printed already */
		_exit(status);
	}
	fd_close(ends[1]);
	int status = child < 0 ? cli_fail(CLI_ERROR, "cannot start a process: %s", strerror(errno))
			       : wait_for(ends[0], child);

	fd_close(ends[0]);
	return status;
}

/* Another process holds the lock: it may be about to listen, or about to end. */
static int await_other(struct session_start *start, struct session_place *place)
{
	struct err why = { 0 };

	for (int64_t waited = 0; waited < SESSION_WAIT_MS; waited += RETRY_MS) {
		auto_close int fd = session_place_connect(place, &why);
		int status = fd >= 0 ? CLI_OK : CLI_DENIED;

		if (fd < 0 && session_place_holder(place) == 0)
			status = spawn(start, place);
		if (status != CLI_DENIED)
			return status;
		(void)nanosleep(&retry, NULL); /* a shorter wait does no harm */
	}
	return cli_fail(CLI_ERROR, "%s", why.text);
}

static int make_name(char out[NAME_BYTES * 2 + 1])
{
	uint8_t bytes[NAME_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return cli_fail(CLI_ERROR, "cannot make a name: the kernel gave no random numbers");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return CLI_OK;
}

static int start_at(struct session_start *start, struct session_place *place)
{
	int status;

	if (start->is_foreground)
		return session_holder_run(start, place, -1);
	status = spawn(start, place);
	if (status == CLI_DENIED && start->is_if_needed)
		status = await_other(start, place);
	if (status == CLI_OK)
		(void)printf("%s\n", place->name);
	return status;
}

int cli_session_start(const struct options *options)
{
	struct session_start start;
	struct session_place place = SESSION_NOWHERE;
	char name[NAME_BYTES * 2 + 1] = "";
	struct err why = { 0 };
	int status = session_options_take(&start, options);

	if (status == CLI_OK && !start.name)
		status = make_name(name);
	if (status == CLI_OK &&
	    session_place_open(start.name ? start.name : name, &place, &why) < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	if (status == CLI_OK)
		status = start_at(&start, &place);
	session_place_done(&place);
	session_options_free(&start);
	return status;
}

static const char *when(int64_t since_s, char out[WHEN_MAX])
{
	time_t seconds = (time_t)since_s;
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    strftime(out, WHEN_MAX, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		out[0] = '\0';
	return out;
}

/* Returns the lines of a text that is printable already, so that they cannot move the cursor. */
static char *visible_lines(const char *text)
{
	char *shown = mem_strdup(text);

	for (char *at = shown; *at; at++) {
		if (*at != '\n' && (*at < 0x20 || *at > 0x7e))
			*at = '?';
	}
	return shown;
}

static json_t *describe(const char *name, const struct session_state *state)
{
	auto_free char *cwd = text_visible_dup(state->cwd);
	auto_free char *errors = visible_lines(state->errors);
	char since[WHEN_MAX];

	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s}", "session", name, "run",
			 state->id, "since", when(state->since_s, since), "folder", cwd, "runs",
			 (json_int_t)state->runs, "questions", (json_int_t)state->questions,
			 "grants", (json_int_t)state->grants, "grants_of", state->grants_of,
			 "policy_errors", errors);
}

static void print_line(const json_t *session)
{
	static const char *const counts[] = { "runs", "questions", "grants" };

	(void)printf("%-*s", COLUMN_NAME, json_string_value(json_object_get(session, "session")));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		(void)printf("  %" JSON_INTEGER_FORMAT " %s",
			     json_integer_value(json_object_get(session, counts[i])), counts[i]);
	const char *of = json_string_value(json_object_get(session, "grants_of"));
	const char *errors = json_string_value(json_object_get(session, "policy_errors"));

	(void)printf("  since %s  %s%s%s\n", json_string_value(json_object_get(session, "since")),
		     json_string_value(json_object_get(session, "folder")),
		     of && of[0] ? "  with the answers of " : "", of ? of : "");
	/* Each error is on a line of its own, below. */
	if (errors && errors[0])
		(void)puts(
			"  its policy changed and has errors; the last good one stays in force:");
	while (errors && errors[0]) {
		size_t len = strcspn(errors, "\n");

		(void)printf("    %.*s\n", (int)len, errors);
		errors += len + (errors[len] == '\n');
	}
}

/* A session that does not answer is named, and the others are listed. */
static int list_all(json_t *all)
{
	struct session_place place;
	auto_free_list char **names = NULL;
	struct err why = { 0 };
	int status = CLI_OK;

	if (session_place_open("", &place, &why) < 0 ||
	    session_place_list(&place, &names, &why) < 0)
		status = cli_fail(CLI_ERROR, "%s", why.text);
	for (char **name = names; name && *name; name++) {
		struct session_state state = { 0 };

		free(place.name);
		place.name = mem_strdup(*name);
		int r = session_place_look(&place, &state, &why);

		if (r == 0)
			/* fails only without memory */
			(void)json_array_append_new(all, describe(*name, &state));
		else if (r != -ENOENT)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	session_place_done(&place);
	return status;
}

int cli_session_list(const struct options *options)
{
	bool is_json = options_has(options, OPT_JSON);
	json_t *all = json_array();

	int status = list_all(all);

	if (is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (json_array_size(all) == 0 && status == CLI_OK) {
		(void)puts("no session exists");
	}
	for (size_t i = 0; !is_json && i < json_array_size(all); i++)
		print_line(json_array_get(all, i));
	json_decref(all);
	return status;
}

static int end_at(const struct session_place *place)
{
	int fds[FD_PASS_MAX];
	size_t count = 0;
	struct frame frame;
	struct err why = { 0 };

	if (session_place_holder(place) == 0)
		return cli_fail(CLI_DENIED, "there is no session %s", place->name);
	auto_close int fd = session_place_connect(place, &why);

	if (fd < 0)
		return cli_fail(fd == -ENOENT ? CLI_DENIED : CLI_ERROR, "%s", why.text);
	if (session_wire_say(fd, SESSION_STOP) < 0)
		return cli_fail(CLI_ERROR, "session %s closed the connection", place->name);
	/* The holder sends nothing more; it has ended when the lock is free. */
	(void)frame_link_receive_on(fd, &frame, fds, &count);
	for (int64_t waited = 0; waited < SESSION_WAIT_MS; waited += RETRY_MS) {
		if (session_place_holder(place) == 0)
			return CLI_OK;
		(void)nanosleep(&retry, NULL); /* a shorter wait does no harm */
	}
	return cli_fail(CLI_ERROR, "session %s does not end; end its process, %d", place->name,
			(int)session_place_holder(place));
}

int cli_session_end(const struct options *options)
{
	const char *name = options->operands[0];
	struct session_place place;
	struct err why = { 0 };

	if (!session_place_is_name(name))
		return options_wrong(
			options->command,
			"this is not a session's name; use letters, digits, _, . and -");
	int status = session_place_open(name, &place, &why) < 0
			     ? cli_fail(CLI_ERROR, "%s", why.text)
			     : end_at(&place);

	session_place_done(&place);
	return status;
}

char **cli_session_names(void)
{
	struct session_place place;
	char **names = NULL;
	struct err why = { 0 };

	if (session_place_open("", &place, &why) == 0)
		(void)session_place_list(&place, &names, &why);
	session_place_done(&place);
	return names;
}
