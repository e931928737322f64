#include "gateway/execs/outcomes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* One event that has not been told yet. */
struct outcome_note {
	struct gateway_exec_event event; /* its texts are stored after it */
	struct policy_destination dst;
	STAILQ_ENTRY(outcome_note) entry;
};
STAILQ_HEAD(outcome_notes, outcome_note);

/* A destination whose first allow was reported. */
struct outcome_seen {
	struct key_node node;
	struct policy_destination dst;
};

struct outcome {
	uint64_t exec;
	struct outcome_notes notes;
	unsigned int count; /* of notes */
	struct key_table allowed;
	unsigned int waits, told_waits; /* open questions */
	uint64_t dropped;
	bool has_ended, has_news;
	TAILQ_ENTRY(outcome) entry, news_entry;
};

void outcomes_init(struct outcomes *outcomes, struct loop *loop,
		   const struct gateway_embedded *embedded)
{
	*outcomes = (struct outcomes){ .loop = loop };
	if (embedded && embedded->on_exec_event)
		outcomes->embedded = embedded;
	TAILQ_INIT(&outcomes->all);
	TAILQ_INIT(&outcomes->news);
}

struct outcome *outcomes_begin(struct outcomes *outcomes, uint64_t exec)
{
	if (!outcomes->embedded)
		return NULL;
	struct outcome *outcome = mem_new(sizeof(*outcome));

	outcome->exec = exec;
	STAILQ_INIT(&outcome->notes);
	keys_init(&outcome->allowed);
	TAILQ_INSERT_TAIL(&outcomes->all, outcome, entry);
	return outcome;
}

static void outcome_free(struct outcomes *outcomes, struct outcome *outcome)
{
	struct outcome_note *note;
	struct key_node *node;

	while ((note = STAILQ_FIRST(&outcome->notes))) {
		STAILQ_REMOVE_HEAD(&outcome->notes, entry);
		free(note);
	}
	while ((node = keys_pop(&outcome->allowed)))
		free(container_of(node, struct outcome_seen, node));
	keys_done(&outcome->allowed);
	if (outcome->has_news)
		TAILQ_REMOVE(&outcomes->news, outcome, news_entry);
	TAILQ_REMOVE(&outcomes->all, outcome, entry);
	free(outcome);
}

void outcomes_done(struct outcomes *outcomes)
{
	struct outcome *outcome;

	loop_timer_stop(&outcomes->task);
	while ((outcome = TAILQ_FIRST(&outcomes->all)))
		outcome_free(outcomes, outcome);
}

static void outcome_tell(const struct outcomes *outcomes, const struct outcome *outcome,
			 struct gateway_exec_event *event)
{
	event->dropped = outcome->dropped;
	event->rule = event->rule ? event->rule : "";
	event->because = event->because ? event->because : "";
	event->by = event->by ? event->by : "";
	event->cause = event->cause ? event->cause : "";
	outcomes->embedded->on_exec_event(outcome->exec, event, outcomes->embedded->arg);
}

/* Reports only the notes from before this round, because the callback may cause more. */
static void outcome_tell_notes(struct outcomes *outcomes, struct outcome *outcome)
{
	struct outcome_notes notes = STAILQ_HEAD_INITIALIZER(notes);
	struct outcome_note *note;

	STAILQ_CONCAT(&notes, &outcome->notes);
	outcome->count = 0;
	while ((note = STAILQ_FIRST(&notes))) {
		STAILQ_REMOVE_HEAD(&notes, entry);
		outcome_tell(outcomes, outcome, &note->event);
		free(note);
	}
}

static void outcome_tell_all(struct outcomes *outcomes, struct outcome *outcome)
{
	struct gateway_exec_event waiting = { .kind = GATEWAY_EXEC_WAITING };
	struct gateway_exec_event ended = { .kind = GATEWAY_EXEC_ENDED };

	outcome_tell_notes(outcomes, outcome);
	if (outcome->waits != outcome->told_waits) {
		waiting.questions = outcome->told_waits = outcome->waits;
		outcome_tell(outcomes, outcome, &waiting);
	}
	/* Later notes are reported in the next round, and the end after them. */
	if (!outcome->has_ended || outcome->has_news)
		return;
	outcome_tell(outcomes, outcome, &ended);
	outcome_free(outcomes, outcome);
}

static void outcomes_tell(void *arg);

static void outcomes_has_news(struct outcomes *outcomes, struct outcome *outcome)
{
	if (!outcome->has_news)
		TAILQ_INSERT_TAIL(&outcomes->news, outcome, news_entry);
	outcome->has_news = true;
	if (!outcomes->task.is_armed)
		loop_defer(outcomes->loop, &outcomes->task, outcomes_tell, outcomes);
}

