#include "agent/command/look.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/command/confine.h"
#include "agent/command/refusal.h"
#include "agent/command/task.h"
#include "agent/command/task_exec.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "agent/session/tell.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "exec/exec.h"
#include "exec/exec_made.h"
#include "exec/exec_place.h"
#include "exec/orchestrator/orchestrator_request.h"
#include "gateway/gateway_note.h"
#include "policies/commands/commands.h"

#define LIMIT_MS   30000      /* enough for a million entries on a slow disk */
#define GONE_MS    5000       /* less than the client's commands have to end */
#define BYTES_MAX  (16 << 20) /* about a task */
#define SEEN_MAX   (64 << 20) /* all paths of a plan at their longest */
#define MADE_MAX   1000       /* records */
#define MADE_SHOWN 64

/* The letter that the process writes before each entry. */
enum {
	FOUND = 'f', /* about a task: a program that a word names, */
	WRITABLE = 'w',
	OURS = 'g',     /* a program that no command could have put or changed, */
	OWN_PATH = 'e', /* and the folders of PATH with only such ones, */
	SAW = 's',      /* before an exec: all that follows, or why it must not start, */
	MUST_NOT = 'n',
	MADE = 'm', /* after it */
	OPENABLE = 'o',
	OPENABLE_LISTABLE = 'd',
	UNKNOWN = 'u'
};

/* Writes into memory. */
void look_put(FILE *out, char kind, const char *key, const char *value)
{
	(void)fprintf(out, "%c%s%c%s%c", kind, key, '\0', value, '\0');
}

/* What was written by look_put(). */
struct entry {
	char kind;
	const char *key, *value;
};

/* False: there are no more. @at: begins as 0. */
static bool next_entry(const char *bytes, size_t len, size_t *at, struct entry *ret)
{
	if (*at >= len)
		return false;
	const char *key = bytes + *at + 1, *value = key + strlen(key) + 1;

	if (value >= bytes + len)
		return false;
	*ret = (struct entry){ bytes[*at], key, value };
	*at = (size_t)(value + strlen(value) + 1 - bytes);
	return true;
}

/* About a task, before it begins. */

struct task_looking {
	look_task_fn run;
	const struct task *task;
};

static void run_task(FILE *out, void *arg)
{
	const struct task_looking *looking = arg;

	looking->run(out, looking->task);
}

static void on_task(int result, const char *bytes, size_t len, void *arg)
{
	struct task *task = arg;
	struct aside *aside = take(task->look.aside);
	struct err why = { 0 };

	if (result == 0) {
		task->look.bytes = mem_new(len + 1);
		memcpy(task->look.bytes, bytes, len);
		task->look.len = len;
		result = task->look.then(task, &why);
	} else {
		result = err_set(&why, -EIO, "cannot examine the paths of the request: %s",
				 aside_words(result));
	}
	if (result < 0)
		task_refuse(task, result, why.text);
	aside_free(aside);
}

void look_task(struct task *task, look_task_fn run, int (*then)(struct task *task, struct err *why))
{
	struct task_looking looking = { run, task };
	const struct aside_config config = {
		.name = "sallyport-words",
		.run = run_task,
		.run_arg = &looking,
		.limit_ms = LIMIT_MS,
		.max_bytes = BYTES_MAX,
		.done = on_task,
		.arg = task,
	};

	task_add(task);
	task->look.then = then;
	task->look.aside = aside_start(task->session->agent->loop, &config);
}

const char *look_next(const struct task *task, char kind, size_t *at, const char **ret_value)
{
	struct entry entry;

	while (next_entry(task->look.bytes, task->look.len, at, &entry)) {
		*ret_value = entry.value;
		if (entry.kind == kind)
			return entry.key;
	}
	return NULL;
}

/* The last entry for the key: the latest state that was seen. */
static const char *find(const struct task *task, char kind, const char *key)
{
	const char *value, *found = NULL, *name;

	for (size_t at = 0; (name = look_next(task, kind, &at, &value)) != NULL;) {
		if (strcmp(name, key) == 0)
			found = value;
	}
	return found;
}

/* In the server: answers from what the process wrote. */
static int resolve_seen(const char *name, struct command_file *ret, void *arg)
{
	const char *value = find(arg, FOUND, name);
	struct command_file file = { 0 };
	int skipped = 0;

	if (!value ||
	    sscanf(value, "%" SCNu64 " %" SCNu64 " %n", &file.device, &file.inode, &skipped) != 2)
		return -ENOENT;
	(void)snprintf(file.path, sizeof(file.path), "%s", value + skipped);
	*ret = file;
	return 0;
}

static bool may_write_seen(const char *path, void *arg)
{
	return find(arg, WRITABLE, path) != NULL;
}

