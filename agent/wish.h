/* wish: what the client asks to be done or decided: commands, patches, permissions. Each serves a
 * submission: see submission.c. */
#pragma once

struct agent;
struct err;
struct submission;

int wish_exec(struct agent *agent, const struct submission *submission, struct err *why);
int wish_patch(struct agent *agent, const struct submission *submission, struct err *why);
int wish_permissions(struct agent *agent, const struct submission *submission, struct err *why);
int wish_elicitation(struct agent *agent, const struct submission *submission, struct err *why);
