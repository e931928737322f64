/* run_gateway: the gateway of a run, which is its own in this process, or that of a session in
 * another. To add a kind: write a file that fills the table, with a function that run.c calls in
 * place of gate_prepare(). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "gateway/gateway_note.h"

struct exec_process_result;
struct gateway_refused;
struct run_gateway;
struct run_summary;

/* All are called from the loop, and never inside a call of the table. */
struct run_gateway_calls {
	void (*hold)(void *arg); /* as in struct gateway_terminal */
	void (*release)(void *arg);
	void (*on_kill)(const char *why, bool is_by_person, void *arg); /* the command must end */
	void (*on_over)(void *arg); /* the end that end() began is complete; once */
	void *arg;
};

/* In the order of a run. Each int is an exit status, and the error has been printed. */
struct run_gateway_ops {
	/* Adds the paths that no command may see or change to those of the gate's view, once there
	 * is a view. */
	void (*narrow)(struct run_gateway *self);
	/* Opens the gateway and the loop. Keeps @calls. */
	int (*open)(struct run_gateway *self, const struct run_gateway_calls *calls);
	int (*begin)(struct run_gateway *self); /* announces the exec, before it is started */
	int (*start_worker)(struct run_gateway *self);
	void (*watch)(struct run_gateway *self); /* policy files; after the worker's fork */
	/* Takes @fds. 0 or -errno. */
	int (*open_way)(struct run_gateway *self, int *fds, size_t count);
	/* Records these. */
	void (*refused)(struct run_gateway *self, const struct gateway_refused *refused);
	void (*note)(struct run_gateway *self, enum gateway_note what, const char *path,
		     const char *words);
	/* The exec has ended with @result; on_over() follows soon. */
	void (*end)(struct run_gateway *self, const struct exec_process_result *result);
	/* After on_over(): what was contacted, and under which name it is recorded. */
	void (*report)(const struct run_gateway *self, struct run_summary *ret);
	/* The run ends with exit status @status. Returns NULL if its end is recorded, else the
	 * reason why not, borrowed. */
	const char *(*conclude)(struct run_gateway *self, int status);
	/* Frees @self, and closes the gate: gate_close(). */
	void (*close)(struct run_gateway *self);
};

/* Embedded in each implementation. */
struct run_gateway {
	const struct run_gateway_ops *ops;
};