static void outcomes_tell(void *arg)
{
	struct outcomes *outcomes = arg;
	struct outcome *outcome, *last = TAILQ_LAST(&outcomes->news, outcome_queue);
	bool was_last = !last;

	while (!was_last && (outcome = TAILQ_FIRST(&outcomes->news))) {
		was_last = outcome == last;
		TAILQ_REMOVE(&outcomes->news, outcome, news_entry);
		outcome->has_news = false;
		outcome_tell_all(outcomes, outcome);
	}
	if (!TAILQ_EMPTY(&outcomes->news) && !outcomes->task.is_armed)
		loop_defer(outcomes->loop, &outcomes->task, outcomes_tell, outcomes);
}

void outcomes_end(struct outcomes *outcomes, struct outcome *outcome)
{
	if (!outcome)
		return;
	outcome->has_ended = true;
	outcomes_has_news(outcomes, outcome);
}

void outcomes_wait(struct outcomes *outcomes, struct outcome *outcome, int by)
{
	if (!outcome)
		return;
	outcome->waits += (unsigned int)by;
	outcomes_has_news(outcomes, outcome);
}

static const char *outcome_put_text(char **room, const char *text)
{
	size_t size = strlen(text) + 1;
	char *at = *room;

	memcpy(at, text, size);
	*room += size;
	return at;
}

/* An equal event that was not reported yet is counted again instead of added. */
static struct outcome_note *outcome_same(const struct outcome *outcome,
					 const struct gateway_exec_event *event)
{
	struct outcome_note *note;

	STAILQ_FOREACH (note, &outcome->notes, entry) {
		if (note->event.kind == event->kind && note->event.reason == event->reason &&
		    policy_destination_equal(&note->dst, event->dst) &&
		    strcmp(note->event.by, event->by) == 0)
			return note;
	}
	return NULL;
}

/* Copies @event. A person's or a reviewer's denial has room even if the command floods the
 * queue. */
static void outcome_note(struct outcomes *outcomes, struct outcome *outcome,
			 const struct gateway_exec_event *event)
{
	bool is_word = event->whose == GATEWAY_BY_PERSON || event->whose == GATEWAY_BY_REVIEW;
	unsigned int room = is_word ? 2 * GATEWAY_EXEC_EVENTS_MAX : GATEWAY_EXEC_EVENTS_MAX;
	struct outcome_note *note = outcome_same(outcome, event);

	if (note) {
		note->event.times++;
		if (note->event.pid != event->pid)
			note->event.pid = 0;
		return;
	}
	if (outcome->count >= room) {
		outcome->dropped++;
		return;
	}
	size_t size = strlen(event->rule) + strlen(event->because) + strlen(event->by) +
		      strlen(event->cause) + 4;

	note = mem_new(sizeof(*note) + size);
	char *text = (char *)(note + 1);

	note->event = *event;
	note->dst = *event->dst;
	note->event.dst = &note->dst;
	note->event.rule = outcome_put_text(&text, event->rule);
	note->event.because = outcome_put_text(&text, event->because);
	note->event.by = outcome_put_text(&text, event->by);
	note->event.cause = outcome_put_text(&text, event->cause);
	note->event.times = 1;
	STAILQ_INSERT_TAIL(&outcome->notes, note, entry);
	outcome->count++;
	outcomes_has_news(outcomes, outcome);
}

