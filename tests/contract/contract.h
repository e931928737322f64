/* contract: the rules that every approver and every sink of the tables has to follow. */
#pragma once

#include <check.h>
#include <stddef.h>

#include "gateway/gateway.h"
#include "gateway/gateway_metrics.h"
#include "gateway/gateway_syslog.h"
#include "gateway/gateway_tools.h"

/* A folder of the test's own, and a configuration that points every path into it. a.test
 * was allowed there before. */
struct contract_place {
	char dir[64], audit[96], answers[96], seen[96];
	struct gateway_syslog syslog; /* nobody receives there */
	struct gateway_web web;
	struct gateway_metrics metrics;
	struct gateway_config config;
};

void contract_open(struct contract_place *place);
/* Sets the operator's programs from the next opening on: a script for sh(1). */
void contract_script(const char *text);
/* Removes it, whatever is in it. */
void contract_close(struct contract_place *place);
/* Descriptors open in this process. */
size_t contract_count_fds(void);

/* The page, by bytes: a connection to it; and the fields of one that was entered. Returned owned.
 */
int contract_web_connect(const struct gateway_web *web);
char *contract_web_enter(const struct gateway_web *web, void (*settle)(void));

Suite *suite_approver_contract(void);
Suite *suite_approver_ends(void);
Suite *suite_sink_contract(void);
Suite *suite_review_contract(void);
