/* core: what the files of this folder share: an orchestrator, its calls, attempts and questions.
 *
 * A public function only writes down what happened and wakes whom it concerns; operations are
 * called from tasks of the loop (call_*, question_*, attempt_* tasks) and nowhere else. */
#pragma once

#include <sys/queue.h>

#include "base/digest.h"
#include "base/loop.h"
#include "exec/orchestrator/access.h"
#include "exec/orchestrator/approvals.h"
#include "exec/orchestrator/breaker.h"
#include "exec/orchestrator/key.h"
#include "exec/orchestrator/outcome.h"
#include "exec/orchestrator/orchestrator.h"
#include "exec/orchestrator/requirement.h"

struct question;

/* One run of a command; deferred ones outlive their call. */
struct attempt {
	TAILQ_ENTRY(attempt) entry;
	struct orchestrator *orchestrator;
	uint64_t number, call;
	char *environment;
	enum orchestrator_on_denial on_denial;
	bool is_running, is_deferred;
	struct outcome_record network;
	unsigned int pauses, told_questions; /* questions of it that are open; of those, the
						gateway's */
	bool is_told_paused, wants_stop, is_told_stop;
	char stop_why[ORCHESTRATOR_TEXT_MAX];
	struct loop_timer task;
};

/* What came of a question, for each call that waited on it. */
struct ruling {
	enum orchestrator_choice choice;
	enum orchestrator_result_kind rejected; /* DENY, ABORT: by whom */
	bool is_for_session;                    /* the gateway may remember it */
	char words[ORCHESTRATOR_TEXT_MAX], note[ORCHESTRATOR_TEXT_MAX];
};

/* What is known of a call before anything ran. */
struct judgement {
	enum orchestrator_requirement requirement;
	bool is_rule_held; /* a rule would have it unconfined, which this session may not be */
	bool is_confined, is_wider;  /* is_wider: than its sandbox, so only by an answer */
	enum orchestrator_wish wish; /* what is left of request.wish */
	struct command_file program;
	char reason[ORCHESTRATOR_TEXT_MAX]; /* of asking, or of forbidding */
};

enum call_state { CALL_NEW, CALL_ASKING, CALL_RULED, CALL_RUNNING, CALL_ENDED, CALL_STATES };
struct call {
	TAILQ_ENTRY(call) entry;
	struct orchestrator *orchestrator;
	uint64_t number;
	enum call_state state;
	bool is_cancelled;
	struct orchestrator_request request; /* a deep copy: request_drop() */
	struct judgement judgement;
	struct key_list keys;
	struct loop_timer task;

	struct question *question; /* that it waits on */
	TAILQ_ENTRY(call) waiting;
	bool is_retry;
	struct ruling ruling;
	uint64_t *paused; /* attempts whose clock its question holds */
	size_t paused_count;

	struct access_list granted;   /* to the attempt, in all; */
	size_t granted_before;        /* and so many of them before its question */
	struct access_list offered;   /* to the retry, by the open question */
	struct exec_sandbox *sandbox; /* of the attempt, when it is confined */
	bool is_confined, is_for_session;
	uint64_t attempt;                  /* the running one */
	struct orchestrator_result result; /* its outcomes are deep copies */
};

struct orchestrator {
	struct loop *loop;
	struct orchestrator_config config;
	struct command_rules *no_rules;
	uint64_t next_number;
	TAILQ_HEAD(, call) calls;
	TAILQ_HEAD(, attempt) attempts;
	TAILQ_HEAD(, question) questions;
	size_t call_count, attempt_count;
	struct approvals approvals;
	struct breaker breakers[ORCHESTRATOR_DECIDERS_MAX];
};
const struct command_rules *orchestrator_rules(const struct orchestrator *orchestrator);
