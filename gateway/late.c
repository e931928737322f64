#include "gateway/late.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/answer.h"
#include "gateway/core.h"
#include "gateway/journal.h"
#include "gateway/turn.h"
#include "gateway/width.h"

#define LATE_ID_MAX   (4 * APPROVER_ID_MAX) /* of one that is no id, its bytes as text */
#define LATE_SAID_MAX (APPROVER_KEY_MAX + 32)

/* A question that is over. */
struct late {
	char id[APPROVER_ID_MAX];
	struct policy_destination dst;
	char *program, *how;
	uint64_t answers; /* that came since */
};

static void late_free(struct late *late)
{
	if (!late)
		return;
	free(late->program);
	free(late->how);
	free(late);
}

void late_done(struct lates *lates)
{
	for (size_t i = 0; i < ARRAY_SIZE(lates->ended); i++)
		late_free(lates->ended[i]);
}

static struct late **late_find(struct lates *lates, const char *id)
{
	for (size_t i = 0; i < ARRAY_SIZE(lates->ended); i++) {
		if (lates->ended[i] && strcmp(lates->ended[i]->id, id) == 0)
			return &lates->ended[i];
	}
	return NULL;
}

void late_question_ended(const struct approval *approval, const char *how)
{
	struct lates *lates = &approval->gw->lates;
	/* One that was asked again as the same has ended before. */
	struct late **seat = approval->times > 1 ? late_find(lates, approval->id) : NULL;
	struct late *late = mem_new(sizeof(*late));

	if (!seat)
		seat = &lates->ended[lates->count++ % ARRAY_SIZE(lates->ended)];
	else
		late->answers = (*seat)->answers;
	late_free(*seat);
	memcpy(late->id, approval->id, sizeof(late->id));
	late->dst = approval->dst;
	late->program = mem_strdup(approval->program);
	late->how = mem_strdup(how);
	*seat = late;
}

/* "allow session", and what, when that is not just the question's own. */
static void late_said(const struct late *late, const struct approver_answer *answer,
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
		(void)snprintf(text, sizeof(text), "of another width");
	(void)snprintf(out, LATE_SAID_MAX, "%s %s: %s", policy_action_name(answer->action), scope,
		       text);
}

static bool late_is_recorded(uint64_t answers)
{
	return answers <= GATEWAY_LATE_ANSWERS_EACH || (answers & (answers - 1)) == 0;
}

void late_answer_came(struct gateway *gw, const char *id, const struct approver_answer *answer)
{
	struct late **seat = late_find(&gw->lates, id), *late = seat ? *seat : NULL;
	uint64_t answers = late ? ++late->answers : ++gw->lates.strays;
	char shown[LATE_ID_MAX], said[LATE_SAID_MAX];
	struct policy_facts facts = { 0 };

	if (!late_is_recorded(answers))
		return;
	if (late)
		facts.dst = late->dst;
	(void)text_visible(shown, sizeof(shown), id, strnlen(id, APPROVER_ID_MAX));
	late_said(late, answer, said);
	struct sink_late told = {
		.question = shown, .said = said, .by = answer->by, .answers = answers
	};
	struct sink_record record = {
		.event = SINK_LATE,
		.late = &told,
		.facts = &facts,
		.cause = late ? late->how : "no such question, or one that ended long ago",
	};

	journal_stamp(gw->journal, &record);
	(void)journal_write_later(gw->journal, &record); /* a failure is kept */
	turn_schedule(gw); /* writes what is queued, or denies who waits */
}
