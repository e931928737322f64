/* gate: all of a run but its commands: places, policy, gateway, worker, and the policy's files
 * watched. `run` has one command behind it, others have many. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/run_helpers.h"
#include "cli/run_impl.h"
#include "cli/run_reload.h"
#include "exec/exec.h"
#include "gateway/gateway.h"
#include "gateway/gateway_agent.h"
#include "gateway/gateway_tools.h"

#define GATE_ID_BYTES 3

/* All from the loop; all may be NULL. */
struct gate_calls {
	void (*hold)(void *arg); /* a question is on the terminal: keep still */
	void (*release)(void *arg);
	void (*on_abort)(uint64_t exec, void *arg);
	void (*on_worker_gone)(void *arg); /* the way out is closed */
	/* Another policy is in force; the one before is about to be freed. */
	void (*on_policy)(const struct policy *policy, void *arg);
	void *arg;
	const struct gateway_embedded *embedded; /* of the gateway; kept */
};

/* gate_prepare() fills what is above the line, gate_open() the rest; gate_close() and gate_free()
 * may be called at any time, in this order. Begins as GATE_NONE. */
struct gate {
	struct run_options *options; /* kept */
	char id[GATE_ID_BYTES * 2 + 1];
	struct run_places places;
	struct run_sources sources;
	struct run_loaded loaded;
	struct policy *policy;
	/* */
	struct gate_calls calls;
	struct run_reload *reload;
	struct run_view view; /* of gate_view(): what commands may see and change */
	pid_t worker;
	int worker_socket, tty;
	struct gateway_terminal terminal;
	struct run_helpers *helpers;
	struct gateway_web web;
	struct loop *loop;
	struct gateway *gateway;
	struct run_bundle *bundle;
};
#define GATE_NONE ((struct gate){ .worker_socket = -1, .tty = -1 })

/* An id, the places, the policy. An exit status; says what is wrong, as all here. */
int gate_prepare(struct gate *gate, struct run_options *options);
/* The loop, unless there is one, the programs that help, the gateway. */
int gate_open(struct gate *gate, const struct gate_calls *calls);
/* The part of it that notes what nobody answers, where that is wanted: now, while no path is a
 * command's yet. */
int gate_open_bundle(struct gate *gate);
/* Forks the worker; the link to it is left in `worker_socket`. */
int gate_fork_worker(struct gate *gate);
/* The same, and the gateway serves it. Nothing can reach listeners before the gateway has handed
 * them on: also after exec_start(). */
int gate_start_worker(struct gate *gate);
/* Reads the policy again when its files change, as what commands may write allows. After the fork
 * of the worker, which has no use for it. */
void gate_watch(struct gate *gate);
/* A full file or a reader that left is an error of the write, not the end of the gate. */
void gate_ignore_signals(void);
/* The files that it goes by besides the policy's own: programs that decide, and what `configured`
 * reads. Returned owned. */
char **gate_guarded(const struct gate *gate);
/* Commands may write below @paths, too. Not 0 with @why: what says the policy lies there. */
int gate_widen(struct gate *gate, char *const *paths, struct err *why);
const char *gate_session(const struct gate *gate); /* its name in records */

/* Finds what commands may see and change, once. An exit status. */
int gate_view(struct gate *gate);
/* Fills what every command of @gate has in common; borrows @gate. */
void gate_apply(const struct gate *gate, struct exec_plan_config *ret);

/* Ends the worker and the gateway, which denies who waits; what the kernel takes down meanwhile may
 * be freed between these two. */
void gate_close(struct gate *gate);
void gate_free(struct gate *gate);
