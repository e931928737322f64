/* The tables of decisions, row by row. */
#include <stdio.h>
#include <string.h>

#include "exec/orchestrator/judging/requirement.h"
#include "tests/unit/exec/orchestrator/rig.h"

#define NO_SANDBOX (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_SANDBOX)
#define NO_RULES   (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_RULES)
#define NO_NETWORK (ORCHESTRATOR_MAY_ASK_ALL & ~ORCHESTRATOR_MAY_ASK_NETWORK)
#define ALL        ORCHESTRATOR_MAY_ASK_ALL

#define NEVER      ORCHESTRATOR_NEVER
#define UNTRUSTED  ORCHESTRATOR_UNTRUSTED
#define REQUEST    ORCHESTRATOR_ON_REQUEST
#define FAILURE    ORCHESTRATOR_ON_FAILURE
#define GRANULAR   ORCHESTRATOR_GRANULAR
#define FORBIDDEN  ORCHESTRATOR_FORBIDDEN
#define ASKED      ORCHESTRATOR_ASKED
#define SKIP       ORCHESTRATOR_SKIP
#define RESTRICTED EXEC_FILES_RESTRICTED
#define EXTERNAL   EXEC_FILES_EXTERNAL
#define FULL       EXEC_FILES_FULL

/* T1: a request that nothing says anything about. */
static const struct {
	enum orchestrator_mode mode;
	unsigned int categories;
	enum exec_files files;
	enum orchestrator_requirement want;
} usual[] = {
	{ NEVER, ALL, RESTRICTED, SKIP },
	{ NEVER, ALL, FULL, SKIP },
	{ NEVER, ALL, EXTERNAL, SKIP },
	{ FAILURE, ALL, RESTRICTED, SKIP },
	{ FAILURE, ALL, FULL, SKIP },
	{ FAILURE, ALL, EXTERNAL, SKIP },
	{ REQUEST, ALL, RESTRICTED, ASKED },
	{ REQUEST, ALL, FULL, SKIP },
	{ REQUEST, ALL, EXTERNAL, SKIP },
	{ GRANULAR, ALL, RESTRICTED, ASKED },
	{ GRANULAR, ALL, FULL, SKIP },
	{ GRANULAR, ALL, EXTERNAL, SKIP },
	{ GRANULAR, NO_SANDBOX, RESTRICTED, FORBIDDEN },
	{ GRANULAR, NO_SANDBOX, FULL, SKIP },
	{ GRANULAR, NO_SANDBOX, EXTERNAL, SKIP },
	{ GRANULAR, NO_RULES, RESTRICTED, ASKED },
	{ UNTRUSTED, ALL, RESTRICTED, ASKED },
	{ UNTRUSTED, ALL, FULL, ASKED },
	{ UNTRUSTED, ALL, EXTERNAL, ASKED },
	{ (enum orchestrator_mode)99, ALL, FULL, FORBIDDEN },
	{ (enum orchestrator_mode)99, ALL, RESTRICTED, FORBIDDEN },
};
START_TEST(usual_requirement)
{
	const struct requirement_asking asking = { usual[_i].mode, usual[_i].categories };

	ck_assert_int_eq(requirement_usual(&asking, usual[_i].files), usual[_i].want);
}
END_TEST

/* The older spelling's rows of T1: what it rejects is not asked about. */
static const struct {
	const char *spelling;
	enum exec_files files;
	enum orchestrator_requirement want;
} rejects[] = {
	{ "reject:sandbox", RESTRICTED, FORBIDDEN },
	{ "reject:sandbox", FULL, SKIP },
	{ "reject:sandbox", EXTERNAL, SKIP },
	{ "reject:", RESTRICTED, ASKED },
	{ "reject:rules,permissions,elicitation,network", RESTRICTED, ASKED },
};
START_TEST(usual_requirement_of_reject)
{
	struct requirement_asking asking;
	struct err why = { 0 };

	ck_assert_int_eq(orchestrator_mode_parse(rejects[_i].spelling, &asking.mode,
						 &asking.categories, &why),
			 0);
	ck_assert_int_eq(requirement_usual(&asking, rejects[_i].files), rejects[_i].want);
}
END_TEST

