#include "gateway/approvals/inquiries.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/wire.h"
#include "gateway/gateway_review.h"
#include "gateway/audit/journal.h"
#include "gateway/audit/redact.h"
#include "gateway/decide/queue.h"

#define INQUIRIES_TEXT_MAX    4096 /* of each text */
#define INQUIRIES_COMMAND_MAX 16384
#define INQUIRIES_BY_MAX      64

/* A review asks the programs one after another, in the order of the table; the first allow or
 * denial ends it. */
struct gateway_review {
	struct approver_review asked; /* first: the approvers hold a pointer to it */
	struct gateway *gw;
	enum gateway_review_by by_whom;
	size_t seat;    /* the next approver to be asked */
	bool is_asking; /* the approver before @seat is working on it */
	char *object, *command;
	const char *kind;
	uint64_t exec;
	struct gateway_review_result result;
	char by[INQUIRIES_BY_MAX], reason[GATEWAY_WORDS_MAX];
	gateway_review_fn done;
	void *arg;
	struct loop_timer next;
	LIST_ENTRY(gateway_review) entry;
};

static void inquiry_free(struct gateway_review *review)
{
	struct gateway *gw = review->gw;

	if (review->is_asking) {
		struct approver_seat seat = gw->approvers[review->seat - 1];

		seat.ops->forget(seat.self, &review->asked);
	}
	LIST_REMOVE(review, entry);
	gw->inquiries.count--;
	loop_timer_stop(&review->next);
	free(review->object);
	free(review->command);
	free(review);
}

static void inquiry_record(struct gateway_review *review)
{
	static const enum policy_reason reasons[] = {
		[GATEWAY_REVIEW_ALLOW] = POLICY_GRANTED_REVIEW,
		[GATEWAY_REVIEW_DENY] = POLICY_DENIED_REVIEW,
		[GATEWAY_REVIEW_LATE] = POLICY_PROMPT_TIMEOUT,
		[GATEWAY_REVIEW_FAILED] = POLICY_APPROVER_GONE,
		[GATEWAY_REVIEW_NONE] = POLICY_NO_APPROVER,
	};
	enum gateway_review_outcome outcome = review->result.outcome;
	struct gateway *gw = review->gw;
	struct policy_verdict verdict = {
		.action = outcome == GATEWAY_REVIEW_ALLOW  ? POLICY_ALLOW
			  : outcome == GATEWAY_REVIEW_DENY ? POLICY_DENY
							   : POLICY_ASK,
	};
	struct sink_record record = { .event = SINK_REVIEWED,
				      .exec = review->exec,
				      .command = review->command,
				      .verdict = &verdict,
				      .reason = reasons[outcome],
				      .cause = review->kind,
				      .is_awaited = true };

	(void)snprintf(verdict.by, sizeof(verdict.by), "%s", review->by);
	(void)snprintf(verdict.because, sizeof(verdict.because), "%s", review->reason);
	journal_stamp(gw->journal, &record);
	if (queue_write_down(gw, &record) == 0)
		return;
	/* An allow that cannot be recorded is void: the person is asked instead, and denied because
	 * records fail. */
	review->result.outcome = GATEWAY_REVIEW_FAILED;
}

static void inquiry_end(struct gateway_review *review)
{
	gateway_review_fn done = review->done;
	struct gateway_review_result result;
	char by[INQUIRIES_BY_MAX], reason[GATEWAY_WORDS_MAX];
	void *arg = review->arg;

	inquiry_record(review);
	result = review->result;
	memcpy(by, review->by, sizeof(by));
	memcpy(reason, review->reason, sizeof(reason));
	result.by = by;
	result.reason = reason;
	inquiry_free(review);
	done(&result, arg);
}

static bool inquiry_is_over(const struct gateway_review *review)
{
	return review->result.outcome == GATEWAY_REVIEW_ALLOW ||
	       review->result.outcome == GATEWAY_REVIEW_DENY;
}

static void inquiry_next(void *arg)
{
	struct gateway_review *review = arg;
	struct gateway *gw = review->gw;

	while (!inquiry_is_over(review) && review->seat < gw->approver_count) {
		struct approver_seat seat = gw->approvers[review->seat++];

		if (!seat.ops->review || (review->by_whom != GATEWAY_REVIEW_BY_ALL &&
					  review->by_whom != seat.ops->reviews_as))
			continue;
		review->is_asking = true;
		if (seat.ops->review(seat.self, &review->asked) == 0)
			return; /* inquiries_heard() continues */
		review->is_asking = false;
	}
	inquiry_end(review);
}

