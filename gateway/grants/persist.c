#include "gateway/grants/persist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "gateway/state.h"
#include "policies/policies_tools.h"

#define LATE_MS 10000

enum state { WAITS, OVER };

/* One change of the file. After its end, it stays until the approver has asked for the result. */
struct keeping_change {
	enum state state;
	char question[APPROVER_ID_MAX]; /* "": a line is to be removed */
	uint64_t grant;
	enum policy_action action;
	char *text, *provenance;
	int result;
	struct err why;
	TAILQ_ENTRY(keeping_change) entry;
};

/* The result that the process reports. */
struct said {
	int32_t result;
	char why[ERR_MAX_BYTES];
};

static void change_free(struct gateway *gw, struct keeping_change *change)
{
	TAILQ_REMOVE(&gw->keeping.changes, change, entry);
	gw->keeping.count--;
	free(change->text);
	free(change->provenance);
	free(change);
}

/* Runs in the process, which got the order when it was started. */
static void run(FILE *out, void *arg)
{
	const struct gateway *gw = arg;
	const struct keeping_change *change = gw->keeping.running;
	const char *path = gw->config.answers_path;
	struct err why = { 0 };
	struct said said = { 0 };

	said.result = change->question[0]
			      ? policy_answer_append_text(path, change->action, change->text,
							  change->provenance, &why)
			      : policy_answer_remove(path, change->action, change->text, &why);
	memcpy(said.why, why.text, sizeof(said.why));
	(void)fwrite(&said, sizeof(said), 1, out); /* the stream is in memory */
}

static void start_next(struct gateway *gw);

/* Waiting approvers ask again now; results that nobody asks for are dropped, because a changed file
 * is read again anyway. */
static void end(struct gateway *gw, int result, const char *why)
{
	struct persist *keeping = &gw->keeping;
	struct keeping_change *change = take(keeping->running), *next;
	struct gateway_kept *kept;

	aside_free(take(keeping->aside));
	change->state = OVER;
	change->result = result;
	(void)err_set(&change->why, result, "%s", why);
	for (size_t left = keeping->waiting_count; left > 0; left--) {
		kept = TAILQ_FIRST(&keeping->waiting);
		if (!kept)
			break;
		persist_forget(gw, kept);
		kept->fn(kept->arg);
	}
	for (change = TAILQ_FIRST(&keeping->changes); change; change = next) {
		next = TAILQ_NEXT(change, entry);
		if (change->state == OVER)
			change_free(gw, change);
	}
	start_next(gw);
}

static void on_done(int result, const char *bytes, size_t len, void *arg)
{
	struct said said = { result < 0 ? result : -EIO, "" };

	if (result == 0 && len == sizeof(said))
		memcpy(&said, bytes, sizeof(said));
	else
		(void)snprintf(said.why, sizeof(said.why), "%s",
			       result == -ETIMEDOUT
				       ? "the file could not be written within 10 seconds"
				       : "the process that writes the file has died, or could not "
					 "be started");
	end(arg, said.result < 0 ? said.result : 0, said.why);
}

static void start_next(struct gateway *gw)
{
	struct persist *keeping = &gw->keeping;
	struct keeping_change *change;

	if (keeping->running)
		return;
	TAILQ_FOREACH (change, &keeping->changes, entry) {
		if (change->state == WAITS)
			break;
	}
	if (!change)
		return;
	const struct aside_config config = {
		.name = "sallyport-keep",
		.run = run,
		.run_arg = gw,
		.limit_ms = LATE_MS,
		.max_bytes = sizeof(struct said),
		.done = on_done,
		.arg = gw,
	};

	keeping->running = change;
	keeping->aside = aside_start(gw->loop, &config);
}

static int take_result(struct gateway *gw, struct keeping_change *change, struct err *why)
{
	int r = change->result;

	if (r < 0)
		(void)err_set(why, r, "%s", change->why.text);
	change_free(gw, change);
	return r;
}

static int add(struct gateway *gw, const struct keeping_change *like, struct err *why)
{
	struct keeping_change *change;

	if (gw->keeping.count == PERSIST_MAX)
		return err_set(why, -EAGAIN, "too many answers wait to be written");
	change = mem_new(sizeof(*change));
	*change = *like;
	change->text = mem_strdup(like->text);
	change->provenance = mem_strdup_or_null(like->provenance);
	TAILQ_INSERT_TAIL(&gw->keeping.changes, change, entry);
	gw->keeping.count++;
	start_next(gw);
	return -EINPROGRESS;
}

static struct keeping_change *find(const struct gateway *gw, const char *question, uint64_t grant)
{
	struct keeping_change *change;

	TAILQ_FOREACH (change, &gw->keeping.changes, entry) {
		if (strcmp(change->question, question) == 0 && change->grant == grant)
			return change;
	}
	return NULL;
}

int persist_append(struct gateway *gw, const char *question, enum policy_action action,
		   const char *text, const char *provenance, struct err *why)
{
	struct keeping_change *change = find(gw, question, 0);
	struct keeping_change like = { .action = action,
				       .text = (char *)(uintptr_t)text,
				       .provenance = (char *)(uintptr_t)provenance };

	(void)snprintf(like.question, sizeof(like.question), "%s", question); /* an id fits */
	if (!change)
		return add(gw, &like, why);
	if (change->action != action || strcmp(change->text, text) != 0)
		return err_set(
			why, -EBUSY,
			"another answer to this question is being written; look at it again");
	return change->state == OVER ? take_result(gw, change, why) : -EINPROGRESS;
}

int persist_remove(struct gateway *gw, uint64_t grant, enum policy_action action, const char *text,
		   struct err *why)
{
	struct keeping_change *change = find(gw, "", grant);
	const struct keeping_change like = { .grant = grant,
					     .action = action,
					     .text = (char *)(uintptr_t)text };

	if (!change)
		return add(gw, &like, why);
	return change->state == OVER ? take_result(gw, change, why) : -EINPROGRESS;
}

bool persist_has(const struct gateway *gw, const char *question)
{
	const struct keeping_change *change = find(gw, question, 0);

	return change && change->state != OVER;
}

bool persist_take(struct gateway *gw, const char *question, enum policy_action action)
{
	struct keeping_change *change = question[0] ? find(gw, question, 0) : NULL;

	if (!change || change->state != OVER || change->result < 0 || change->action != action)
		return false;
	change_free(gw, change);
	return true;
}

void persist_await(struct gateway *gw, struct gateway_kept *kept, void (*fn)(void *arg), void *arg)
{
	persist_forget(gw, kept);
	kept->fn = fn;
	kept->arg = arg;
	kept->is_waiting = true;
	TAILQ_INSERT_TAIL(&gw->keeping.waiting, kept, entry);
	gw->keeping.waiting_count++;
}

void persist_forget(struct gateway *gw, struct gateway_kept *kept)
{
	if (!kept->is_waiting)
		return;
	kept->is_waiting = false;
	TAILQ_REMOVE(&gw->keeping.waiting, kept, entry);
	gw->keeping.waiting_count--;
}

/* The running process continues alone: its change is made completely or not at all. */
void persist_done(struct gateway *gw)
{
	struct keeping_change *change;

	aside_free(take(gw->keeping.aside));
	gw->keeping.running = NULL;
	while (!TAILQ_EMPTY(&gw->keeping.waiting))
		persist_forget(gw, TAILQ_FIRST(&gw->keeping.waiting));
	while ((change = TAILQ_FIRST(&gw->keeping.changes)))
		change_free(gw, change);
}