/* T2a: what no rule matches. */
#define USUAL     ORCHESTRATOR_USUAL
#define ACCESS    ORCHESTRATOR_WITH_ACCESS
#define ESCALATED ORCHESTRATOR_ESCALATED
#define FORBID    REQUIREMENT_FORBID
#define PROMPT    REQUIREMENT_PROMPT
#define ALLOW     REQUIREMENT_ALLOW
static const struct {
	enum orchestrator_mode mode;
	bool is_safe, is_dangerous, is_open;
	enum orchestrator_confinement confinement;
	enum requirement_fallback want;
} unmatched[] = {
	{ UNTRUSTED, 1, 0, 0, USUAL, ALLOW },     /* 1 */
	{ UNTRUSTED, 1, 0, 1, USUAL, ALLOW },     /* 1 */
	{ UNTRUSTED, 1, 0, 0, ESCALATED, ALLOW }, /* 1: that it is wider is asked elsewhere */
	{ UNTRUSTED, 1, 1, 0, USUAL, PROMPT },    /* 3: nothing is both; were it, it is asked */
	{ UNTRUSTED, 0, 0, 0, USUAL, PROMPT },    /* 5 */
	{ UNTRUSTED, 0, 0, 1, USUAL, PROMPT },    /* 5 */
	{ NEVER, 0, 1, 0, USUAL, FORBID },        /* 2 */
	{ NEVER, 0, 1, 1, USUAL, FORBID },        /* 2 */
	{ REQUEST, 0, 1, 1, USUAL, PROMPT },      /* 3, even without a sandbox */
	{ UNTRUSTED, 0, 1, 0, USUAL, PROMPT },    /* 3 */
	{ UNTRUSTED, 0, 1, 1, USUAL, PROMPT },    /* 3 */
	{ GRANULAR, 0, 1, 1, USUAL, PROMPT },     /* 3 */
	{ NEVER, 1, 1, 0, USUAL, FORBID },        /* 2 */
	{ FAILURE, 0, 1, 0, USUAL, PROMPT },      /* 3 */
	{ GRANULAR, 0, 1, 0, USUAL, PROMPT },     /* 3 */
	{ NEVER, 0, 0, 0, USUAL, ALLOW },         /* 4 */
	{ NEVER, 1, 0, 1, USUAL, ALLOW },         /* 4 */
	{ NEVER, 0, 0, 0, ESCALATED, ALLOW },     /* 4: that it is wider is refused elsewhere */
	{ REQUEST, 0, 0, 1, ESCALATED, ALLOW },   /* 6 */
	{ GRANULAR, 0, 0, 1, ACCESS, ALLOW },     /* 6 */
	{ REQUEST, 0, 0, 1, USUAL, ALLOW },       /* 6 */
	{ FAILURE, 0, 0, 1, ESCALATED, ALLOW },   /* 6 */
	{ REQUEST, 0, 0, 0, ESCALATED, PROMPT },  /* 7 */
	{ REQUEST, 1, 0, 0, ESCALATED, PROMPT },  /* 7: safe is not safe outside */
	{ REQUEST, 0, 0, 0, ACCESS, PROMPT },     /* 7 */
	{ GRANULAR, 0, 0, 0, ESCALATED, PROMPT }, /* 7 */
	{ GRANULAR, 0, 0, 0, ACCESS, PROMPT },    /* 7 */
	{ FAILURE, 0, 0, 0, ACCESS, PROMPT },     /* 7 */
	{ FAILURE, 0, 0, 0, ESCALATED, PROMPT },  /* 7 */
	{ REQUEST, 0, 0, 0, USUAL, ALLOW },       /* 8 */
	{ GRANULAR, 0, 0, 0, USUAL, ALLOW },      /* 8 */
	{ FAILURE, 0, 0, 0, USUAL, ALLOW },       /* 8 */
	{ 99, 1, 0, 1, USUAL, FORBID },
};
START_TEST(fallback)
{
	const struct requirement_unmatched of = {
		.mode = unmatched[_i].mode,
		.is_safe = unmatched[_i].is_safe,
		.is_dangerous = unmatched[_i].is_dangerous,
		.is_open = unmatched[_i].is_open,
		.confinement = unmatched[_i].confinement,
	};

	ck_assert_int_eq(requirement_fallback(&of), unmatched[_i].want);
}
END_TEST

