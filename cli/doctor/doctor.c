/* `sallyport doctor`: runs a command that does nothing in a real sandbox, and explains what came of
 * it: whether this machine can make one, which ways out its probe tried, and what is missing. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <linux/landlock.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"

#define SAID_MAX   16384 /* bytes of the run's result, and of its messages */
#define RESULT_FD  3     /* of the run; above standard error */
#define NAME_WIDTH 10

/* What the run wrote to one descriptor. */
struct said {
	int fd;
	char text[SAID_MAX + 1];
	size_t len;
};

struct trial {
	struct said result, messages;
	int status;    /* exit status; -1: a signal ended it */
	json_t *probe; /* borrowed from @json */
	json_t *json;  /* the run's result; NULL: there is none */
};

/* Replaces the child by a run. The folder is one that nobody works in: the machine is asked about,
 * and not this folder. */
static _Noreturn void become_run(const char *path, int result, int messages)
{
	char fd_option[16];

	(void)snprintf(fd_option, sizeof(fd_option), "--json=%d", RESULT_FD); /* fits */
	const char *const argv[] = { "sallyport", "run",      "--no-tty", "--default",
				     "deny",      "--report", "none",     fd_option,
				     "--",        "true",     NULL };

	/* Both ends lie above RESULT_FD, see below. */
	if (chdir("/") == 0 && dup2(result, RESULT_FD) >= 0 && dup2(messages, STDERR_FILENO) >= 0 &&
	    dup2(messages, STDOUT_FILENO) >= 0)
		(void)execv(path, (char *const *)(uintptr_t)argv);
	_exit(CLI_ERROR);
}

/* A pipe whose ends lie above RESULT_FD. 0 or -errno. */
static int open_pipe(int ret[2])
{
	int ends[2];
	int r = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ret[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, RESULT_FD + 1);
		if (ret[i] < 0)
			r = -errno;
		fd_close(ends[i]);
	}
	if (r < 0) {
		fd_close(ret[0]);
		fd_close(ret[1]);
	}
	return r;
}

/* More than SAID_MAX bytes are read, and dropped. True: the end. */
static bool hear(struct said *said)
{
	char bytes[4096];
	ssize_t n = read(said->fd, bytes, sizeof(bytes));
	size_t room = SAID_MAX - said->len;

	if (n < 0 && errno == EINTR)
		return false;
	if (n <= 0)
		return true;
	room = (size_t)n < room ? (size_t)n : room;
	memcpy(said->text + said->len, bytes, room);
	said->len += room;
	return false;
}

static void hear_all(struct trial *trial)
{
	struct said *const both[] = { &trial->result, &trial->messages };
	struct pollfd polls[] = { { .fd = trial->result.fd, .events = POLLIN },
				  { .fd = trial->messages.fd, .events = POLLIN } };

	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return;
		for (int i = 0; i < 2; i++)
			if (polls[i].fd >= 0 && polls[i].revents != 0 && hear(both[i]))
				polls[i].fd = -1;
	}
}

/* A run bounds its own set-up, and `true` ends, so this ends. */
static int try(struct trial *trial, struct err *why)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int result[2], messages[2], status = 0;
	int r = len > 0 ? open_pipe(result) : -errno;

	if (r < 0)
		return err_errno(why, -r, "cannot start a run");
	path[len] = '\0';
	r = open_pipe(messages);
	pid_t pid = r < 0 ? -1 : fork();

	if (pid == 0)
		become_run(path, result[1], messages[1]);
	if (r == 0 && pid < 0)
		r = -errno;
	fd_close(result[1]);
	if (r == 0) {
		fd_close(messages[1]);
		trial->result.fd = result[0];
		trial->messages.fd = messages[0];
		hear_all(trial);
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
		fd_close(messages[0]);
	}
	fd_close(result[0]);
	if (r < 0)
		return err_errno(why, -r, "cannot start a run");
	trial->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	trial->json = json_loadb(trial->result.text, trial->result.len, 0, NULL);
	trial->probe = json_object_get(trial->json, "probe");
	return 0;
}

/* The lines of the run, without the program's name. Each is about this machine, or about settings
 * that all runs meet. */
static json_t *notes_of(const struct trial *trial)
{
	static const char name[] = "sallyport: ";
	json_t *notes = json_array();
	const char *at = trial->messages.text;

	while (*at) {
		size_t len = strcspn(at, "\n");
		size_t skip = strncmp(at, name, strlen(name)) == 0 ? strlen(name) : 0;
		auto_free char *line = mem_strndup(at + skip, len - (len > skip ? skip : len));
		auto_free char *shown = text_visible_dup(line);

		if (shown[0])
			json_array_append_new(notes, json_string(shown));
		at += len + (at[len] == '\n');
	}
	return notes;
}

