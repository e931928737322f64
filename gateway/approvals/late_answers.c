#include "gateway/approvals/late_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/bounds.h"
#include "gateway/state.h"
#include "gateway/audit/journal.h"
#include "gateway/decide/queue.h"
#include "gateway/grants/width.h"

#define LATE_ID_MAX   (4 * APPROVER_ID_MAX) /* of an invalid id, with its bytes as text */
#define LATE_SAID_MAX (APPROVER_KEY_MAX + 32)

struct lates {
	struct late_answers
		*ended[GATEWAY_LATE_QUESTIONS_MAX]; /* a ring: the oldest is overwritten */
	uint64_t count;                             /* number of questions that ended */
	uint64_t strays; /* answers to questions that are not in the ring */
};

/* A finished question. */
struct late_answers {
	char id[APPROVER_ID_MAX];
	struct policy_destination dst;
	enum policy_reason reason; /* of its end */
	char *program, *how;
	uint64_t answers; /* that came after its end */
};

static void late_answers_free(struct late_answers *late)
{
	if (!late)
		return;
	free(late->program);
	free(late->how);
	free(late);
}

struct lates *late_answers_new(void)
{
	return mem_new(sizeof(struct lates));
}

void late_answers_done(struct lates *lates)
{
	for (size_t i = 0; i < ARRAY_SIZE(lates->ended); i++)
		late_answers_free(lates->ended[i]);
	free(lates);
}

static struct late_answers **late_answers_find(struct lates *lates, const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(lates->ended); i++) {
		if (lates->ended[i] && strcmp(lates->ended[i]->id, id) == 0)
			return &lates->ended[i];
	}
	return NULL;
}

void late_answers_question_ended(const struct approval *approval, enum policy_reason reason,
				 const char *how)
{
	struct lates *lates = approval->gw->lates;
	/* A question that was asked again under its id may have an entry already. */
	struct late_answers **seat =
		approval->times > 1 ? late_answers_find(lates, approval->id) : NULL;
	struct late_answers *late = mem_new(sizeof(*late));

	if (!seat)
		seat = &lates->ended[lates->count++ % ARRAY_SIZE(lates->ended)];
	else
		late->answers = (*seat)->answers;
	late_answers_free(*seat);
	memcpy(late->id, approval->id, sizeof(late->id));
	late->dst = approval->dst;
	late->reason = reason;
	late->program = mem_strdup(approval->program);
	late->how = mem_strdup(how);
	*seat = late;
}

/* "allow session", and the key, if it differs from the question's. */
static void late_answers_said(const struct late_answers *late, const struct approver_answer *answer,
			      char out[LATE_SAID_MAX])
{
	char text[APPROVER_KEY_MAX];

	if (answer->is_abort) {
		(void)snprintf(out, LATE_SAID_MAX, "abort");
		return;
	}
	const char *scope = gateway_scope_name(answer->scope);

	(void)snprintf(out, LATE_SAID_MAX, "%s %s", policy_action_name(answer->action), scope);
	if (!width_is_any(&answer->width))
		return;
	if (!late || width_text(&late->dst, late->program, &answer->width, text, NULL) < 0)
		(void)snprintf(text, sizeof(text), "with another width");
	(void)snprintf(out, LATE_SAID_MAX, "%s %s: %s", policy_action_name(answer->action), scope,
		       text);
}

static bool late_answers_is_recorded(uint64_t answers)
{
	return answers <= GATEWAY_LATE_ANSWERS_EACH || (answers & (answers - 1)) == 0;
}

void late_answers_answer_came(struct gateway *gw, const char *id,
			      const struct approver_answer *answer)
{
	struct late_answers **seat = late_answers_find(gw->lates, id), *late = seat ? *seat : NULL;
	uint64_t answers = late ? ++late->answers : ++gw->lates->strays;
	char shown[LATE_ID_MAX], said[LATE_SAID_MAX];
	struct policy_facts facts = { 0 };

	if (!late_answers_is_recorded(answers))
		return;
	if (late)
		facts.dst = late->dst;
	(void)text_visible(shown, sizeof(shown), id, strnlen(id, APPROVER_ID_MAX));
	late_answers_said(late, answer, said);
	struct sink_late told = {
		.question = shown, .said = said, .by = answer->by, .answers = answers
	};
	struct sink_record record = {
		.event = SINK_LATE,
		.late = &told,
		.facts = &facts,
		.reason = late ? late->reason : POLICY_NONE,
		.cause = late ? late->how : "there is no such question, or it ended long ago",
	};

	journal_stamp(gw->journal, &record);
	(void)journal_write_later(gw->journal, &record); /* the error is kept */
	queue_schedule(gw); /* writes the queued records, or denies the waiting requests */
}
