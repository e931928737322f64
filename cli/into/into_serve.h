/* into_serve: a run's side of `sallyport exec --into`: only its own user, from outside of every
 * sandbox, can connect. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct exec_into_config;
struct exec_process_result;
struct into_serve;
struct loop;

struct into_serve_config {
	struct loop *loop;
	const char *control_dir, *run; /* copied */
	/* Records the command and starts it: exec_into_start(). @is_typed: a terminal is its
	 * standard input. 0, or the exit status with @why. */
	int (*start)(struct exec_into_config *config, bool is_typed, uint64_t *ret, struct err *why,
		     void *arg);
	void (*signal)(uint64_t number, int signal, void *arg);
	void (*drop)(uint64_t number, void *arg); /* its client is gone */
	void (*ended)(uint64_t number, const struct exec_process_result *result, void *arg);
	void *arg;
};

/* Returned owned; NULL with @why. */
struct into_serve *into_serve_new(const struct into_serve_config *config, struct err *why);
void into_serve_free(struct into_serve *serve); /* drops what still runs; NULL is fine */
