/* tool: what the client can do to a running command. Each function serves a submission: see
 * submission.c. */
#pragma once

struct agent;
struct err;
struct submission;

int tool_write_input(struct agent *agent, const struct submission *submission, struct err *why);
int tool_resize(struct agent *agent, const struct submission *submission, struct err *why);
int tool_poll(struct agent *agent, const struct submission *submission, struct err *why);
int tool_interrupt(struct agent *agent, const struct submission *submission, struct err *why);
int tool_cancel(struct agent *agent, const struct submission *submission, struct err *why);
