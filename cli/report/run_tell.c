#include "cli/report/run_tell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/report/run_mask.h"

static enum run_tell_ci find_ci(void)
{
	const char *github = getenv("GITHUB_ACTIONS"), *gitlab = getenv("GITLAB_CI");

	if (github && strcmp(github, "true") == 0)
		return RUN_TELL_GITHUB;
	return gitlab && strcmp(gitlab, "true") == 0 ? RUN_TELL_GITLAB : RUN_TELL_PLAIN;
}

bool run_tell_is_ci(void)
{
	return find_ci() != RUN_TELL_PLAIN;
}

/* GitLab folds what is between these lines, and finds it by this name. */
static void print_section(const char *what, const char *run, const char *title)
{
	(void)fprintf(stderr, "\x1b[0Ksection_%s:%" PRId64 ":sallyport_%s\r\x1b[0K%s\n", what,
		      (int64_t)time(NULL), run, title);
}

void run_tell_begin(struct run_tell *tell, const char *run)
{
	*tell = (struct run_tell){ .ci = find_ci() };
	if (tell->ci == RUN_TELL_GITLAB)
		print_section("start", run, "Sallyport: what was refused");
}

/* A workflow command: https://docs.github.com/actions, "Workflow commands". Printable text needs
 * one escape only. */
static void print_command(const char *command, const char *text)
{
	(void)fprintf(stderr, "::%s title=Sallyport::", command);
	for (; *text; text++) {
		if (*text == '%')
			(void)fputs("%25", stderr);
		else
			(void)fputc(*text, stderr);
	}
	(void)fputc('\n', stderr);
}

void run_tell_say(struct run_tell *tell, enum run_tell_level level, const char *text)
{
	static const char *const commands[] = {
		[RUN_TELL_NOTE] = "notice",
		[RUN_TELL_WARNING] = "warning",
		[RUN_TELL_ERROR] = "error",
	};

	auto_free char *masked = tell->ci == RUN_TELL_PLAIN ? NULL : run_mask(text);

	if (masked)
		text = masked;
	if (tell->ci == RUN_TELL_GITHUB) {
		print_command(commands[level], text);
		mem_append_list(&tell->kept, mem_strdup(text));
	} else if (tell->ci == RUN_TELL_GITLAB && level == RUN_TELL_ERROR) {
		(void)fprintf(stderr, "\x1b[31msallyport: %s\x1b[0m\n", text);
	} else {
		(void)fprintf(stderr, "sallyport: %s\n", text);
	}
}

/* As text of Markdown that means nothing but itself. */
static void write_escaped(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("&<>", *text))
			(void)fprintf(out, "&#%d;", *text);
		else if (strchr("\\`*_{}[]()#+-.!|~:@", *text))
			(void)fprintf(out, "\\%c", *text);
		else
			(void)fputc(*text, out);
	}
}

static int write_summary(const struct run_tell *tell, const char *path, const char *run)
{
	auto_close int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	auto_free char *text = NULL;
	size_t len = 0;

	if (fd < 0)
		return -errno;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory, as in base/mem */
	(void)fprintf(out, "### Sallyport: run %s\n\n", run);
	for (char *const *line = tell->kept; *line; line++) {
		(void)fputs("- ", out);
		write_escaped(out, *line);
		(void)fputc('\n', out);
	}
	(void)fputc('\n', out);
	(void)fclose(out);
	return fd_write_all(fd, text, len);
}

void run_tell_end(struct run_tell *tell, const char *run)
{
	const char *path = getenv("GITHUB_STEP_SUMMARY");

	if (tell->ci == RUN_TELL_GITLAB)
		print_section("end", run, "");
	if (tell->kept && path && path[0]) {
		int r = write_summary(tell, path, run);

		if (r < 0)
			(void)cli_fail(0, "cannot write the summary of this step to %s: %s", path,
				       strerror(-r));
	}
	mem_free_list(tell->kept);
	tell->kept = NULL;
}
