/* test_approver: a gateway that records what approvers ask of the real one, under the hand of the
 * test. */
#pragma once

#include <check.h>

#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/table.h"
#include "gateway/bounds.h"

#define FAKE_QUESTIONS_MAX 600
#define FAKE_ANSWERS_MAX   300

struct gateway {
	struct loop *loop;
	const struct approver_ops *ops;
	struct approver *approver;
	struct gateway_config config;
	char dir[64]; /* of the control socket */

	struct approver_question questions[FAKE_QUESTIONS_MAX]; /* open */
	uint64_t last_serial;
	size_t question_count;
	struct approver_agent_question agent; /* open, unless its id is "" */
	struct {
		char id[APPROVER_ID_MAX];
		struct approver_answer answer;
		char by[64], words[GATEWAY_WORDS_MAX];
		char text[APPROVER_KEY_MAX]; /* what it stored */
	} answers[FAKE_ANSWERS_MAX];
	size_t answer_count, touch_count;
	int next_result;           /* of the next answer to an open question */
	struct gateway_kept *kept; /* the waiter for a file; NULL: there was none */
	const char *next_why;
	bool takes_budgets;
	const char *salt; /* what it would store is something else now */
	bool is_quiet;    /* an answer is not followed by retract() */
	unsigned int changed_count;
};

/* A fake loop, and an approver opened on it. @config: run, session and what the test adds. */
void fake_open(struct gateway *gw, const struct approver_ops *ops);
void fake_close(struct gateway *gw);
/* Steps until nothing moves any more. */
void fake_settle(struct gateway *gw);

/* Opens a question "RUN-N" and asks it. */
struct approver_question *fake_ask(struct gateway *gw, const char *id, const char *host);
void fake_changed(struct gateway *gw, const char *id, unsigned int waiting);
void fake_end(struct gateway *gw, const struct approver_end *end); /* settled elsewhere */
void fake_retract(struct gateway *gw, const char *id, const char *how);

Suite *suite_control(void);
Suite *suite_control_ledger(void);
Suite *suite_control_socket(void);
Suite *suite_control_watchers(void);
Suite *suite_far(void);
Suite *suite_hints(void);
Suite *suite_reviewer(void);
Suite *suite_reviewer_parts(void);
Suite *suite_tty(void);
Suite *suite_tty_fence(void);
Suite *suite_tty_keys(void);
Suite *suite_tty_list(void);
Suite *suite_tty_parts(void);
Suite *suite_tty_scope(void);
Suite *suite_tty_states(void);
Suite *suite_tty_words(void);
