#include "cli/report/run_refused.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "exec/exec_place.h"
#include "policies/policies_protected.h"

#define SHOWN_MAX 160 /* bytes of a path */

/* Folders in the home with files that programs outside of the sandbox run or trust: no line
 * recommends to open them, because the command chooses what it is refused. */
static const char *const sensitive[] = {
	".ssh",    ".gnupg", ".aws",      ".kube",    ".docker",
	".config", ".local", ".netrc",    ".mozilla", ".password-store",
	".vscode", ".git",   ".bashrc.d", "bin",
};

/* Sockets at which the C library looks up users and hosts. */
static const char *const lookups[] = { "/run/nscd", "/var/run/nscd", "/run/systemd",
				       "/var/lib/sss" };

/* These have a folder for each program. */
static const char *const shared[] = { ".cache", ".config", ".local/share", ".local/state" };

static bool is_within(const char *path, const char *folder, size_t len)
{
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static const char *below_home(const char *path, const char *home)
{
	size_t len = home ? strlen(home) : 0;

	while (len > 1 && home[len - 1] == '/')
		len--;
	return len > 1 && is_within(path, home, len) && path[len] == '/' ? path + len + 1 : NULL;
}

/* The length of the name in the home that stands for all that a program keeps there. */
static size_t own_part(const char *rest)
{
	size_t from = 0;

	for (size_t i = 0; i < ARRAY_SIZE(shared); i++)
		if (is_within(rest, shared[i], strlen(shared[i])) && rest[strlen(shared[i])] == '/')
			from = strlen(shared[i]) + 1;
	return from + strcspn(rest + from, "/");
}

static bool is_lookup(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(lookups); i++)
		if (is_within(path, lookups[i], strlen(lookups[i])))
			return true;
	return false;
}

/* Does it run code later, such as a hook of git's? */
static bool is_protected(const char *path, const char *home)
{
	const char *const homes[] = { home, NULL };
	const struct policy_protection protection = { .homes = homes };

	return policy_protected_find(&protection, path, NULL);
}

static bool is_folder(const char *path)
{
	struct stat what;

	return exec_place_look(path, true, &what) == 0 && S_ISDIR(what.st_mode);
}

/* The folder that would have to be writable for @path to be created. Returned owned. */
static char *folder_of(const char *path, const char *home)
{
	const char *rest = below_home(path, home);
	size_t len = rest ? (size_t)(rest - path) + own_part(rest) : strlen(path);
	char *folder = mem_printf("%.*s", (int)len, path);

	for (char *slash; !rest && !is_folder(folder) && (slash = strrchr(folder, '/')) != NULL;) {
		slash[slash == folder ? 1 : 0] = '\0';
		if (slash == folder)
			break;
	}
	return folder;
}

static bool is_sensitive(const char *folder, const char *home)
{
	const char *rest = below_home(folder, home);

	if (!rest)
		return strcmp(folder, "/") == 0 || is_protected(folder, home);
	for (size_t i = 0; i < ARRAY_SIZE(sensitive); i++) {
		size_t len = strlen(sensitive[i]);

		/* What lies deeper, in .config/PROGRAM, is that program's. */
		if (is_within(rest, sensitive[i], len) && rest[len] == '\0')
			return true;
	}
	return is_within(rest, ".ssh", 4) || is_within(rest, ".gnupg", 6) ||
	       is_protected(folder, home);
}

static char *shown(const char *path, const char *home)
{
	const char *rest = below_home(path, home);
	auto_free char *text = rest ? mem_printf("~/%s", rest) : mem_strdup(path);
	char out[SHOWN_MAX];

	(void)text_visible(out, sizeof(out), text, strlen(text));
	return mem_strdup(out);
}

