/* exec_request: reads and checks a command that the client wants to run, and passes it to the
 * session's orchestrator. */
#pragma once

struct agent;
struct err;
struct submission;

/* Serves a submission: see submission.c. */
int exec_request_serve(struct agent *agent, const struct submission *submission, struct err *why);
