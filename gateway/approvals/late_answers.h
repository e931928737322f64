/* late_answers: answers to questions that have ended or never existed. They have no effect, their
 * senders are told so, and they are recorded: for each question the first few, and after that one
 * whenever their number has doubled, so that they cannot fill the disk. */
#pragma once

#include "policies/policies.h"

struct approval;
struct approver_answer;
struct gateway;
struct lates;

struct lates *late_answers_new(void);
void late_answers_done(struct lates *lates);
/* @approval has ended, as @reason and @how say. */
void late_answers_question_ended(const struct approval *approval, enum policy_reason reason,
				 const char *how);
/* @answer was given to question @id, which is not open. */
void late_answers_answer_came(struct gateway *gw, const char *id,
			      const struct approver_answer *answer);
