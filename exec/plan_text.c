#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "exec/env.h"
#include "exec/exec.h"
#include "exec/exec_sandbox.h"
#include "exec/files.h"
#include "exec/plan.h"
#include "exec/wire.h"

#define COMMAND_MAX 4096

/* One step a line: a word, then what it is about, every byte of it made visible. */
static void put(FILE *out, const char *what, const char *text)
{
	auto_free char *shown = text_visible_dup(text);

	(void)fprintf(out, "%-11s%s\n", what, shown); /* to memory */
}

static void put_paths(FILE *out, const char *what, const struct paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		put(out, what, paths->list[i]);
}

/* Onto what all the rest is mounted. */
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
	put(out, "fresh", "/dev");
	put(out, "fresh", "/proc");
	put_paths(out, "writable", &plan->writable);
	put_paths(out, "readable", &plan->readable);
	put_paths(out, "pinned", &plan->pins);
	put_paths(out, "hidden", &plan->hidden);
	put_paths(out, "read-only", &plan->read_only);
	put_paths(out, "missing", &plan->missing);
	put_paths(out, "warning", &plan->warnings);
	put_paths(out, "socket", &plan->sockets);
	put_paths(out, "reachable", &plan->open_sockets);
}

static void put_network(FILE *out, const struct plan *plan)
{
	if (plan->flags & WIRE_HOST_NETWORK)
		put(out, "way-out", "the host's network, past the gate");
	else
		(void)fprintf(out,
			      "way-out    http 127.0.0.1:%d\nway-out    socks5h 127.0.0.1:%d\n",
			      EXEC_HTTP_PORT, EXEC_SOCKS_PORT);
}

static void put_plan(FILE *out, const struct plan *plan)
{
	static const char *const terminals[] = { "stdin", "stdout", "stderr" };
	bool is_confined = !(plan->flags & WIRE_UNCONFINED);

	put(out, "working-in", plan->cwd);
	put(out, "namespaces",
	    !is_confined                      ? "none: nothing confines it"
	    : plan->flags & WIRE_HOST_NETWORK ? "user mount pid ipc uts cgroup"
					      : "user net mount pid ipc uts cgroup");
	if (is_confined)
		(void)fprintf(out, "ids        uid %u gid %u, onto themselves\n", plan->uid,
			      plan->gid);
	put_network(out, plan);
	if (is_confined)
		put_view(out, plan);
	for (unsigned int fd = 0; fd < ARRAY_SIZE(terminals); fd++)
		if (plan->flags & ((uint32_t)WIRE_TERMINAL_0 << fd))
			put(out, "pty", terminals[fd]);
	put(out, "drops",
	    is_confined ? "capabilities, new privileges, descriptors from 3 on"
			: "descriptors from 3 on");
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

		put(out, "env", variable);
	}
}

char *exec_plan_text(const struct exec_plan_config *config)
{
	struct err why = { 0 };
	char *text = NULL;
	size_t len = 0;
	int r = 0;
	struct plan *plan = plan_new(config, &r, &why);
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

			(void)fputs(sandbox, out); /* to memory */
		}
		put_plan(out, plan);
		put_environment(out, plan);
	} else {
		put(out, "refused", why.text);
	}
	plan_free(plan);
	if (fclose(out) != 0)
		abort();
	return text;
}
