/* To add an approver: write one file here that fills a struct approver_ops, add its line to table.c
 * and to meson.build, and run tests/contract over it. An approver puts questions to somebody and
 * answers them; it never decides, it may be slow, it may die. The gateway takes the first answer
 * and retracts the question from the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway.h"

struct approver;

#define APPROVER_ID_MAX       24 /* "7f3a-12" */
#define APPROVER_COMMANDS_MAX 8

/* Borrowed for the call. What is shown is exactly what is granted: @dst is the key. */
struct approver_question {
	char id[APPROVER_ID_MAX];
	struct policy_destination dst;
	unsigned int waiting;                        /* connections */
	unsigned int command_count;                  /* may exceed what @commands holds */
	const char *commands[APPROVER_COMMANDS_MAX]; /* visible text */
	const char *rule;                            /* why it is asked: "FILE:LINE: …" or "" */
	const char *because;
	int64_t age_ms, left_ms; /* since it was asked; until the deadline */
	bool is_private;         /* the host is a private address literal */
};

struct approver_answer {
	enum policy_action action; /* allow or deny */
	enum gateway_scope scope;
	bool is_abort;  /* deny, and end the commands that wait */
	const char *by; /* "ana on tty"; borrowed */
};

struct approver_ops {
	const char *name;
	/* NULL and @why: could not start. NULL with an empty @why: not wanted by @config. Keeps
	 * @gw. */
	struct approver *(*open)(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why);
	/* Somebody is there to answer. */
	bool (*is_attached)(const struct approver *self);
	void (*ask)(struct approver *self,
		    const struct approver_question *question); /* a new question */
	void (*changed)(struct approver *self,
			const struct approver_question *question); /* more or fewer wait */
	/* Settled, here or elsewhere; how: "allowed for session by ana on tty". */
	void (*retract)(struct approver *self, const char *id, const char *how);
	void (*close)(struct approver *self);
};

extern const struct approver_ops *const approver_table[]; /* NULL-terminated; table.c */

/* For approvers. Settles question @id: 0; -ENOENT: finished or unknown (a late answer does
 * nothing); -EINVAL: no such answer; another -errno with @why: `always` could not be written, and
 * nothing was granted. */
int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why);
/* Calls @each for every open question, oldest first. */
void gateway_each_question(struct gateway *gw,
			   void (*each)(const struct approver_question *question, void *arg),
			   void *arg);
/* An approver came, or went: with nobody left to ask, open questions are denied. From the loop. */
void gateway_approvers_changed(struct gateway *gw);
