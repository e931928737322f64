/* judgement: what is decided about a request before it runs: whether to ask, and how it is
 * confined. */
#pragma once

#include "exec/orchestrator/orchestrator_request.h"

struct access_list;
struct setting;

struct judgement {
	enum orchestrator_requirement requirement;
	bool is_rule_open; /* a rule lets it run unconfined */
	bool is_rule_held; /* a rule allows it unconfined, but this session may not use that */
	bool is_confined, is_wider; /* is_wider: than its sandbox, so an answer is required */
	enum orchestrator_confinement confinement; /* what remains of request.confinement */
	struct command_file program;
	bool is_by_rule;                    /* by the policy, or the place; else by the mode */
	char reason[ORCHESTRATOR_TEXT_MAX]; /* why it is asked, or forbidden */
	char rule[ORCHESTRATOR_TEXT_MAX];   /* that decided; "": none */
};

/* Judges by the current rules. */
void judgement_make(const struct setting *setting, const struct orchestrator_request *wanted,
		    struct judgement *ret);
/* The rules may have changed since it was judged: do they deny it now? @judgement then names the
 * rule. */
bool judgement_is_denied_now(const struct setting *setting,
			     const struct orchestrator_request *wanted,
			     struct judgement *judgement);
/* The lines that "always" would store: returned owned, NULL-terminated; an empty list if there are
 * none. */
char **judgement_proposal(const struct setting *setting, const struct orchestrator_request *wanted,
			  const struct judgement *judgement);
/* The same for the accesses that a retry would be granted. */
char **judgement_retry_proposal(const struct access_list *offered);
