#include "tests/hostile/hostile.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* hostile CASE [ARGUMENT…]: tries one escape. One line: "held: …" (0), "ESCAPED: …" (1) or
 * "skipped: …" (77). */

static const struct hostile_case *const tables[] = {
	hostile_files, hostile_kernel, hostile_network, hostile_process, hostile_unix,
};

/* One thread, one case: the tally and where the verdict goes. */
static struct {
	unsigned int tries;
	int fd;
} verdict = { .fd = STDOUT_FILENO };

static _Noreturn void end(int status, const char *word, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));
static _Noreturn void end(int status, const char *word, const char *format, va_list args)
{
	char text[1024], line[1100];

	vsnprintf(text, sizeof(text), format, args);

	int len = snprintf(line, sizeof(line), "%s: %s\n", word, text);

	if (write(verdict.fd, line, (size_t)len) != len)
		_exit(2);
	_exit(status);
}

void hostile_escaped(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end(1, "ESCAPED", format, args);
}

void hostile_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end(77, "skipped", format, args);
}

static _Noreturn void all_held(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void all_held(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	end(0, "held", format, args);
}

void hostile_held(void)
{
	verdict.tries++;
}

void hostile_try(const char *what, long result)
{
	if (result >= 0)
		hostile_escaped("%s worked", what);
	hostile_held();
}

void hostile_try_error(const char *what, long result, int error)
{
	int got = errno;

	if (result >= 0)
		hostile_escaped("%s worked", what);
	if (got != error)
		hostile_escaped("%s failed only by chance: %s", what, strerror(got));
	hostile_held();
}

void hostile_speak_on_stderr(void)
{
	verdict.fd = STDERR_FILENO;
}

int hostile_in_child(void (*fn)(void *arg), void *arg)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		fn(arg);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		hostile_skip("no child process: %s", strerror(errno));
	return status;
}

/* Some of these attempts would be harmful on a host. */
static void must_be_inside(void)
{
	struct utsname name;

	if (uname(&name) < 0 || strcmp(name.nodename, "localhost") != 0 ||
	    getenv("SALLYPORT_ACTIVE") == NULL) {
		fprintf(stderr, "hostile: this is not the sandbox\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: hostile CASE [ARGUMENT...]\n");
		return 2;
	}
	must_be_inside();
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		for (const struct hostile_case *at = tables[i]; at->name != NULL; at++) {
			if (strcmp(at->name, argv[1]) != 0)
				continue;
			at->run(argv + 2);
			if (verdict.tries == 0)
				hostile_escaped("%s tried nothing", at->name);
			all_held("%s, %u tries", at->name, verdict.tries);
		}
	}
	fprintf(stderr, "hostile: there is no case %s\n", argv[1]);
	return 2;
}
