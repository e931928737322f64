/* reply: serves the client's answers to its questions. */
#pragma once

struct agent;
struct err;
struct submission;

int reply_serve(struct agent *agent, const struct submission *submission, struct err *why);