/* T2b: the strictest of all pieces. */
static const struct {
	enum command_action action;
	bool is_understood, has_rules, is_dangerous;
	enum orchestrator_mode mode;
	unsigned int categories;
	enum orchestrator_requirement want;
	bool by_rule;
} strictest[] = {
	{ COMMAND_DENY, 1, 1, 0, REQUEST, ALL, FORBIDDEN, true },
	{ COMMAND_DENY, 1, 1, 0, UNTRUSTED, ALL, FORBIDDEN, true },
	{ COMMAND_ASK, 1, 1, 0, NEVER, ALL, FORBIDDEN, true },
	{ COMMAND_ASK, 1, 1, 0, GRANULAR, NO_RULES, FORBIDDEN, true },
	{ COMMAND_ASK, 1, 1, 0, GRANULAR, NO_SANDBOX, ASKED, true },
	/* A rule and a danger both: the rule's category counts. */
	{ COMMAND_ASK, 1, 1, 1, GRANULAR, NO_RULES, FORBIDDEN, true },
	{ COMMAND_ASK, 1, 1, 1, GRANULAR, NO_SANDBOX, ASKED, true },
	{ COMMAND_ASK, 1, 1, 0, REQUEST, ALL, ASKED, true },
	{ COMMAND_ASK, 1, 1, 0, FAILURE, ALL, ASKED, true },
	{ COMMAND_UNMATCHED, 1, 1, 1, GRANULAR, NO_SANDBOX, FORBIDDEN, false },
	{ COMMAND_UNMATCHED, 1, 1, 1, GRANULAR, NO_RULES, ASKED, false },
	{ COMMAND_UNMATCHED, 1, 1, 1, NEVER, ALL, FORBIDDEN, false },
	{ COMMAND_UNMATCHED, 1, 1, 0, REQUEST, ALL, SKIP, false },
	{ COMMAND_UNMATCHED, 1, 1, 0, UNTRUSTED, ALL, ASKED, false },
	{ COMMAND_ALLOW, 1, 1, 0, UNTRUSTED, ALL, SKIP, false },
	{ COMMAND_ALLOW, 1, 1, 0, NEVER, ALL, SKIP, false },
	/* Not understood: a rule may have meant it; without rules the sandbox protects. */
	{ COMMAND_ASK, 0, 1, 0, REQUEST, ALL, ASKED, true },
	{ COMMAND_ASK, 0, 1, 0, NEVER, ALL, FORBIDDEN, true },
	{ COMMAND_ASK, 0, 0, 0, REQUEST, ALL, SKIP, false },
	{ COMMAND_ASK, 0, 0, 0, NEVER, ALL, SKIP, false },
	{ COMMAND_ASK, 0, 0, 1, NEVER, ALL, FORBIDDEN, false },
	{ COMMAND_ASK, 0, 0, 0, UNTRUSTED, ALL, ASKED, false },
	{ 99, 1, 1, 0, NEVER, ALL, FORBIDDEN, true },
};
START_TEST(aggregate)
{
	const struct requirement_command command = {
		.asking = { strictest[_i].mode, strictest[_i].categories },
		.unmatched = { .mode = strictest[_i].mode,
			       .is_dangerous = strictest[_i].is_dangerous },
		.action = strictest[_i].action,
		.is_understood = strictest[_i].is_understood,
		.has_rules = strictest[_i].has_rules,
	};
	bool by_rule;

	ck_assert_int_eq(requirement_command(&command, &by_rule), strictest[_i].want);
	ck_assert(by_rule == strictest[_i].by_rule);
}
END_TEST

