#include "cli/audit/ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/history.h"
#include "cli/audit/store/store.h"
#include "cli/cli.h"
#include "gateway/gateway_audit.h"
#include "gateway/gateway_tools.h"

static void ask_note(const char *text)
{
	auto_free char *shown = text_visible_dup(text);

	(void)cli_fail(0, "%s", shown);
}

static enum store_verdict ask_verdict(const struct gateway_logged *record)
{
	if (strcmp(record->event, "decision") != 0)
		return STORE_NO_VERDICT;
	if (strcmp(record->action, "allow") == 0)
		return STORE_ALLOW;
	enum policy_reason reason = history_reason(record->reason);

	if (policy_reason_is_failure(reason))
		return STORE_FAILED;
	return history_is_unanswered(reason) ? STORE_UNANSWERED : STORE_DENY;
}

/* The index has only what is in the log, so the records of killed runs are put there first. */
static void ask_merge(const char *log, const char *dir)
{
	unsigned int live, killed;
	struct err why = { 0 };

	if (!dir || access(log, F_OK) < 0)
		return;
	gateway_audit_left(log, dir, &live, &killed);
	if (killed > 0 && gateway_audit_merge(log, dir, &why) < 0) {
		auto_free char *text = mem_printf("%s; the records of %u killed run%s are left out",
						  why.text, killed, killed == 1 ? "" : "s");

		ask_note(text);
	}
	if (live > 0)
		(void)cli_fail(0,
			       "%u run%s still active; the newest records of active runs may be "
			       "missing here",
			       live, live == 1 ? " is" : "s are");
}

static void ask_on_bad(uint64_t line, const char *words, void *arg)
{
	const struct selection *selection = arg;
	auto_free char *path = text_visible_dup(selection->path);

	(void)cli_fail(0, "%s:%" PRIu64 ": %s; it is left out", path, line, words);
}

static int ask_last(struct selection *selection, struct store *store, struct err *why)
{
	auto_free char *run = NULL;
	int r = selection->is_last ? store_last_run(store, &run, why) : 0;

	if (r < 0 || !selection->is_last)
		return r;
	if (!run)
		return err_set(why, -ENOENT, "%s contains no run", selection->path);
	(void)snprintf(selection->run, sizeof(selection->run), "%s", run);
	return 0;
}

static int ask_bad(struct selection *selection, struct store *store, struct err *why)
{
	int r = store_bad(store, ask_on_bad, selection, &selection->skipped, why);

	if (r == 0 && selection->skipped > STORE_BAD_MAX)
		(void)cli_fail(0, "%" PRIu64 " more lines are not audit records",
			       selection->skipped - STORE_BAD_MAX);
	return r;
}

static int ask_answer(struct store *store, ask_fn question, void *arg, struct err *why)
{
	char *answer = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&answer, &len);
	int r = !out ? err_set(why, -ENOMEM, "the answer does not fit in memory")
		     : question(store, out, arg, why);

	if (out && fclose(out) != 0 && r >= 0)
		r = err_set(why, -ENOMEM, "the answer does not fit in memory");
	if (r >= 0 && (fwrite(answer, 1, len, stdout) != len || fflush(stdout) != 0))
		r = err_errno(why, errno, "cannot write the answer");
	free(answer);
	return r;
}

/* Its exit status, or -errno. */
static int ask_once(struct selection *selection, struct store *store, ask_fn question, void *arg,
		    struct err *why)
{
	int r = ask_bad(selection, store, why);

	if (r == 0)
		r = ask_last(selection, store, why);
	if (r == 0)
		r = ask_answer(store, question, arg, why);
	return r == CLI_OK && selection->skipped > 0 ? CLI_DENIED : r;
}

int ask(struct selection *selection, ask_fn question, void *arg, bool may_repeat)
{
	auto_free char *dir = cli_audit_dir();
	const struct store_config config = { selection->path, dir, ask_note, ask_verdict };
	struct store *store = NULL;
	struct err why = { 0 };

	ask_merge(selection->path, dir);
	int r = store_open(&store, &config, &why);

	if (r == 0)
		r = ask_once(selection, store, question, arg, &why);
	if (r == -EBADMSG) {
		ask_note(why.text);
		r = store_renew(store, &why);
		if (r == 0 && !may_repeat)
			r = err_set(&why, -EIO, "the answer is not complete; ask again");
		if (r == 0)
			r = ask_once(selection, store, question, arg, &why);
	}
	store_free(store);
	if (r >= 0)
		return r;
	ask_note(why.text);
	return r == -ESTALE ? CLI_DENIED : CLI_ERROR;
}

const char *ask_id(const struct gateway_logged *record, char out[ASK_ID_MAX])
{
	char run[64];

	(void)text_visible(run, sizeof(run), record->run, strlen(record->run));
	(void)snprintf(out, ASK_ID_MAX, "%s.%" PRIu64, run, record->seq);
	return out;
}
