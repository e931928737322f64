/* intercept: every execve(2) inside waits here for its judgement. Then the file that was judged
 * runs, or nothing. */
#pragma once

#include <linux/seccomp.h>

#include "exec/notify/inside.h"

struct evidence;
struct failure;
struct intercept;
struct loop;
struct notify_shared;
struct plan;
struct program;

#define INTERCEPT_ASKED_MAX 128 /* open questions at once */

/* @program is about to be executed, by the kernel's @request; the file is held open until
 * intercept_answer(@id). @slot, below INTERCEPT_ASKED_MAX, is unique among the open questions. */
typedef void (*intercept_program_fn)(uint64_t id, uint32_t slot, uint64_t request,
				     const struct program *program, void *arg);

struct intercept_config {
	struct loop *loop;
	const struct plan *plan;
	const struct inside *inside;
	struct evidence *evidence;
	struct failure *failure;
	struct notify_shared *shared; /* shows when something takes long */
	intercept_program_fn fn;
	void *arg;
};

/* All of @config is borrowed. Returned owned; it lives as long as the process. */
struct intercept *intercept_new(const struct intercept_config *config);

/* @listener reported @request; it is answered now or later. */
void intercept_ask(struct intercept *intercept, int listener, const struct seccomp_notif *request);
/* Has no effect if the question is not open any more. */
void intercept_answer(struct intercept *intercept, uint64_t id, bool is_allowed);