/* T3: the first exec. */
static const struct {
	bool has_denials;
	enum orchestrator_confinement confinement;
	bool is_rule;
	bool is_net_restricted;
	enum exec_files files;
	bool writes_all;
	bool is_confined, is_wider;
} first[] = {
	/* Where files are denied nothing leaves the sandbox. */
	{ 1, ESCALATED, 0, 1, RESTRICTED, 0, true, false },
	{ 1, USUAL, 1, 1, RESTRICTED, 0, true, false },
	{ 1, USUAL, 0, 0, FULL, 1, true, false },
	{ 0, ESCALATED, 0, 1, RESTRICTED, 0, false, true },
	{ 0, ESCALATED, 0, 0, FULL, 1, false, false },
	/* A rule that says unconfined; also with more asked for. */
	{ 0, USUAL, 1, 1, RESTRICTED, 0, false, false },
	{ 0, ACCESS, 1, 1, RESTRICTED, 0, false, false },
	{ 0, ACCESS, 0, 1, RESTRICTED, 0, true, false },
	{ 0, USUAL, 0, 1, RESTRICTED, 0, true, false },
	{ 0, USUAL, 0, 0, RESTRICTED, 0, true, false },
	{ 0, USUAL, 0, 0, RESTRICTED, 1, false, false },
	{ 0, USUAL, 0, 1, RESTRICTED, 1, true, false },
	{ 0, USUAL, 0, 1, FULL, 1, true, false },
	{ 0, USUAL, 0, 1, EXTERNAL, 1, true, false },
	{ 0, USUAL, 0, 0, EXTERNAL, 1, false, false },
	{ 0, USUAL, 0, 0, FULL, 1, false, false },
};
START_TEST(confinement)
{
	const struct requirement_run run = {
		.sandbox = { .files = first[_i].files,
			     .is_network_restricted = first[_i].is_net_restricted,
			     .writes_all = first[_i].writes_all,
			     .has_denials = first[_i].has_denials },
		.confinement = first[_i].confinement,
		.is_rule_unconfined = first[_i].is_rule,
	};

	ck_assert(requirement_is_confined(&run) == first[_i].is_confined);
	ck_assert(requirement_is_wider(&run) == first[_i].is_wider);
}
END_TEST

/* T4: after a denial. What was refused: d a destination an answer opens, o something else that it
 * opens, x something that it cannot. What may be offered: d, o, and u: nothing around it. */