/* All other reasons are GATEWAY_BY_NOBODY. */
static const enum gateway_whose whose[POLICY_REASON_COUNT] = {
	[POLICY_DENIED_ONCE] = GATEWAY_BY_PERSON,
	[POLICY_DENIED_EXEC] = GATEWAY_BY_PERSON,
	[POLICY_DENIED_SESSION] = GATEWAY_BY_PERSON,
	[POLICY_DENIED_ALWAYS] = GATEWAY_BY_PERSON,
	[POLICY_ABORTED] = GATEWAY_BY_PERSON,
	[POLICY_DENIED_REVIEW] = GATEWAY_BY_REVIEW,
	[POLICY_REVOKED] = GATEWAY_BY_PERSON,
	[POLICY_SANDBOX_REFUSED] = GATEWAY_BY_POLICY,
	[POLICY_RULE_DENY] = GATEWAY_BY_POLICY,
	[POLICY_DEFAULT_DENY] = GATEWAY_BY_POLICY,
	[POLICY_ANSWER_DENY] = GATEWAY_BY_POLICY,
	[POLICY_NOT_ENFORCED] = GATEWAY_BY_POLICY,
	[POLICY_OUTSIDE_ONLY] = GATEWAY_BY_POLICY,
	[POLICY_PRIVATE_ADDRESS] = GATEWAY_BY_POLICY,
	[POLICY_METADATA_ADDRESS] = GATEWAY_BY_POLICY,
	[POLICY_SPECIAL_ADDRESS] = GATEWAY_BY_POLICY,
	[POLICY_OWN_LISTENER] = GATEWAY_BY_POLICY,
	[POLICY_HOST_MISMATCH] = GATEWAY_BY_POLICY,
	[POLICY_NOT_TLS] = GATEWAY_BY_POLICY,
	[POLICY_NO_SERVER_NAME] = GATEWAY_BY_POLICY,
	[POLICY_NOT_HTTP] = GATEWAY_BY_POLICY,
	[POLICY_BUDGET_SPENT] = GATEWAY_BY_POLICY,
	[POLICY_CONNECTIONS_SPENT] = GATEWAY_BY_POLICY,
	[POLICY_RATE_LIMITED] = GATEWAY_BY_POLICY,
	[POLICY_EXPIRED] = GATEWAY_BY_POLICY,
	[POLICY_DENIED_SINCE] = GATEWAY_BY_POLICY,
	[POLICY_BAD_HOST] = GATEWAY_BY_NETWORK,
	[POLICY_DNS_FAILED] = GATEWAY_BY_NETWORK,
	[POLICY_DNS_TIMEOUT] = GATEWAY_BY_NETWORK,
	[POLICY_CONNECT_REFUSED] = GATEWAY_BY_NETWORK,
	[POLICY_CONNECT_UNREACHABLE] = GATEWAY_BY_NETWORK,
	[POLICY_CONNECT_TIMEOUT] = GATEWAY_BY_NETWORK,
	[POLICY_CONNECT_FAILED] = GATEWAY_BY_NETWORK,
	[POLICY_PROXY_REFUSED] = GATEWAY_BY_NETWORK,
	[POLICY_PROXY_FAILED] = GATEWAY_BY_NETWORK,
	[POLICY_PROXY_TIMEOUT] = GATEWAY_BY_NETWORK,
	[POLICY_UPSTREAM_CLOSED] = GATEWAY_BY_NETWORK,
	[POLICY_UPSTREAM_MALFORMED] = GATEWAY_BY_NETWORK,
	[POLICY_UPSTREAM_TIMEOUT] = GATEWAY_BY_NETWORK,
	[POLICY_WORKER_DIED] = GATEWAY_BY_NETWORK,
	[POLICY_MALFORMED] = GATEWAY_BY_NETWORK,
	[POLICY_HEAD_TOO_LARGE] = GATEWAY_BY_NETWORK,
	[POLICY_CLIENT_TIMEOUT] = GATEWAY_BY_NETWORK,
	[POLICY_UNSUPPORTED] = GATEWAY_BY_NETWORK,
	[POLICY_NO_FTP] = GATEWAY_BY_NETWORK,
};

static void outcome_denied(struct outcomes *outcomes, struct outcome *outcome,
			   const struct policy_destination *dst,
			   const struct policy_verdict *verdict, enum policy_reason reason,
			   const char *cause, pid_t pid)
{
	outcome_note(outcomes, outcome,
		     &(struct gateway_exec_event){ .kind = GATEWAY_EXEC_DENIED,
						   .dst = dst,
						   .reason = reason,
						   .whose = whose[reason],
						   .rule = verdict->rule,
						   .because = verdict->because,
						   .by = verdict->by,
						   .cause = cause,
						   .pid = pid });
}

static void outcome_allowed(struct outcomes *outcomes, struct outcome *outcome,
			    const struct policy_destination *dst,
			    const struct policy_verdict *verdict)
{
	if (keys_find(&outcome->allowed, 0, dst))
		return;
	if (outcome->allowed.count >= GATEWAY_EXEC_ALLOWED_MAX) {
		outcome->dropped++;
		return;
	}
	struct outcome_seen *seen = mem_new(sizeof(*seen));

	seen->dst = *dst;
	keys_add(&outcome->allowed, &seen->node, 0, &seen->dst);
	outcome_note(outcomes, outcome,
		     &(struct gateway_exec_event){ .kind = GATEWAY_EXEC_ALLOWED,
						   .dst = dst,
						   .reason = verdict->reason,
						   .rule = verdict->rule,
						   .because = verdict->because,
						   .by = verdict->by,
						   .cause = "" });
}

void outcomes_verdict(struct outcomes *outcomes, struct outcome *outcome,
		      const struct policy_destination *dst, const struct policy_verdict *verdict,
		      pid_t pid)
{
	if (!outcome)
		return;
	if (verdict->action == POLICY_ALLOW)
		outcome_allowed(outcomes, outcome, dst, verdict);
	else
		outcome_denied(outcomes, outcome, dst, verdict, verdict->reason, "", pid);
}

void outcomes_report(struct outcomes *outcomes, struct outcome *outcome,
		     const struct gateway_report *report)
{
	bool was_allowed = report->verdict.action == POLICY_ALLOW;
	enum policy_reason reason = was_allowed ? report->closed : report->verdict.reason;

	/* The end of an allowed request is not a denial, unless the gate ended it. */
	if (!outcome || (was_allowed && policy_reason_status(reason) == 200))
		return;
	outcome_denied(outcomes, outcome, &report->facts.dst, &report->verdict, reason,
		       report->cause, 0);
}
