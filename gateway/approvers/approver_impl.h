/* To add an approver: write one file here that fills a struct approver_ops, add its line to table.c
 * and to meson.build, and run tests/contract over it. An approver puts questions to somebody and
 * answers them; it never decides, it may be slow, it may die. The gateway takes the first answer
 * and retracts the question from the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway_agent.h"
#include "gateway/gateway_review.h"

struct approver;

struct sink_record;

/* Something else than a destination that a program may be asked about: gateway_review(). The
 * gateway's own; lives until gateway_reviewed() or forget(). */
struct approver_review {
	enum policy_helper_kind kind;
	const char *object; /* what it is: one JSON object, on one line */
	int64_t timeout_ms; /* 0: the approver's own */
	void *job;          /* the approver's */
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
	/* Settled, here or elsewhere. */
	void (*retract)(struct approver *self, const struct approver_end *end);
	/* Every record as it is written, for those who show what happens; NULL: not wanted. From
	 * inside a turn: it must not call back. */
	void (*heard)(struct approver *self, const struct sink_record *record);
	/* Puts @review to the program, and tells what it said by gateway_reviewed(), once, from the
	 * loop. Not 0: it is not asked about that, or not now. NULL, with forget: it reviews
	 * nothing. */
	int (*review)(struct approver *self, struct approver_review *review);
	void (*forget)(struct approver *self, struct approver_review *review);
	enum gateway_review_by reviews_as; /* not ALL */
	/* A person has @review: what the program says of it is only compared. Not 0: it is not
	 * asked. Ends with compare(), what the person said, or forget(). NULL, with compare: it
	 * watches nothing. */
	int (*watch)(struct approver *self, struct approver_review *review);
	void (*compare)(struct approver *self, struct approver_review *review,
			enum policy_action by_person);
	void (*close)(struct approver *self);
};

extern const struct approver_ops *const approver_table[]; /* NULL-terminated; table.c */

/* For approvers. Settles question @id: 0; -ENOENT: finished or unknown (a late answer does
 * nothing); -EINVAL: no such answer; another -errno with @why: `always` could not be written, and
 * nothing was granted. */
int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why);
/* The same answer to @count questions, each for itself; *@ret_results holds as many results.
 * Returns how many were settled. */
int gateway_answer_many(struct gateway *gw, const char *const *ids, size_t count,
			const struct approver_answer *answer, int *ret_results, struct err *why);
/* Exactly what @answer would store for question @id, as policy language:
 * "https://example.org:443 for 1h upload 64k". -ENOENT, -EINVAL: as gateway_answer(). */
int gateway_answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
			char out[APPROVER_KEY_MAX], struct err *why);
/* A person is at question @id, and it is not to run out under the hands: once a question, its
 * deadline is moved to a minute from now, if it comes before that, and never past twice its time.
 * -ENOENT. */
int gateway_touch(struct gateway *gw, const char *id);
/* Calls @each for every open question, oldest first. */
void gateway_each_question(struct gateway *gw,
			   void (*each)(const struct approver_question *question, void *arg),
			   void *arg);
/* Calls @each, which must not call back, for the open questions asked after @serial, oldest first,
 * until it is false. Returns how many are left behind that one. */
size_t gateway_questions_after(struct gateway *gw, uint64_t serial,
			       bool (*each)(const struct approver_question *question, void *arg),
			       void *arg);
/* What an approver is shown of an open question; text is borrowed until the loop goes on. -ENOENT.
 */
int gateway_find_question(struct gateway *gw, const char *id, struct approver_question *ret);
/* The approver of @ops that was opened for @gw; NULL: it was not wanted. */
struct approver *gateway_find_approver(const struct gateway *gw, const struct approver_ops *ops);
void gateway_reviewed(struct approver_review *review, enum gateway_review_outcome outcome,
		      const char *by, const char *reason);
/* An approver came, or went: with nobody left to ask, open questions are denied. From the loop. */
void gateway_approvers_changed(struct gateway *gw);