void inquiries_heard(struct approver_review *asked, enum gateway_review_outcome outcome,
		     const char *by, const char *reason)
{
	struct gateway_review *review = container_of(asked, struct gateway_review, asked);

	bool has_failed = review->result.outcome == GATEWAY_REVIEW_LATE ||
			  review->result.outcome == GATEWAY_REVIEW_FAILED;

	review->is_asking = false;
	/* A program that failed might have denied: only a denial replaces its failure. */
	if (outcome == GATEWAY_REVIEW_DENY || (!has_failed && outcome != GATEWAY_REVIEW_NONE)) {
		review->result.outcome = outcome;
		(void)snprintf(review->by, sizeof(review->by), "%s", by);
		(void)snprintf(review->reason, sizeof(review->reason), "%s", reason);
	}
	loop_defer(review->gw->loop, &review->next, inquiry_next, review);
}

static json_t *inquiry_text(const char *text)
{
	return wire_text(text ? text : "", INQUIRIES_TEXT_MAX);
}

/* Secrets are redacted, as in the records; the separate words are included only if nothing was
 * redacted. */
static json_t *inquiry_argv(const char *line, const char *redacted, const char *const *argv)
{
	json_t *words = json_array();

	if (!line || strcmp(line, redacted) != 0)
		return words;
	for (size_t i = 0; argv[i]; i++)
		(void)json_array_append_new(words, inquiry_text(argv[i])); /* OOM: seen below */
	return words;
}

static char *inquiry_describe(struct gateway_review *review,
			      const struct gateway_review_request *request)
{
	auto_free char *line =
		request->argv ? text_command_line(request->argv, INQUIRIES_COMMAND_MAX) : NULL;
	auto_free char *said =
		request->justification ? redact_command(request->justification) : mem_strdup("");

	review->command = redact_command(line ? line : "");
	json_t *object = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "kind", review->kind,
				   "command", inquiry_text(review->command), "argv",
				   inquiry_argv(line, review->command, request->argv), "cwd",
				   inquiry_text(request->cwd), "confinement",
				   inquiry_text(request->confinement), "justification",
				   inquiry_text(said), "rule", inquiry_text(request->rule),
				   "detail", inquiry_text(request->detail));
	char *text = object ? json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	char *own = mem_strdup_or_null(text);

	free(text);
	json_decref(object);
	return own;
}

/* Returned owned; NULL with @why. Its object is NULL if the request cannot be written as text. */
static struct gateway_review *inquiry_new(struct gateway *gw,
					  const struct gateway_review_request *request,
					  struct err *why)
{
	const char *kind = policy_helper_kind_name(request->kind);

	if (kind[0] == '\0' || request->kind == POLICY_HELPS_NETWORK) {
		(void)err_set(why, -EINVAL, "a request of this kind cannot be reviewed");
		return NULL;
	}
	if (gw->inquiries.count >= GATEWAY_REVIEWS_MAX) {
		(void)err_set(why, -EBUSY, "too many requests are waiting for a review");
		return NULL;
	}
	struct gateway_review *review = mem_new(sizeof(*review));

	review->gw = gw;
	review->by_whom = request->by;
	review->kind = kind;
	review->exec = request->exec;
	review->object = inquiry_describe(review, request);
	review->asked = (struct approver_review){
		.kind = request->kind,
		.object = review->object,
		.timeout_ms = request->timeout_ms,
	};
	LIST_INSERT_HEAD(&gw->inquiries.open, review, entry);
	gw->inquiries.count++;
	return review;
}

struct gateway_review *gateway_review(struct gateway *gw,
				      const struct gateway_review_request *request,
				      gateway_review_fn done, void *arg, struct err *why)
{
	struct gateway_review *review = inquiry_new(gw, request, why);

	if (!review)
		return NULL;
	review->done = done;
	review->arg = arg;
	/* Without an object no program can be asked. */
	if (!review->object)
		review->seat = gw->approver_count;
	loop_defer(gw->loop, &review->next, inquiry_next, review);
	return review;
}

struct gateway_review *gateway_review_watch(struct gateway *gw,
					    const struct gateway_review_request *request)
{
	struct gateway_review *watch = inquiry_new(gw, request, NULL);

	while (watch && watch->object && watch->seat < gw->approver_count) {
		struct approver_seat seat = gw->approvers[watch->seat++];

		if (!seat.ops->watch || seat.ops->watch(seat.self, &watch->asked) != 0)
			continue;
		watch->is_asking = true;
		return watch;
	}
	gateway_review_withdraw(watch);
	return NULL;
}

void gateway_review_compare(struct gateway_review *watch, enum policy_action by_person)
{
	if (!watch)
		return;
	struct approver_seat seat = watch->gw->approvers[watch->seat - 1];

	seat.ops->compare(seat.self, &watch->asked, by_person);
	watch->is_asking = false; /* the approver has freed its part */
	inquiry_free(watch);
}

void gateway_review_withdraw(struct gateway_review *review)
{
	if (review)
		inquiry_free(review);
}

void inquiries_done(struct gateway *gw)
{
	while (!LIST_EMPTY(&gw->inquiries.open))
		inquiry_free(LIST_FIRST(&gw->inquiries.open));
}
