/* rig: an orchestrator whose operations record their arguments, and do nothing. */
#pragma once

#include <check.h>

#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "exec/orchestrator/orchestrator.h"
#include "tests/unit/policies/commands/commands_test.h"

#define RIG_MAX    64
#define RIG_TEXT   512
#define RIG_CLIENT 7
#define RIG_PERSON SIZE_MAX

struct rig_question {
	char id[ORCHESTRATOR_ID_MAX];
	size_t decider; /* RIG_PERSON */
	uint64_t client, requests[RIG_MAX];
	size_t request_count;
	enum orchestrator_kind kind;
	bool is_retry, is_one_shot, is_confined;
	unsigned int choices;
	char accesses[RIG_TEXT], reason[RIG_TEXT], justification[RIG_TEXT], proposal[RIG_TEXT];
	struct exec_sandbox *sandbox;
	int64_t deadline_ms;
	unsigned int changes;
	bool is_retracted;
};
struct rig_started {
	uint64_t number, request;
	bool is_retry, is_confined, is_for_session, is_stopped, is_paused;
	size_t new_from;
	unsigned int pauses;
	struct exec_sandbox *sandbox;
	char accesses[RIG_TEXT], program[COMMAND_PATH_MAX], stop_why[RIG_TEXT];
};
/* What was written down about a request, and not yet come to anything else. */
struct rig_decided {
	uint64_t request;
	enum orchestrator_kind kind;
	enum orchestrator_by by;
	enum orchestrator_holds holds;
	bool is_allowed, is_retry, is_confined;
	char name[RIG_TEXT], grants[RIG_TEXT], rule[RIG_TEXT], words[RIG_TEXT];
};
struct rig_result {
	uint64_t request, execs[2];
	enum orchestrator_result_kind kind;
	bool is_abort;
	size_t exec_count;
	enum exec_end ends[2];
	void *outputs[2];
	size_t refusals[2];
	enum orchestrator_network_kind networks[2];
	uint64_t blocked[2];
	char why[RIG_TEXT], note[RIG_TEXT];
};
struct rig {
	struct loop *loop;
	struct orchestrator *orchestrator;
	struct orchestrator_config config;
	uint64_t last_exec;
	struct orchestrator_request request; /* the next one */
	struct rig_question questions[RIG_MAX];
	struct rig_started execs[RIG_MAX];
	struct rig_result results[RIG_MAX];
	char stored[RIG_MAX][RIG_TEXT]; /* lines, split by "|" */
	uint64_t stores[RIG_MAX];
	struct rig_decided decided[RIG_MAX];
	size_t question_count, exec_count, result_count, store_count, decided_count;
	int decided_error, ask_error, decide_error, start_error, store_error; /* of the next ones */
	struct command_rules *rules;
	struct exec_sandbox *sandbox;
};

/* /work is written, all else read, the network is the gate's. */
struct exec_sandbox *rig_sandbox(enum exec_mode mode, enum exec_network network,
				 const char *denied);
void rig_init(struct rig *rig, enum orchestrator_mode mode);
/* "allow git status" and so on, one a line. */
void rig_rules(struct rig *rig, const char *rules);
void rig_open(struct rig *rig); /* after the config was changed */
void rig_done(struct rig *rig);

/* Starts rig->request, or an exec of this line in it; then all that is due happens. */
uint64_t rig_start(struct rig *rig);
uint64_t rig_exec(struct rig *rig, const char *line);
uint64_t rig_permission(struct rig *rig, const char *path, uint64_t exec);
/* A person's answer to question @index; 0 or -errno. */
int rig_answer(struct rig *rig, size_t index, enum orchestrator_choice choice);
int rig_decide(struct rig *rig, size_t index, enum orchestrator_decision decision);
int rig_end(struct rig *rig, size_t index, const struct orchestrator_outcome *outcome);
int rig_exit(struct rig *rig, size_t index, int status);
/* Exits with 1, refused this: "write /a", "read /a", "socket /a", "call ptrace", "program /a",
 * "net a.test" (https, 443), "final net a.test"; more with "|" between. */
int rig_refuse(struct rig *rig, size_t index, const char *refusals);
int rig_block(struct rig *rig, size_t index, enum orchestrator_network_kind kind, const char *host);
/* The last of each; there is one. */
struct rig_question *rig_asked(struct rig *rig);
struct rig_started *rig_started(struct rig *rig);
struct rig_result *rig_ended(struct rig *rig);
struct rig_decided *rig_decided(struct rig *rig);

/* A value that is no other test's output. */
extern char rig_output[2];
TCase *tables_cases(void);
TCase *retries_cases(void);
TCase *commands_cases(void);
TCase *approvals_cases(void);
TCase *deciders_cases(void);
TCase *network_cases(void);
TCase *machine_cases(void);
TCase *values_cases(void);
TCase *judge_cases(void);
TCase *walks_cases(void);
