#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/sandbox/env.h"
#include "exec/exec_process.h"
#include "exec/exec_sandbox.h"
#include "exec/sandbox/files.h"
#include "exec/sandbox/plan.h"
#include "exec/sandbox/plan_make.h"
#include "exec/run/wire.h"

#define COMMAND_MAX 4096

/* One line per step: a word, then its object, with control characters escaped. */
static void put(FILE *out, const char *what, const char *text)
{
	auto_free char *shown = text_visible_dup(text);

	(void)fprintf(out, "%-11s%s\n", what, shown); /* cannot fail: it is memory */
}

static void put_paths(FILE *out, const char *what, const struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		put(out, what, paths->list[i]);
}

/* The root, on which all the rest is mounted. */
static void put_root(FILE *out, const struct plan *plan)
{
	if (plan->flags & WIRE_EMPTY)
		put(out, "empty", "/");
	else if (!(plan->flags & WIRE_OPEN)) /* else it is in the list */
		put(out, "read-only", "/");
}

static void put_view(FILE *out, const struct plan *plan)
{
	put_root(out, plan);
	for (size_t i = 0; i < plan->links.count; i += 2) {
		auto_free char *link =
			mem_printf("%s -> %s", plan->links.list[i], plan->links.list[i + 1]);

		put(out, "link", link);
	}
	put_paths(out, "fresh", &plan->fresh);
	for (char **file = plan->files; *file; file += 2)
		put(out, "file", *file);
	for (size_t i = 0; i < plan->instead.count; i += 2) {
		auto_free char *file =
			mem_printf("%s <- %s", plan->instead.list[i + 1], plan->instead.list[i]);

		put(out, "file", file);
	}
	put(out, "fresh", "/dev");
	put(out, "fresh", "/proc");
	put_paths(out, "writable", &plan->writable);
	for (size_t i = 0; i < plan->cached.count; i += 2) {
		auto_free char *cache =
			mem_printf("%s <- %s", plan->cached.list[i], plan->cached.list[i + 1]);

		put(out, "cache", cache);
	}
	put_paths(out, "readable", &plan->readable);
	put_paths(out, "pinned", &plan->pins);
	put_paths(out, "hidden", &plan->hidden);
	put_paths(out, "read-only", &plan->read_only);
	put_paths(out, "absent", &plan->absent);
	put_paths(out, "missing", &plan->missing);
	put_paths(out, "warning", &plan->warnings);
	put_paths(out, "socket", &plan->sockets);
	put_paths(out, "reachable", &plan->open_sockets);
}

static void put_network(FILE *out, const struct plan *plan)
{
	if (plan->flags & WIRE_HOST_NETWORK)
		put(out, "network", "the host's network, without the gate");
	else
		(void)fprintf(out,
			      "proxy      http 127.0.0.1:%d\nproxy      socks5h 127.0.0.1:%d\n",
			      EXEC_HTTP_PORT, EXEC_SOCKS_PORT);
}

static void put_limits(FILE *out, const struct exec_limits *limits)
{
	const struct {
		const char *word;
		uint64_t value;
	} all[] = { { "processes", limits->processes },
		    { "memory", limits->memory },
		    { "tmp", limits->tmp },
		    { "files", limits->files } };

	(void)fputs("limits    ", out);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].value)
			(void)fprintf(out, " %s %" PRIu64, all[i].word, all[i].value);
	(void)fputc('\n', out);
}

static void put_plan(FILE *out, const struct plan *plan)
{
	static const char *const terminals[] = { "stdin", "stdout", "stderr" };
	bool is_confined = !(plan->flags & WIRE_UNCONFINED);

	put(out, "working-in", plan->cwd);
	put(out, "namespaces",
	    !is_confined                      ? "none (the command is not confined)"
	    : plan->flags & WIRE_HOST_NETWORK ? "user mount pid ipc uts cgroup"
					      : "user net mount pid ipc uts cgroup");
	if (is_confined)
		(void)fprintf(out, "ids        uid %u gid %u, the same as outside\n", plan->uid,
			      plan->gid);
	put_network(out, plan);
	if (is_confined)
		put_view(out, plan);
	for (unsigned int fd = 0; fd < ARRAY_SIZE(terminals); fd++)
		if (plan->flags & ((uint32_t)WIRE_TERMINAL_0 << fd))
			put(out, "pty", terminals[fd]);
	put(out, "drops",
	    is_confined ? "capabilities, new privileges, descriptors 3 and above"
			: "descriptors 3 and above");
	if (is_confined)
		put_limits(out, &plan->limits);
	if (is_confined)
		put(out, "filters", plan->flags & WIRE_OPEN ? "seccomp" : "Landlock, seccomp");
}

static void put_program(FILE *out, const struct plan *plan)
{
	auto_free char *shown = text_visible_dup(plan->program);

	(void)fprintf(out, "%-11s%s, device %" PRIu64 " inode %" PRIu64 "\n", "program", shown,
		      plan->device, plan->inode);
}

static void put_environment(FILE *out, const struct plan *plan)
{
	char *entry;

	for (size_t i = 0; (entry = env_injected(i, plan_env_kind(plan), plan->tmpdir)) != NULL;
	     i++) {
		put(out, "env", entry);
		free(entry);
	}
	for (char **file = plan->files; *file; file += 2) {
		auto_free char *variable = files_variable(*file);

		if (variable)
			put(out, "env", variable);
	}
}

char *exec_plan_text(const struct exec_plan_config *config, bool *ret_is_refused)
{
	struct err why = { 0 };
	char *text = NULL;
	size_t len = 0;
	int r = 0;
	struct exec_plan_config look = *config;

	look.is_look = true;
	struct plan *plan = plan_make(&look, &r, &why);
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory */
	if (plan) {
		auto_free char *command = text_command_line(config->argv, COMMAND_MAX);

		(void)fprintf(out, "%-11s%s\n", "command", command);
		if (plan->program)
			put_program(out, plan);
		if (config->sandbox) {
			auto_free char *sandbox = exec_sandbox_text(config->sandbox);

			(void)fputs(sandbox, out); /* cannot fail: it is memory */
		}
		put_plan(out, plan);
		put_environment(out, plan);
	} else {
		put(out, "refused", why.text);
	}
	if (ret_is_refused)
		*ret_is_refused = !plan;
	plan_free(plan);
	if (fclose(out) != 0)
		abort();
	return text;
}
