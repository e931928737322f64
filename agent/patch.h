/* patch: may the client's own tool change these files? Judged by where they are. */
#pragma once

struct agent;
struct err;
struct submission;

int patch_ask(struct agent *agent, const struct submission *submission, struct err *why);
