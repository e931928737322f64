/* late: answers to a question that is over, or that there never was. They do nothing, their senders
 * are told so, and they are recorded: of each question the first few, and then whenever there are
 * twice as many, so that nobody fills the disk with them. */
#pragma once

#include <stdint.h>

#include "gateway/bounds.h"

struct approval;
struct approver_answer;
struct gateway;
struct late;

struct lates {
	struct late *ended[GATEWAY_LATE_QUESTIONS_MAX]; /* a ring: the oldest is forgotten */
	uint64_t count;                                 /* that ended */
	uint64_t strays; /* answers to questions that are not among them */
};

void late_done(struct lates *lates);
/* @approval ends, as @how says. */
void late_question_ended(const struct approval *approval, const char *how);
/* @answer came to question @id, which is not open. */
void late_answer_came(struct gateway *gw, const char *id, const struct approver_answer *answer);
