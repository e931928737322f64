/* `sallyport doctor`: runs a command that does nothing in a real sandbox, and explains what came of
 * it: whether this machine can make one, which ways out its probe tried, and what is missing. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/landlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/process/child.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/options.h"

#define SAID_MAX   (1U << 20) /* bytes of the result of a run, and of its messages */
#define RUN_S      60         /* for the whole run, which sets itself a time for each step */
#define NAME_WIDTH 10

struct trial {
	char *messages; /* owned */
	int status;     /* exit status; -1: a signal ended it, RUN_S at the latest */
	json_t *probe;  /* borrowed from @json */
	json_t *json;   /* the run's result; NULL: there is none */
};

/* Replaces the child by a run. The folder is one that nobody works in: the machine is asked about,
 * and not this folder. */
static _Noreturn void become_run(const char *path, int result, int messages)
{
	auto_free char *option = mem_printf("--json=%d", result);
	const char *const argv[] = { "sallyport", "run",      "--no-tty", "--default",
				     "deny",      "--report", "none",     option,
				     "--",        "true",     NULL };

	(void)alarm(RUN_S);
	if (chdir("/") == 0 && fcntl(result, F_SETFD, 0) == 0 &&
	    dup2(messages, STDERR_FILENO) >= 0 && dup2(messages, STDOUT_FILENO) >= 0)
		(void)execv(path, (char *const *)(uintptr_t)argv);
	_exit(CLI_ERROR);
}

/* From the beginning. 0 or -errno. */
static int read_whole(int file, char **ret, size_t *ret_len, struct err *why)
{
	return lseek(file, 0, SEEK_SET) < 0 ? err_errno(why, errno, "cannot read what a run said")
					    : fd_read_all(file, SAID_MAX, ret, ret_len, why);
}

static int try(struct trial *trial, struct err *why)
{
	auto_free char *path = child_own_path(), *text = NULL;
	auto_close int result = memfd_create("sallyport-result", MFD_CLOEXEC);
	auto_close int messages = memfd_create("sallyport-messages", MFD_CLOEXEC);
	pid_t pid = path && result >= 0 && messages >= 0 ? fork() : -1;
	int status = 0;
	size_t len;

	if (pid < 0)
		return err_errno(why, errno, "cannot start a run");
	if (pid == 0)
		become_run(path, result, messages);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	int r = read_whole(messages, &trial->messages, &len, why);

	if (r == 0)
		r = read_whole(result, &text, &len, why);
	if (r < 0)
		return r;
	trial->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	trial->json = json_loadb(text, len, 0, NULL);
	trial->probe = json_object_get(trial->json, "probe");
	return 0;
}

/* The lines of the run, without the program's name. Each is about this machine, or about settings
 * that all runs meet. */
static json_t *notes_of(const struct trial *trial)
{
	static const char name[] = "sallyport: ";
	json_t *notes = json_array();
	const char *at = trial->messages;

	while (*at) {
		size_t len = strcspn(at, "\n");
		size_t skip = strncmp(at, name, strlen(name)) == 0 ? strlen(name) : 0;
		auto_free char *line = mem_strndup(at + skip, len - (len > skip ? skip : len));
		auto_free char *shown = text_visible_dup(line);

		if (shown[0])
			json_array_append_new(notes, json_string(shown));
		at += len + (at[len] == '\n');
	}
	if (trial->status < 0)
		json_array_append_new(
			notes,
			json_string("a signal ended the run, or it took longer than a minute"));
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
	if (trial->status != 0)
		return trial->status == CLI_NO_SANDBOX ? CLI_NO_SANDBOX : CLI_ERROR;
	return json_is_true(json_object_get(finding, "holds")) ? CLI_OK : CLI_DENIED;
}

int cli_doctor(const struct options *options)
{
	struct trial trial = { 0 };
	struct err why = { 0 };
	json_t *finding = NULL;
	int status;

	if (try(&trial, &why) == 0) {
		finding = finding_of(&trial);
		status = finish(&trial, options, finding);
	} else {
		status = cli_fail(CLI_ERROR, "%s", why.text);
	}
	json_decref(finding);
	json_decref(trial.json);
	free(trial.messages);
	return status;
}
