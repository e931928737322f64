/* To add an approver: gateway/approvers/NAME.c, which fills a struct approver_ops; one line each in
 * gateway/approvers/table.h and gateway/approvers/table.c; gateway/meson.build; the option that
 * enables it in struct gateway_config (gateway/gateway.h); the same in contract_open() of
 * tests/contract/contract.c, whose tests then cover it. Its command-line option is added like any
 * other. An approver shows questions to a person or a program and passes on the answers; it never
 * decides, it may be slow, it may fail. The gateway takes the first answer and retracts the
 * question from the other approvers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway_agent.h"
#include "gateway/gateway_agent_question.h"
#include "gateway/gateway_review.h"

struct approver;

struct sink_record;

/* A question to a program about something other than a destination: gateway_review(). The gateway
 * owns it, until gateway_reviewed() or forget(). */
struct approver_review {
	enum policy_helper_kind kind;
	const char *object; /* its description: one JSON object, on one line */
	int64_t timeout_ms; /* 0: the approver's own timeout */
	void *job;          /* the approver's own data */
};

/* A question that is not about a destination. Borrowed for the call; text is visible text. */
struct approver_agent_question {
	char id[APPROVER_ID_MAX];
	const char *kind;
	const struct gateway_agent_line *lines;
	size_t line_count;
	unsigned int choices; /* enum gateway_agent_choice */
	const char *typed;    /* "": nothing has to be typed */
	int64_t age_ms, left_ms;
};

struct approver_ops {
	const char *name;
	/* NULL and @why: it could not start. NULL with an empty @why: @config does not enable it.
	 * Keeps @gw. */
	struct approver *(*open)(struct gateway *gw, struct loop *loop,
				 const struct gateway_config *config, struct err *why);
	/* Can a person or a program answer now? */
	bool (*is_attached)(const struct approver *self);
	void (*ask)(struct approver *self,
		    const struct approver_question *question); /* a new question */
	void (*changed)(struct approver *self,
			const struct approver_question *question); /* more or fewer wait */
	/* The question ended, here or elsewhere. */
	void (*retract)(struct approver *self, const struct approver_end *end);
	/* A new question that is not about a destination; retract() ends it. NULL: it is not shown
	 * here. */
	void (*agent_asked)(struct approver *self, const struct approver_agent_question *question);
	/* Gets every record as it is written, for approvers that show activity; NULL: not wanted.
	 * Runs inside a turn: it must not call back. */
	void (*heard)(struct approver *self, const struct sink_record *record);
	/* Asks the program about @review, and passes its answer to gateway_reviewed(), once, from
	 * the loop. Not 0: the program is not asked about this, or not now. NULL, with forget: it
	 * reviews nothing. */
	int (*review)(struct approver *self, struct approver_review *review);
	void (*forget)(struct approver *self, struct approver_review *review);
	enum gateway_review_by reviews_as; /* not ALL */
	/* A person has @review: the program's answer is only compared. Not 0: it is not asked. Ends
	 * with compare(), with the person's answer, or with forget(). NULL, with compare: it
	 * compares nothing. */
	int (*watch)(struct approver *self, struct approver_review *review);
	void (*compare)(struct approver *self, struct approver_review *review,
			enum policy_action by_person);
	void (*close)(struct approver *self);
};

extern const struct approver_ops *const approver_table[]; /* NULL-terminated; table.c */

/* For approvers. Settles question @id: 0; -ENOENT: finished or unknown (a late answer has no
 * effect); -EINVAL: no such answer; -EINPROGRESS: `always` is being written: give the answer again
 * when gateway_when_kept() calls back; another -errno with @why: it could not be written, and
 * nothing was granted. */
int gateway_answer(struct gateway *gw, const char *id, const struct approver_answer *answer,
		   struct err *why);
/* Exactly what @answer would store for question @id, as policy language:
 * "https://example.org:443 for 1h upload 64k". -ENOENT, -EINVAL: as gateway_answer(). */
int gateway_answer_text(struct gateway *gw, const char *id, const struct approver_answer *answer,
			char out[APPROVER_KEY_MAX], struct err *why);
/* A person is answering question @id: if its deadline is less than a minute away, it is moved to a
 * minute from now, once per question and at most to twice the original time. -ENOENT. */
int gateway_touch(struct gateway *gw, const char *id);
/* Calls @each for every open question, oldest first. */
void gateway_each_question(struct gateway *gw,
			   void (*each)(const struct approver_question *question, void *arg),
			   void *arg);
/* Calls @each, which must not call back, for the open questions asked after @serial, oldest first,
 * until it returns false. Returns how many questions follow that one. */
size_t gateway_questions_after(struct gateway *gw, uint64_t serial,
			       bool (*each)(const struct approver_question *question, void *arg),
			       void *arg);
/* Fills in what an approver is shown of an open question; text is borrowed until the loop
 * continues. -ENOENT. */
int gateway_find_question(struct gateway *gw, const char *id, struct approver_question *ret);
/* Calls @each, which must not call back, for the open questions that are not about a destination.
 * Each stays valid until its question ends. */
void gateway_each_agent_question(struct gateway *gw,
				 void (*each)(const struct approver_agent_question *question,
					      void *arg),
				 void *arg);
bool gateway_has_agent_question(struct gateway *gw, const char *id);
/* Settles one: as gateway_answer(). @through: static. -EACCES: answer->typed is missing or wrong.
 */
int gateway_answer_agent(struct gateway *gw, const char *id, const struct approver_answer *answer,
			 const char *through, struct err *why);
/* The approver of @ops that was opened for @gw; NULL: it is not enabled. */
struct approver *gateway_find_approver(const struct gateway *gw, const struct approver_ops *ops);
void gateway_reviewed(struct approver_review *review, enum gateway_review_outcome outcome,
		      const char *by, const char *reason);
/* An approver attached or left: if none is attached, open questions are denied. From the loop. */
void gateway_approvers_changed(struct gateway *gw);
