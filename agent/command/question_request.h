/* question_request: the client's own questions, which need the same approval as commands: may its
 * tool change these files, may the next command access these paths, and questions of a tool. Each
 * function serves a submission: see submission.c. */
#pragma once

struct agent;
struct err;
struct submission;

/* Judged by the real paths of the files. */
int question_request_patch(struct agent *agent, const struct submission *submission,
			   struct err *why);
int question_request_permissions(struct agent *agent, const struct submission *submission,
				 struct err *why);
int question_request_elicitation(struct agent *agent, const struct submission *submission,
				 struct err *why);
