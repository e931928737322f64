/* policies_test: functions that the cases of this folder share. */
#pragma once

#include <check.h>

#include "policies/policies_limits.h"
#include "policies/policies_tools.h"

TCase *agent_cases(void);
TCase *approvers_cases(void);
TCase *askers_cases(void);
TCase *hosts_cases(void);
TCase *addresses_cases(void);
TCase *language_cases(void);
TCase *errors_cases(void);
TCase *clauses_cases(void);
TCase *layers_cases(void);
TCase *layer_files_cases(void);
TCase *limits_cases(void);
TCase *decide_cases(void);
TCase *properties_cases(void);
TCase *files_cases(void);
TCase *answers_cases(void);
TCase *answers_text_cases(void);
TCase *catalogue_cases(void);
TCase *diff_cases(void);
TCase *diff_clauses_cases(void);
TCase *diff_requests_cases(void);
TCase *format_cases(void);
TCase *image_cases(void);
TCase *commands_cases(void);
TCase *configured_cases(void);
TCase *request_cases(void);
TCase *homograph_cases(void);
TCase *resembles_cases(void);
TCase *upstreams_cases(void);
TCase *protected_cases(void);
TCase *credentials_cases(void);

/* Loads and finishes @text, or fails the test with what was wrong. Returned owned. */
struct policy *policies_test_load(const char *text);
/* "http+a.test:8000" is what an absolute-form request sends; else as policy_destination_parse(),
 * carrying its protocol. */
void policies_test_facts(const char *request, struct policy_facts *ret);
void policies_test_decide(const struct policy *policy, const char *request,
			  struct policy_verdict *ret);

/* How often a property is tried: @all times, or a sixth of it for `./dev test --quick`. */
size_t policies_test_rounds(size_t all);

/* The same numbers in every run (xorshift32). */
struct policies_test_random {
	uint32_t state;
};
uint32_t policies_test_below(struct policies_test_random *random, uint32_t bound);

/* The obvious evaluator: rules as they were made, compared one by one, no index, no strength order
 * but the one written down. What policy_decide() says must be the same. */
#define OBVIOUS_RULES_MAX 12
struct obvious_destination {
	unsigned int host;     /* in the table of hosts */
	unsigned int ports;    /* in the table of ports */
	unsigned int protocol; /* in the table of protocols */
};
struct obvious_rule {
	unsigned int action; /* deny, ask, allow, answer deny, answer allow */
	struct obvious_destination destination;
	bool has_exception;
	struct obvious_destination exception;
	unsigned int layer; /* in the table of layers; 0 when they are not wanted */
	unsigned int end;   /* in the table of ends; 0: none */
};
#define OBVIOUS_LAYERS   4
#define OBVIOUS_ONLY_MAX 2
#define OBVIOUS_START    1700000000 /* of policies by obvious_load() */
struct obvious_policy {
	struct obvious_rule rules[OBVIOUS_RULES_MAX];
	size_t count;
	enum policy_action fallback;
	struct obvious_destination only[OBVIOUS_ONLY_MAX];
	size_t only_count;
};
void obvious_make(struct policies_test_random *random, struct obvious_policy *ret);
/* The same with layers, ends and `only`: for obvious_load(). Requests have a time then. */
void obvious_make_whole(struct policies_test_random *random, struct obvious_policy *ret);
/* Loads it layer by layer, and finishes it. Returned owned. */
struct policy *obvious_load(const struct obvious_policy *policy);
/* Returned owned. */
char *obvious_text(const struct obvious_policy *policy);
void obvious_request(struct policies_test_random *random, struct policy_facts *ret);
enum policy_action obvious_decide(const struct obvious_policy *policy,
				  const struct policy_facts *facts);