static int landlock_version(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

/* Owned. The run's result is a part of it. */
static json_t *finding_of(const struct trial *trial)
{
	struct utsname system;
	int landlock = landlock_version();
	const char *grade = json_string_value(json_object_get(trial->probe, "grade"));
	bool is_full = trial->status == 0 && grade && strcmp(grade, "full") == 0;

	(void)uname(&system); /* cannot fail */
	return json_pack("{s:s, s:s, s:s, s:i, s:b, s:i, s:O*, s:o}", "version", SALLYPORT_VERSION,
			 "kernel", system.release, "machine", system.machine, "landlock",
			 landlock > 0 ? landlock : 0, "holds", is_full, "exit_status",
			 trial->status, "probe", trial->probe, "notes", notes_of(trial));
}

static void print_check(bool is_good, const char *name, const char *text)
{
	const char *colour = !cli_may_colour(stdout) ? "" : is_good ? "\x1b[32m" : "\x1b[31m";

	(void)printf("  %s%-7s%s %-*s %s\n", colour, is_good ? "ok" : "problem",
		     colour[0] ? "\x1b[0m" : "", NAME_WIDTH, name, text);
}

static void print_probe(const json_t *probe)
{
	json_t *skipped = json_object_get(probe, "not_tried");
	size_t tried = json_array_size(json_object_get(probe, "tried"));
	auto_free char *text = mem_printf(
		"%zu ways out of the sandbox were tried, and none is open (%.1f ms)", tried,
		(double)json_integer_value(json_object_get(probe, "micros")) / 1000);

	print_check(true, "probe", text);
	for (void *at = json_object_iter(skipped); at; at = json_object_iter_next(skipped, at))
		(void)printf("          %-*s %s was not tried: %s\n", NAME_WIDTH, "",
			     json_object_iter_key(at),
			     json_string_value(json_object_iter_value(at)));
}

static void print_notes(const json_t *notes, const char *what)
{
	for (size_t i = 0; i < json_array_size(notes); i++)
		(void)printf("  %-7s %s\n", what, json_string_value(json_array_get(notes, i)));
}

static void print_finding(const struct trial *trial, const json_t *finding)
{
	const json_t *notes = json_object_get(finding, "notes");
	long long landlock = json_integer_value(json_object_get(finding, "landlock"));

	(void)printf("sallyport %s, Linux %s, %s\n\n", SALLYPORT_VERSION,
		     json_string_value(json_object_get(finding, "kernel")),
		     json_string_value(json_object_get(finding, "machine")));
	print_check(trial->status == 0, "sandbox",
		    trial->status == 0 ? "a command has run in it" : "no command can run:");
	if (trial->status != 0)
		print_notes(notes, "");
	if (trial->probe)
		print_probe(trial->probe);
	auto_free char *version = mem_printf("version %lld", landlock);

	print_check(landlock > 0, "landlock",
		    landlock > 0 ? version
				 : "the kernel does not have it, or it is switched off: add it to "
				   "lsm= in the kernel's command line");
	if (trial->status == 0) {
		print_notes(notes, "note");
		(void)printf("\nTo run a command in the sandbox, type:\n"
			     "  sallyport run -- COMMAND\n");
	} else {
		(void)printf("\nWhen you have done what the message says, type:\n"
			     "  sallyport doctor\n");
	}
}

static int finish(const struct trial *trial, const struct options *options, const json_t *finding)
{
	if (options_has(options, OPT_JSON)) {
		(void)json_dumpf(finding, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
		(void)putchar('\n');
	} else {
		print_finding(trial, finding);
	}
	if (fflush(stdout) != 0)
		return cli_fail(CLI_ERROR, "cannot write the result: %s", strerror(errno));
	if (trial->status != 0)
		return trial->status == CLI_NO_SANDBOX ? CLI_NO_SANDBOX : CLI_ERROR;
	return json_is_true(json_object_get(finding, "holds")) ? CLI_OK : CLI_DENIED;
}

int cli_doctor(const struct options *options)
{
	auto_free struct trial *trial = mem_new(sizeof(*trial));
	struct err why = { 0 };

	if (try(trial, &why) < 0)
		return cli_fail(CLI_ERROR, "%s", why.text);
	json_t *finding = finding_of(trial);
	int status = finish(trial, options, finding);

	json_decref(finding);
	json_decref(trial->json);
	return status;
}
