/* listing: lists commands, open questions and remembered answers. */
#pragma once

struct agent;
struct err;
struct submission;

int listing_serve(struct agent *agent, const struct submission *submission, struct err *why);
int listing_revoke(struct agent *agent, const struct submission *submission, struct err *why);
