#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
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
#include "cli/session_holder.h"

#define FIRST_FD    3 /* behind stderr */
#define NAME_BYTES  3
#define RETRY_MS    20
#define WHEN_MAX    32
#define COLUMN_NAME 16

static const struct timespec retry = { .tv_nsec = RETRY_MS * 1000000L };

static const char help[] =
	"usage: sallyport session start [options] [NAME]\n"
	"       sallyport session list [--json]\n"
	"       sallyport session end NAME\n"
	"\n"
	"A session is a gate that several runs share: `sallyport run --join NAME -- COMMAND` in "
	"two\n"
	"terminals and an editor has one policy, one set of questions, and one set of answers.\n"
	"\n"
	"  start   start one, and print its name\n"
	"  list    those that there are\n"
	"  end     deny what waits, end the runs, forget the answers\n"
	"\n"
	"`sallyport session start --help` says more; the manual is sallyport-session(1).\n";

/* A reader of what whoever started it writes must see the end of that. Two are kept. */
static int close_others(int one, int other)
{
	unsigned int low = (unsigned int)(one < other ? one : other);
	unsigned int high = (unsigned int)(one < other ? other : one);

	if ((low > FIRST_FD && close_range(FIRST_FD, low - 1, 0) < 0) ||
	    (high > low + 1 && close_range(low + 1, high - 1, 0) < 0) ||
	    close_range(high + 1, ~0U, 0) < 0)
		return cli_fail(CLI_ERROR, "cannot close what was inherited: %s", strerror(errno));
	return CLI_OK;
}

static int hold(struct session_start *start, struct session_place *place, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid(); /* fails only for a group leader, which a fresh child is not */
	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return cli_fail(CLI_ERROR, "there is no /dev/null");
	int status = close_others(ready, place->dir_fd);

	return status == CLI_OK ? session_holder_run(start, place, ready) : status;
}

/* By the child's word, or by its end. An exit status. */
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
				 : cli_fail(CLI_ERROR, "the session died as it began");
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

		(void)fflush(NULL); /* what it had to say is on its way already */
		_exit(status);
	}
	fd_close(ends[1]);
	int status = child < 0 ? cli_fail(CLI_ERROR, "cannot start a process: %s", strerror(errno))
			       : wait_for(ends[0], child);

	fd_close(ends[0]);
	return status;
}

/* Whoever holds it may be about to listen, or about to be over. */
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
		(void)nanosleep(&retry, NULL); /* cut short is as good */
	}
	return cli_fail(CLI_ERROR, "%s", why.text);
}

static int make_name(char out[NAME_BYTES * 2 + 1])
{
	uint8_t bytes[NAME_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return cli_fail(CLI_ERROR, "no random numbers");
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

static int command_start(int argc, char **argv)
{
	struct session_start start;
	struct session_place place = SESSION_NOWHERE;
	char name[NAME_BYTES * 2 + 1] = "";
	struct err why = { 0 };
	int status = session_options_parse(&start, argc, argv);

	if (status > 0) {
		session_options_free(&start);
		return status - 1;
	}
	status = start.name ? CLI_OK : make_name(name);
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

/* Lines that move nothing on a terminal: they are visible already where they come from. */
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
		     of && of[0] ? "  with the grants of " : "", of ? of : "");
	/* Each on a line of its own, below. */
	if (errors && errors[0])
		(void)puts(
			"  its policy changed and has errors; the last good one stays in force:");
	while (errors && errors[0]) {
		size_t len = strcspn(errors, "\n");

		(void)printf("    %.*s\n", (int)len, errors);
		errors += len + (errors[len] == '\n');
	}
}

/* One that does not answer is named, and the others are listed. */
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
			(void)json_array_append_new(all, describe(*name, &state)); /* OOM only */
		else if (r != -ENOENT)
			status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	session_place_done(&place);
	return status;
}

/* Before or behind the operands, which begin at optind then. 0, or as session_options_parse().
 * @ret_is_json: NULL: there is no --json. */
static int take_options(int argc, char **argv, bool *ret_is_json)
{
	static const struct option known[] = { { "json", no_argument, NULL, 'j' },
					       { "help", no_argument, NULL, 'h' },
					       { 0 } };

	opterr = 0;
	optind = 0;
	for (int option; (option = getopt_long(argc, argv, "h", ret_is_json ? known : known + 1,
					       NULL)) != -1;) {
		if (option == 'h') {
			(void)fputs(help, stdout);
			return CLI_OK + 1;
		}
		if (option != 'j')
			return cli_usage_error("session", CLI_USAGE, "no such option of %s: %s",
					       argv[0], argv[optind - 1]) +
			       1;
		*ret_is_json = true;
	}
	return 0;
}

static int command_list(int argc, char **argv)
{
	bool is_json = false;
	int status = take_options(argc, argv, &is_json);

	if (status > 0)
		return status - 1;
	if (optind < argc)
		return cli_usage_error("session", CLI_USAGE, "list takes --json, and nothing else");
	json_t *all = json_array();

	status = list_all(all);

	if (is_json) {
		(void)json_dumpf(all, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else if (json_array_size(all) == 0 && status == CLI_OK) {
		(void)puts("there is no session");
	}
	for (size_t i = 0; !is_json && i < json_array_size(all); i++)
		print_line(json_array_get(all, i));
	json_decref(all);
	if (fflush(stdout) == EOF)
		return cli_fail(CLI_ERROR, "cannot write the list");
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
		return cli_fail(CLI_ERROR, "session %s hung up", place->name);
	/* It says nothing more, and is over when the lock is free. */
	(void)frame_link_receive_on(fd, &frame, fds, &count);
	for (int64_t waited = 0; waited < SESSION_WAIT_MS; waited += RETRY_MS) {
		if (session_place_holder(place) == 0)
			return CLI_OK;
		(void)nanosleep(&retry, NULL); /* cut short is as good */
	}
	return cli_fail(CLI_ERROR, "session %s does not end; its process is %d", place->name,
			(int)session_place_holder(place));
}

static int command_end(int argc, char **argv)
{
	struct session_place place;
	struct err why = { 0 };
	int status = take_options(argc, argv, NULL);

	if (status > 0)
		return status - 1;
	if (optind + 1 != argc || !session_place_is_name(argv[optind]))
		return cli_usage_error("session", CLI_USAGE, "end which session?");
	status = session_place_open(argv[optind], &place, &why) < 0
			 ? cli_fail(CLI_ERROR, "%s", why.text)
			 : end_at(&place);

	session_place_done(&place);
	return status;
}

int cli_session(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} commands[] = { { "start", command_start },
			 { "list", command_list },
			 { "end", command_end } };
	bool is_help = argc >= 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0);

	if (is_help) {
		(void)fputs(help, stdout);
		return CLI_OK;
	}
	for (size_t i = 0; argc >= 2 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	}
	return cli_usage_error("session", CLI_USAGE, "start, list or end?");
}
