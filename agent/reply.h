/* reply: the client's answers to what it was asked. */
#pragma once

struct agent;
struct err;
struct submission;

int reply_serve(struct agent *agent, const struct submission *submission, struct err *why);