static bool may_be_theirs_seen(const char *name, void *arg)
{
	return find(arg, OURS, name) == NULL;
}

void look_world_init(struct task *task)
{
	task->look.world = (struct command_world){ .resolve = resolve_seen,
						   .may_write = may_write_seen,
						   .may_be_theirs = may_be_theirs_seen,
						   .arg = task };
}

const char *look_own_path(const struct task *task)
{
	const char *path = find(task, OWN_PATH, "");

	/* An empty PATH would be the command's working folder. */
	return path && path[0] ? path : "/dev/null";
}

/* In the process: looks at the file system, and writes down what it finds. */
struct looking {
	const struct command_world *world;
	FILE *out;
};

static int resolve(const char *name, struct command_file *ret, void *arg)
{
	const struct looking *looking = arg;
	int r = looking->world->resolve(name, ret, looking->world->arg);

	if (r < 0)
		return r;
	auto_free char *value =
		mem_printf("%" PRIu64 " %" PRIu64 " %s", ret->device, ret->inode, ret->path);

	look_put(looking->out, FOUND, name, value);
	return 0;
}

static bool may_write(const char *path, void *arg)
{
	const struct looking *looking = arg;
	bool may = looking->world->may_write(path, looking->world->arg);

	if (may)
		look_put(looking->out, WRITABLE, path, "");
	return may;
}

static bool may_be_theirs(const char *name, void *arg)
{
	const struct looking *looking = arg;
	const struct command_world *world = looking->world;
	bool may = world->may_be_theirs && world->may_be_theirs(name, world->arg);

	if (!may)
		look_put(looking->out, OURS, name, "");
	return may;
}

void look_words(FILE *out, const struct task *task)
{
	const struct agent_config *config = &task->session->agent->config;
	struct command_rules *none = command_rules_new();
	const struct command_rules *given = task->session->agent->rules;
	const struct command_rules *rules = given ? given : none;
	const char *const *argv = (const char *const *)task->argv;
	struct looking looking = { task->world, out };
	const struct command_world world = { .resolve = resolve,
					     .may_write = may_write,
					     .may_be_theirs = may_be_theirs,
					     .arg = &looking };
	struct command_pieces *pieces = command_pieces_new(argv);
	struct command_proposal proposal = { 0 };
	struct command_verdict verdict;
	struct command_file file;

	/* Resolves every name that the orchestrator may want to know. */
	command_rules_decide(rules, &world, argv, &verdict);
	if (verdict.is_unconfined)
		look_put(out, OWN_PATH, "", config->host->own_path(task->world, config->arg));
	command_proposal(rules, &world, argv, &proposal);
	for (size_t i = 0; i < command_pieces_count(pieces); i++) {
		const struct command_piece *piece = command_pieces_get(pieces, i);

		if (piece->argc > 0)
			(void)resolve(piece->argv[0], &file,
				      &looking); /* a missing file is a result */
	}
	command_pieces_free(pieces);
	command_rules_free(none);
}

/* About an exec, before it starts and after it has ended. */

static struct agent *agent_of(const struct task_exec *exec)
{
	return exec->task->session->agent;
}

static void start(struct task_exec *exec, aside_run_fn run, aside_done_fn done, int64_t limit_ms)
{
	const struct aside_config config = {
		.name = "sallyport-look",
		.run = run,
		.run_arg = exec,
		.limit_ms = limit_ms,
		.max_bytes = SEEN_MAX,
		.done = done,
		.arg = exec,
	};

	exec->look.aside = aside_start(agent_of(exec)->loop, &config);
}

/* Uses only what it is passed. */
static void run_before(FILE *out, void *arg)
{
	struct task_exec *exec = arg;
	const struct agent_config *config = &agent_of(exec)->config;
	auto_free_list char **writable = confine_writable(exec->sandbox);
	struct err why = { 0 };

	if (config->host->note_reach(writable, &why, config->arg) < 0) {
		(void)fprintf(out, "%c%s", MUST_NOT, why.text); /* into memory, as below */
		return;
	}
	auto_free_list char **theirs = config->host->reached(config->arg);

	(void)fputc(SAW, out);
	exec->plan.theirs = (const char *const *)theirs;
	exec_look(&exec->plan, out);
	exec->plan.theirs = NULL;
}

static void start_exec(struct task_exec *exec, const char *bytes, size_t len)
{
	exec->look.seen = mem_new(len + 1);
	memcpy(exec->look.seen, bytes, len);
	exec->plan.seen = (struct exec_seen){ exec->look.seen, len };
	exec->look.run(exec);
}

