/* test_web_fake: a gateway behind the page's server that does what it is told, for unit tests and
 * for tests in a browser. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/approvers/ledger_impl.h"
#include "gateway/approvers/web/web.h"
#include "gateway/gateway_tools.h"

#define STAGE_QUESTIONS_MAX 600

struct gateway {
	struct loop *loop;
	struct approver *approver;
	struct gateway_config config;
	struct gateway_web web;

	struct approver_question questions[STAGE_QUESTIONS_MAX]; /* open */
	size_t question_count;
	struct approver_agent_question agent; /* id "": none */
	struct approver_answer answer;        /* the last; its words and name are below */
	char by[64], words[512];
	unsigned int answer_count, changed_count, revoke_count;
	uint64_t revoked, cut;
	char touched[APPROVER_ID_MAX]; /* the last */
	int next_result;               /* of the next answer or revocation */
	struct gateway_kept *kept;     /* the waiter for a file; NULL: there was none */
	const char *text;              /* what gateway_answer_text() says */
	bool tells;                    /* no: what it was asked for */
	unsigned int live_count, grant_count;
	const char *because; /* of everything */
	struct gateway_trip trips[300], others;
	size_t trip_count;
};
extern struct gateway stage;

/* Opens the approver on @loop; the stage is empty. -errno with @why. */
int stage_begin(struct loop *loop, struct err *why);
void stage_end(void);
/* Opens a question and asks it. */
struct approver_question *stage_put(const char *id, const char *host);
struct approver_question *stage_find(const char *id);
void stage_retract(const char *id, const char *how);
bool stage_is_attached(void);
