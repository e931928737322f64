/* fixture: a gateway on a fake loop, with an approver that records and a policy that asks. One per
 * test process. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/state.h"
#include "gateway/gateway.h"
#include "gateway/audit/sink_impl.h"

#define FIXTURE_CALLS_MAX 64
#define FIXTURE_EXEC      1
#define FIXTURE_EXEC_TWO  2

/* What the approver was told. */
struct fixture_approver {
	bool is_attached;
	unsigned int asked, changed, retracted, closed;
	unsigned int heard[SINK_EVENT_COUNT]; /* records, by kind */
	struct approver_question last;        /* its texts point into @texts */
	char texts[APPROVER_COMMANDS_MAX][256];
	char ids[FIXTURE_CALLS_MAX][APPROVER_ID_MAX]; /* in the order asked */
	char how[128];                                /* of the last retract */
	/* Answers what it is asked, at once. */
	const struct approver_answer *instead;
	int instead_result;
};

/* One request and its result. */
struct fixture_request {
	struct gateway_ticket *ticket; /* until there is a verdict */
	struct gateway_ticket *pass;   /* the same, allowed */
	unsigned int told;
	struct policy_verdict verdict;
	void (*also)(struct fixture_request *self);
	void *also_arg;
};

struct fixture {
	struct loop *loop;
	struct policy *policy;
	struct gateway *gw;
	struct gateway_client *client;
	struct gateway_config config;
	struct fixture_approver approver;
	char dir[64], audit[96], segments[96], answers[96];
	uint64_t aborted;
	unsigned int aborts, workers_gone;
};

extern struct fixture fixture;

/* `default ask`, execs 1 and 2 begun, somebody attached, an audit log. @more: lines of policy, or
 * NULL; with a ! in front they are all of the managed one. */
void fixture_open(const char *more);
/* As fixture_open(), after the test has changed fixture.config. */
void fixture_prepare(const char *more);
void fixture_start(void);
void fixture_close(void);
/* Steps until nothing moves any more. */
void fixture_settle(void);

struct policy_facts fixture_facts(const char *destination, uint64_t exec);
void fixture_submit(struct fixture_request *request, const char *destination, uint64_t exec);
/* submit, then settle. */
void fixture_ask(struct fixture_request *request, const char *destination, uint64_t exec);
void fixture_on_verdict(const struct policy_verdict *verdict, void *arg);
/* Answers the question asked last; settles. */
int fixture_answer(enum policy_action action, enum gateway_scope scope);
/* What is written stands in the audit log now, that of killed runs, too. */
void fixture_publish(void);
/* The file of a run that is in the folder of segments; there is one. */
#define FIXTURE_PATH_MAX 512
void fixture_segment(char ret[FIXTURE_PATH_MAX]);
/* The last one of @event, as it stands in the log. Returned owned. */
char *fixture_record(const char *event);
/* How many records of @event the audit log holds, with @reason unless NULL. Verifies it, too. */
unsigned int fixture_count_records(const char *event, const char *reason);

void fixture_expect(const struct fixture_request *request, enum policy_action action,
		    enum policy_reason reason);

/* What `copy` lists of @gw: an array, returned owned. */
char *fixture_copies(struct gateway *gw);

Suite *suite_questions(void);
Suite *suite_copies(void);
Suite *suite_endings(void);
Suite *suite_embedded(void);
Suite *suite_outcomes(void);
Suite *suite_permits(void);
Suite *suite_late(void);
Suite *suite_touch(void);
Suite *suite_record(void);
Suite *suite_reviews(void);
Suite *suite_sessions(void);
Suite *suite_answers(void);
Suite *suite_crowd(void);
Suite *suite_link(void);
Suite *suite_guests(void);
Suite *suite_link_frames(void);
Suite *suite_rings(void);
Suite *suite_audit(void);
Suite *suite_batches(void);
Suite *suite_tampering(void);
Suite *suite_checkpoint(void);
Suite *suite_audit_failing(void);
Suite *suite_audit_segments(void);
Suite *suite_power_cut(void);
Suite *suite_small(void);
Suite *suite_accounts(void);
Suite *suite_reload(void);
Suite *suite_who(void);
Suite *suite_lookups(void);
Suite *suite_bundle(void);
Suite *suite_unattended(void);
Suite *suite_budgets(void);
Suite *suite_reload(void);
Suite *suite_widths(void);
Suite *suite_ledger(void);
Suite *suite_floods(void);
Suite *suite_kept(void);
Suite *suite_keeping(void);
Suite *suite_reference(void);
Suite *suite_budgets(void);
