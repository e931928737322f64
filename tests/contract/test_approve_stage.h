/* test_approve_stage: gateways with their control sockets, and `sallyport approve` in a process of
 * its own, as always. */
#pragma once

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "gateway/gateway.h"

#define STAGE_OUTPUT_MAX 65536

struct loop;

/* A gateway, and the results of its requests. */
struct run {
	char id[16];
	struct gateway *gw;
	struct gateway_client *client;
	unsigned int told;
	struct policy_verdict verdict;
};

/* A command under way. */
struct child {
	pid_t pid;
	int input, output;
	size_t len;
	char text[STAGE_OUTPUT_MAX];
};

/* The values that a test reads. */
struct stage {
	char dir[64];
	char *control_dir, *answers_path;
	struct loop *loop;
	struct policy *policy;
	struct run runs[2];
	struct child watcher;
	char output[STAGE_OUTPUT_MAX]; /* stdout and stderr of the last command that ended */
};
extern struct stage stage;

/* Fixture: a loop, a policy that asks, a directory; no gateway yet. */
void stage_setup(void);
void stage_teardown(void);
void stage_run_open(struct run *run, const char *id);
void stage_run_close(struct run *run);

/* Requests @destination of @run; the verdict is counted there. */
void stage_ask(struct run *run, const char *destination);
void stage_until_told(struct run *run, unsigned int told);

void stage_child_start(struct child *child, const char *words);
/* One turn of everything. True: the command has ended. */
bool stage_child_turn(struct child *child);
/* Waits until @text was printed. */
void stage_child_until(struct child *child, const char *text);
void stage_child_say(struct child *child, const char *line);
/* Waits for it; the exit status. */
int stage_child_end(struct child *child);
/* `sallyport approve WORDS`, to its end. */
int stage_approve(const char *words);
/* A watcher, so that questions are asked; after it has connected to the run 7f3a. */
void stage_watch(const char *words);
void stage_end_watch(int status);

TCase *tcase_ledger(void);
