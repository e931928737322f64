/* intercept: every execve(2) inside waits here for its judgement, and what runs then is what was
 * judged, or nothing. */
#pragma once

#include <linux/seccomp.h>

#include "exec/exec.h"
#include "exec/inside.h"

struct evidence;
struct intercept;
struct loop;
struct plan;

struct intercept_config {
	struct loop *loop;
	const struct plan *plan;
	const struct inside *inside;
	struct evidence *evidence;
	exec_program_fn fn;
	void *arg;
};

/* All of @config is borrowed. Returned owned. */
struct intercept *intercept_new(const struct intercept_config *config);
/* The sandbox has been killed: waits for what is traced. */
void intercept_free(struct intercept *intercept);

/* @listener told of @request; its answer follows, now or later. */
void intercept_ask(struct intercept *intercept, int listener, const struct seccomp_notif *request);
/* As exec_program_answer(). */
int intercept_answer(struct intercept *intercept, uint64_t id, bool is_allowed);