static char *line_of_write(const struct exec_evidence *evidence, const char *folder,
			   const char *home, const char *program)
{
	auto_free char *where = shown(folder, home);
	const char *rest = below_home(folder, home);
	struct stat what;
	bool is_there = exec_place_look(folder, true, &what) == 0;
	/* In the home itself. */
	bool is_file = !is_folder(folder) && strcmp(folder, evidence->path) == 0 &&
		       strncmp(evidence->call, "mkdir", 5) != 0;

	if (is_file && rest && rest[0] == '.')
		return mem_printf("read-only in this sandbox: %s (%s; --env HOME=FOLDER gives the "
				  "command another home)",
				  where, program);
	if (is_sensitive(folder, home))
		return mem_printf("read-only in this sandbox: %s (%s)", where, program);
	return mem_printf("read-only in this sandbox: %s (%s; %sallow with --write %s)", where,
			  program, is_there ? "" : "create it and ", where);
}

static char *line_of_network(const struct exec_evidence *evidence, const char *program)
{
	char where[SHOWN_MAX];

	(void)text_visible(where, sizeof(where), evidence->path, strlen(evidence->path));
	if (strncmp(evidence->call, "send", 4) == 0)
		return mem_printf(
			"%s sent UDP to %s; UDP leaves this sandbox only by SOCKS5, where "
			"a rule allows it (udp://)",
			program, where);
	return mem_printf("%s did not use the proxy: it tried to reach %s, and only the proxy "
			  "leads out of this sandbox; see PROGRAMS in sallyport-tools(7)",
			  program, where);
}

static struct run_refused_item item_of(const struct exec_evidence *evidence, const char *home)
{
	struct run_refused_item item = {
		.what = evidence->what,
		.is_minor = evidence->what == EXEC_REFUSED_SOCKET && is_lookup(evidence->path),
	};
	auto_free char *name = evidence->program[0] ? text_visible_dup(evidence->program)
						    : mem_strdup("a program");

	if (evidence->what == EXEC_REFUSED_WRITE) {
		item.key = folder_of(evidence->path, home);
		item.line = line_of_write(evidence, item.key, home, name);
	} else if (evidence->what == EXEC_REFUSED_NETWORK) {
		item.key = mem_strdup(name);
		item.line = line_of_network(evidence, name);
	} else {
		auto_free char *where = shown(evidence->path, home);

		item.key = mem_strdup(evidence->path);
		item.line = mem_printf("%s cannot connect to the host's socket %s (allow with a "
				       "line `socket %s` in a policy)",
				       name, where, where);
	}
	return item;
}

static bool is_known(const struct run_refused *refused, const struct run_refused_item *item)
{
	for (size_t i = 0; i < refused->count; i++)
		if (refused->items[i].what == item->what &&
		    strcmp(refused->items[i].key, item->key) == 0)
			return true;
	return false;
}

void run_refused_add(struct run_refused *refused, const struct exec_evidence *evidence,
		     const char *home)
{
	bool is_path =
		evidence->what == EXEC_REFUSED_WRITE || evidence->what == EXEC_REFUSED_SOCKET;

	if ((!is_path && evidence->what != EXEC_REFUSED_NETWORK) || evidence->path[0] == '\0')
		return;
	struct run_refused_item item = item_of(evidence, home);

	if (!is_known(refused, &item) && refused->count < RUN_REFUSED_MAX) {
		refused->items[refused->count++] = item;
		return;
	}
	refused->more += !is_known(refused, &item);
	free(item.key);
	free(item.line);
}

const char *run_refused_line(const struct run_refused *refused, bool has_failed, size_t index)
{
	for (size_t i = 0; i < refused->count; i++)
		if ((has_failed || !refused->items[i].is_minor) && index-- == 0)
			return refused->items[i].line;
	return NULL;
}

json_t *run_refused_json(const struct run_refused *refused, bool has_failed)
{
	json_t *list = json_array();
	const char *line;

	for (size_t i = 0; (line = run_refused_line(refused, has_failed, i)) != NULL; i++)
		json_array_append_new(list, json_string(line));
	return list;
}

void run_refused_done(struct run_refused *refused)
{
	for (size_t i = 0; i < refused->count; i++) {
		free(refused->items[i].key);
		free(refused->items[i].line);
	}
	*refused = (struct run_refused){ 0 };
}