static void on_before(int result, const char *bytes, size_t len, void *arg)
{
	struct task_exec *exec = arg;
	struct aside *look = take(exec->look.aside); /* owns the bytes */

	if (result == 0 && bytes[0] == SAW) {
		start_exec(exec, bytes + 1, len - 1);
	} else {
		auto_free char *why =
			result == 0
				? mem_strdup(bytes + (len > 0))
				: mem_printf(
					  "cannot find the paths that the command must not see: %s",
					  aside_words(result));

		exec_refuse(exec->running, why);
	}
	aside_free(look);
}

void look_before(struct task_exec *exec, void (*run)(struct task_exec *exec))
{
	const struct agent_config *config = &agent_of(exec)->config;
	auto_free_list char **writable = confine_writable(exec->sandbox);

	exec->look.run = run;
	/* Now, not later: a policy that is read meanwhile must not lie there. */
	config->host->widen(writable, config->arg);
	start(exec, run_before, on_before, LIMIT_MS);
}

static void put_made(const char *path, const char *what, void *arg)
{
	look_put(arg, MADE, path, what);
}

static bool is_listable(const char *path)
{
	struct stat status;

	return exec_place_look(path, true, &status) == 0 &&
	       (S_ISDIR(status.st_mode) || S_ISREG(status.st_mode));
}

/* Writes, for each refused write, the path that would have to be opened for it. */
static void put_openable(FILE *out, const struct task_exec *exec)
{
	for (size_t i = 0; i < exec->refusals.count; i++) {
		const struct orchestrator_access *access = &exec->refusals.list[i].access;

		if (access->what != ORCHESTRATOR_WRITE_PATH)
			continue;
		auto_free char *path = confine_openable(access->name);
		auto_free char *index = mem_printf("%zu", i);

		look_put(out, is_listable(path) ? OPENABLE_LISTABLE : OPENABLE, index, path);
	}
}

static void run_after(FILE *out, void *arg)
{
	struct task_exec *exec = arg;
	struct err why = { 0 };

	if (!exec->has_settled)
		put_openable(out, exec);
	if (exec_made_since(&exec->plan.seen, &exec->plan, put_made, out, &why) < 0)
		look_put(out, UNKNOWN, why.text, "");
}

static void set_unknown(struct task_exec *exec, const char *why)
{
	free(exec->look.unknown);
	exec->look.unknown = mem_strdup(why);
}

static void add_made(struct task_exec *exec, const char *path, const char *what)
{
	if (path[0] == '\0') { /* about the search itself: it reached its limit */
		set_unknown(exec, what);
		return;
	}
	if (exec->look.made_count++ < MADE_MAX)
		gateway_exec_note(agent_of(exec)->gateway, exec->number, GATEWAY_MADE, path, what);
	if (!exec->look.made)
		exec->look.made = json_array();
	if (exec->look.made_count > MADE_SHOWN)
		return;
	json_t *shown = json_pack("{s:o, s:o}", "path", tell_text(path), "what", tell_text(what));

	(void)json_array_append_new(exec->look.made, shown); /* fails only without memory */
}

/* The orchestrator may read a refusal that it was told about, so that one is not changed. */
static void set_openable(struct task_exec *exec, const struct entry *entry)
{
	if (!exec->has_settled)
		refusal_set_path(&exec->refusals, strtoul(entry->key, NULL, 10), entry->value,
				 entry->kind == OPENABLE_LISTABLE);
}

static void read_after(struct task_exec *exec, const char *bytes, size_t len)
{
	struct entry entry;

	for (size_t at = 0; next_entry(bytes, len, &at, &entry);) {
		if (entry.kind == MADE)
			add_made(exec, entry.key, entry.value);
		else if (entry.kind == OPENABLE || entry.kind == OPENABLE_LISTABLE)
			set_openable(exec, &entry);
		else
			set_unknown(exec, entry.key);
	}
	if (!exec->has_settled)
		refusal_merge(&exec->refusals);
}

/* The events of the network are told before the end of the exec. */
static void end(const struct task_exec *exec)
{
	gateway_exec_end(agent_of(exec)->gateway, exec->number, exec->result.code);
}

static void on_after(int result, const char *bytes, size_t len, void *arg)
{
	struct task_exec *exec = arg;
	struct aside *look = take(exec->look.aside);

	if (result == 0)
		read_after(exec, bytes, len);
	else
		set_unknown(exec, aside_words(result));
	aside_free(look);
	end(exec);
}

static bool may_have_changed(const struct task_exec *exec)
{
	auto_free_list char **writable = confine_writable(exec->sandbox);

	return exec->look.seen && exec->result.raw.end != EXEC_PROCESS_NOT_STARTED &&
	       (writable[0] || exec->refusals.count > 0);
}

void look_after(struct task_exec *exec)
{
	aside_free(take(exec->look.aside)); /* it was stopped before it began */
	if (may_have_changed(exec))
		start(exec, run_after, on_after, agent_of(exec)->is_gone ? GONE_MS : LIMIT_MS);
	else
		end(exec);
}
