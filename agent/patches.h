/* patches: approved patches between their approval and their end: the client applies them, and
 * tells how that went. */
#pragma once

#include <stdbool.h>

struct agent;
struct err;
struct submission;
struct task;

/* Tells the client that it may apply the patch of @task. @is_unasked: nobody was asked about it. */
void patches_begin(const struct task *task, bool is_unasked);
/* Serves "patch_applied". */
int patches_serve_applied(struct agent *agent, const struct submission *submission,
			  struct err *why);
