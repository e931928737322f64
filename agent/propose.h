/* propose: a rule for a destination that nothing waits for yet, put to whoever answers the gateway.
 */
#pragma once

struct agent;
struct err;
struct submission;

int propose_serve(struct agent *agent, const struct submission *submission, struct err *why);
