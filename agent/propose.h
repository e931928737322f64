/* propose: puts a rule for a destination that no request waits for to the gateway's approvers. */
#pragma once

struct agent;
struct err;
struct session;
struct submission;

int propose_serve(struct agent *agent, const struct submission *submission, struct err *why);
/* The proposals of @session are not waited for any more. */
void propose_drop_all(struct session *session);
