#include "cli/report/run_lock.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/egress_lock.h"
#include "cli/report/run_tell.h"
#include "gateway/gateway_tools.h"

#define NAME_DEFAULT "egress.lock"
#define SHOWN_MAX    50
#define FILE_MODE    0644 /* a file of the project, read by others */

static int read_lock(struct run_lock *lock)
{
	auto_free char *text = NULL, *shown = text_visible_dup(lock->name);
	struct err why = { 0 };
	size_t len = 0;
	int r = bundle_files_read(lock->name, EGRESS_LOCK_MAX_BYTES, &text, &len, &why);

	if (r == -ENOENT)
		return cli_fail(CLI_NO_SANDBOX,
				"there is no %s; write it with `--egress-lock record`, and review "
				"it",
				shown);
	if (r == 0 && egress_lock_parse(&lock->locked, text, len, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s:%s", shown, why.text);
	return r < 0 ? cli_fail(CLI_NO_SANDBOX, "%s", why.text) : CLI_OK;
}

int run_lock_open(struct run_lock *lock, enum run_lock_mode mode, const char *file)
{
	struct err why = { 0 };

	lock->mode = mode;
	lock->name = file ? file : NAME_DEFAULT;
	if (lock->mode == RUN_LOCK_NONE)
		return CLI_OK;
	egress_lock_init(&lock->locked);
	egress_lock_init(&lock->reached);
	if (lock->mode == RUN_LOCK_CHECK)
		return read_lock(lock);
	if (bundle_files_open(lock->name, &lock->place, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	return CLI_OK;
}

void run_lock_done(struct run_lock *lock)
{
	bundle_files_close(&lock->place);
	tally_done(&lock->locked, NULL);
	tally_done(&lock->reached, NULL);
	mem_free_list(lock->news);
	mem_free_list(lock->unused);
}

static void note_new(struct run_lock *lock, char *text)
{
	mem_append_list(&lock->news, text);
	lock->has_new = true;
}

/* The program is not known: it may be any of those that have a line for this destination, so the
 * widest of these lines applies. */
static struct egress_line *widest_line(void **rows, const struct egress_line *counted)
{
	const char *key = tally_key(counted);
	size_t len = (size_t)(egress_lock_program(key) - key);
	struct egress_line *found = NULL;

	for (; *rows; rows++) {
		struct egress_line *row = *rows;

		if (strncmp(tally_key(row), key, len) != 0 ||
		    egress_lock_program(tally_key(row)) != tally_key(row) + len)
			continue;
		row->is_used = true;
		if (!found || egress_lock_holds(row, counted))
			found = row;
	}
	return found;
}

/* The line for @counted: of its program, or the one for any program of its destination. */
static struct egress_line *find_limit(struct run_lock *lock, void **locked,
				      const struct egress_line *counted)
{
	const char *key = tally_key(counted), *program = egress_lock_program(key);
	auto_free char *any = mem_printf("%.*s-", (int)(program - key), key);
	struct egress_line *found = tally_find(&lock->locked, key);

	if (strcmp(key, any) == 0)
		return widest_line(locked, counted);
	return found ? found : tally_find(&lock->locked, any);
}

static void compare_line(struct run_lock *lock, void **locked, const struct egress_line *counted)
{
	struct egress_line *limit = find_limit(lock, locked, counted);
	auto_free char *text = egress_lock_line(counted);

	if (!limit) {
		note_new(lock, mem_printf("+ %s", text));
		return;
	}
	limit->is_used = true;
	if (egress_lock_holds(limit, counted))
		return;
	auto_free char *before = egress_lock_line(limit);

	note_new(lock, mem_printf("- %s", before));
	note_new(lock, mem_printf("+ %s", text));
}

static bool count_reached(struct run_lock *lock, const struct gateway *gw)
{
	const struct gateway_egress *egress;

	for (size_t i = 0; (egress = gateway_egress_at(gw, i)); i++)
		if (egress_lock_add(&lock->reached, egress) < 0)
			return false;
	return gateway_egress_is_whole(gw);
}

void run_lock_compare(struct run_lock *lock, const struct gateway *gw)
{
	if (lock->mode == RUN_LOCK_NONE)
		return;
	lock->is_compared = true;
	if (!count_reached(lock, gw))
		note_new(lock, mem_printf("the run reached more destinations, or by more "
					  "programs, than a lock can hold"));
	if (lock->mode != RUN_LOCK_CHECK)
		return;
	auto_free void **locked = tally_rows(&lock->locked);
	auto_free void **reached = tally_rows(&lock->reached);

	for (void **row = reached; *row; row++)
		compare_line(lock, locked, *row);
	for (void **row = locked; *row; row++) {
		auto_free char *text = egress_lock_line(*row);

		if (!((const struct egress_line *)*row)->is_used)
			mem_append_list(&lock->unused, mem_printf("- %s", text));
	}
}

int run_lock_write(const struct run_lock *lock, int status)
{
	struct err why = { 0 };

	if (lock->mode != RUN_LOCK_RECORD)
		return CLI_OK;
	auto_free char *shown = text_visible_dup(lock->name);

	if (lock->has_new)
		return cli_fail(CLI_NO_SANDBOX, "%s is not written: %s", shown, lock->news[0]);
	if (status != 0) {
		(void)cli_fail(0,
			       "%s is not written, because the run ends with %d: it may not "
			       "have reached everything",
			       shown, status);
		return CLI_OK;
	}
	auto_free char *text = egress_lock_text(&lock->reached);

	if (bundle_files_write(&lock->place, text, FILE_MODE, &why) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	(void)cli_fail(0, "%s is written; review its %zu line%s before you commit it", shown,
		       lock->reached.count, lock->reached.count == 1 ? "" : "s");
	return CLI_OK;
}

bool run_lock_has_any(const struct run_lock *lock)
{
	return lock->mode == RUN_LOCK_CHECK && (lock->news || lock->unused);
}

static void say_list(struct run_tell *tell, enum run_tell_level level, const char *head,
		     char *const *list)
{
	size_t count = mem_count_list(list);

	for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
		auto_free char *text = mem_printf("%s: %s", head, list[i]);

		run_tell_say(tell, level, text);
	}
	if (count <= SHOWN_MAX)
		return;
	auto_free char *text = mem_printf("%s: %zu more lines", head, count - SHOWN_MAX);

	run_tell_say(tell, level, text);
}

void run_lock_say(const struct run_lock *lock, struct run_tell *tell)
{
	if (!run_lock_has_any(lock))
		return;
	auto_free char *shown = text_visible_dup(lock->name);
	auto_free char *unused = mem_printf("%s, not used by this run", shown);

	say_list(tell, RUN_TELL_NOTE, unused, lock->unused);
	say_list(tell, RUN_TELL_ERROR, shown, lock->news);
}

static json_t *list_json(char *const *list)
{
	json_t *lines = json_array();

	for (; list && *list; list++)
		json_array_append_new(lines, json_string(*list));
	return lines;
}

json_t *run_lock_json(const struct run_lock *lock)
{
	if (!lock->is_compared || lock->mode != RUN_LOCK_CHECK)
		return NULL;
	auto_free char *shown = text_visible_dup(lock->name);

	return json_pack("{s:s, s:o, s:o}", "file", shown, "new", list_json(lock->news), "unused",
			 list_json(lock->unused));
}