static const struct {
	const char *refused; /* n: there is no gate, so no destination is opened */
	bool may_retry;
	enum orchestrator_mode mode;
	unsigned int categories;
	enum exec_files files;
	bool has_denials, may_unconfine;
	const char *want;
} gate[] = {
	{ "", 1, UNTRUSTED, ALL, RESTRICTED, 0, 1, "" },        /* 1: final, no host, no gate */
	{ "dn", 1, UNTRUSTED, ALL, RESTRICTED, 0, 0, "" },      /* 1 */
	{ "dn", 1, REQUEST, ALL, RESTRICTED, 0, 1, "" },        /* 1 */
	{ "don", 1, FAILURE, ALL, RESTRICTED, 0, 0, "o" },      /* 1, and 7 for the rest */
	{ "do", 0, UNTRUSTED, ALL, RESTRICTED, 0, 1, "" },      /* 2 */
	{ "do", 1, NEVER, ALL, RESTRICTED, 0, 1, "" },          /* 3 */
	{ "o", 1, REQUEST, ALL, RESTRICTED, 0, 1, "" },         /* 4 */
	{ "x", 1, REQUEST, ALL, RESTRICTED, 0, 1, "" },         /* 4 */
	{ "d", 1, REQUEST, ALL, RESTRICTED, 0, 1, "d" },        /* 5 */
	{ "do", 1, REQUEST, ALL, RESTRICTED, 0, 1, "d" },       /* 5, and 4 for the rest */
	{ "d", 1, REQUEST, ALL, FULL, 0, 1, "" },               /* 5: it would be skipped */
	{ "o", 1, GRANULAR, NO_SANDBOX, RESTRICTED, 0, 1, "" }, /* 6 */
	{ "do", 1, GRANULAR, NO_SANDBOX, RESTRICTED, 0, 1, "d" },
	{ "do", 1, GRANULAR, NO_NETWORK, RESTRICTED, 0, 0, "o" },
	{ "o", 1, FAILURE, ALL, RESTRICTED, 0, 0, "o" },    /* 7 */
	{ "o", 1, UNTRUSTED, ALL, RESTRICTED, 0, 0, "o" },  /* 7 */
	{ "do", 1, GRANULAR, ALL, RESTRICTED, 0, 0, "do" }, /* 7 */
	{ "do", 1, FAILURE, ALL, RESTRICTED, 0, 1, "dou" }, /* the last choice */
	{ "x", 1, FAILURE, ALL, RESTRICTED, 0, 1, "u" },
	{ "x", 1, FAILURE, ALL, RESTRICTED, 0, 0, "" },
	{ "o", 1, FAILURE, ALL, RESTRICTED, 1, 1, "o" },     /* 8: never without a sandbox */
	{ "do", 1, UNTRUSTED, ALL, RESTRICTED, 1, 1, "do" }, /* 8 */
	{ "x", 1, UNTRUSTED, ALL, RESTRICTED, 1, 1, "" },    /* 8 */
	{ "do", 1, GRANULAR, NO_NETWORK, RESTRICTED, 0, 1,
	  "o" }, /* without one is without a gate */
};
START_TEST(escalation)
{
	bool has_other = strpbrk(gate[_i].refused, "ox") != NULL;
	const struct requirement_retry retry = {
		.asking = { gate[_i].mode, gate[_i].categories },
		.sandbox = { .files = gate[_i].files,
			     .is_network_restricted = !strchr(gate[_i].refused, 'n'),
			     .has_denials = gate[_i].has_denials },
		.may_retry = gate[_i].may_retry,
		.may_unconfine = gate[_i].may_unconfine,
		.has_destinations = strchr(gate[_i].refused, 'd') != NULL,
		.has_others = strchr(gate[_i].refused, 'o') != NULL,
		.is_other_than_net = has_other,
	};
	struct requirement_offer may = requirement_retry(&retry);
	char got[4];

	(void)snprintf(got, sizeof(got), "%s%s%s", may.destinations ? "d" : "",
		       may.others ? "o" : "", may.unconfined ? "u" : "");
	ck_assert_str_eq(got, gate[_i].want);
}
END_TEST

/* T7: the choices. D deny, A abort, 1 once, S session, P always (proposal), N deny always, U
 * unconfined. */
static const struct {
	bool is_retry, is_one_shot, is_confined, has_accesses, is_net_only, has_keys, has_proposal,
		may_unconfine;
	const char *want;
	bool is_no_exec;
} choices[] = {
	{ 0, 0, 1, 0, 0, 1, 0, 0, "DA1S" },
	{ 0, 0, 1, 0, 0, 1, 1, 0, "DA1SP" },
	{ 0, 0, 1, 0, 0, 0, 0, 0, "DA1" },
	{ 0, 0, 0, 0, 0, 1, 1, 1, "DA1S" }, /* no rule says unconfined */
	{ 0, 0, 1, 1, 0, 1, 1, 0, "DA1" },  /* more than the sandbox gives */
	{ 0, 1, 1, 0, 0, 1, 1, 1, "DA1" },
	{ 1, 0, 1, 1, 0, 0, 0, 0, "DA1" },
	{ 1, 0, 1, 1, 0, 1, 1, 1, "DA1SPU" },
	{ 1, 0, 1, 1, 0, 1, 0, 0, "DA1S" }, /* no line of a policy says it */
	{ 1, 0, 1, 1, 0, 0, 1, 0, "DA1" },  /* a program: not for longer */
	{ 1, 0, 1, 0, 0, 0, 0, 1, "DAU" },  /* nothing less would do */
	{ 1, 0, 1, 1, 1, 1, 1, 0, "DA1SPN" },
	{ 1, 0, 1, 1, 1, 1, 0, 0, "DA1S" },
	{ 1, 0, 1, 1, 1, 1, 1, 1, "DA1SPNU" },
	{ 0, 0, 1, 1, 0, 0, 0, 0, "DA1" },
	{ 0, 0, 1, 1, 0, 1, 0, 0, "DA1S", true },
	{ 0, 0, 1, 1, 1, 1, 1, 0, "DA1S", true },
	{ 0, 0, 1, 1, 0, 0, 0, 0, "DA1", true },
	{ 0, 1, 1, 1, 0, 1, 0, 0, "DA1", true },
	{ 0, 0, 1, 0, 0, 0, 0, 0, "DA1", true },
};
START_TEST(offered_choices)
{
	static const struct {
		char letter;
		enum orchestrator_choice choice;
	} letters[] = {
		{ 'D', ORCHESTRATOR_DENY },       { 'A', ORCHESTRATOR_ABORT },
		{ '1', ORCHESTRATOR_ONCE },       { 'S', ORCHESTRATOR_SESSION },
		{ 'P', ORCHESTRATOR_ALWAYS },     { 'N', ORCHESTRATOR_DENY_ALWAYS },
		{ 'U', ORCHESTRATOR_UNCONFINED },
	};
	const struct requirement_choices of = {
		.is_retry = choices[_i].is_retry,
		.is_no_exec = choices[_i].is_no_exec,
		.is_one_shot = choices[_i].is_one_shot,
		.is_confined = choices[_i].is_confined,
		.has_accesses = choices[_i].has_accesses,
		.is_destinations_only = choices[_i].is_net_only,
		.has_keys = choices[_i].has_keys,
		.has_proposal = choices[_i].has_proposal,
		.may_unconfine = choices[_i].may_unconfine,
	};
	unsigned int got = requirement_choices(&of);
	char text[8] = "";
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(letters); i++) {
		if (got & BIT(letters[i].choice))
			text[len++] = letters[i].letter;
	}
	ck_assert_str_eq(text, choices[_i].want);
}
END_TEST

/* Which categories a question needs, all of them. */
static const struct {
	enum orchestrator_mode mode;
	unsigned int categories, needed;
	enum orchestrator_requirement want;
} asking[] = {
	{ NEVER, ALL, ORCHESTRATOR_MAY_ASK_NETWORK, FORBIDDEN },
	{ GRANULAR, ALL, ALL, ASKED },
	{ GRANULAR, 0, ORCHESTRATOR_MAY_ASK_NETWORK, FORBIDDEN },
	{ GRANULAR, NO_NETWORK, ORCHESTRATOR_MAY_ASK_PERMISSIONS, ASKED },
	{ GRANULAR, NO_NETWORK, ORCHESTRATOR_MAY_ASK_PERMISSIONS | ORCHESTRATOR_MAY_ASK_NETWORK,
	  FORBIDDEN },
	{ REQUEST, 0, ALL, ASKED },
	{ FAILURE, 0, ORCHESTRATOR_MAY_ASK_ELICITATION, ASKED },
	{ UNTRUSTED, 0, ORCHESTRATOR_MAY_ASK_RULES, ASKED },
};
START_TEST(categories)
{
	const struct requirement_asking of = { asking[_i].mode, asking[_i].categories };

	ck_assert_int_eq(requirement_ask(&of, asking[_i].needed), asking[_i].want);
}
END_TEST

TCase *tables_cases(void)
{
	TCase *cases = tcase_create("tables");

	tcase_add_loop_test(cases, usual_requirement, 0, ARRAY_SIZE(usual));
	tcase_add_loop_test(cases, usual_requirement_of_reject, 0, ARRAY_SIZE(rejects));
	tcase_add_loop_test(cases, fallback, 0, ARRAY_SIZE(unmatched));
	tcase_add_loop_test(cases, aggregate, 0, ARRAY_SIZE(strictest));
	tcase_add_loop_test(cases, confinement, 0, ARRAY_SIZE(first));
	tcase_add_loop_test(cases, escalation, 0, ARRAY_SIZE(gate));
	tcase_add_loop_test(cases, offered_choices, 0, ARRAY_SIZE(choices));
	tcase_add_loop_test(cases, categories, 0, ARRAY_SIZE(asking));
	return cases;
}
