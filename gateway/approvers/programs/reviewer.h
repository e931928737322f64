/* reviewer: a program that is asked like a person and may allow once, deny, or abstain. Its answers
 * are compared with people's until it has been right often enough to be used; docs/decisions/0024.
 * Private to reviewer*.c. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/process/child.h"
#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/programs/reviewer_breaker.h"
#include "gateway/approvers/programs/reviewer_line.h"
#include "gateway/approvers/programs/reviewer_memory.h"
#include "gateway/gateway_tools.h"

#define REVIEWER_TIMEOUT_MS      10000
#define REVIEWER_QUESTIONS_MAX   256
#define REVIEWER_ASKED_MAX       8    /* sent, without an answer yet */
#define REVIEWER_TRIES_MAX       4    /* of one question, one each time more commands wait on it */
#define REVIEWER_IGNORED_MAX     1000 /* unexpected answers; one more is a failure */
#define REVIEWER_QUEUE_MAX_BYTES (1U << 20)
#define REVIEWER_LOG_LINES_MAX   20 /* of its stderr, after each start */
#define REVIEWER_LOG_LINE_MAX    512
#define REVIEWER_SAVE_MS         200 /* delay between a comparison and writing it */

struct event;
struct evbuffer;

/* The process, and the lines exchanged with it. */
struct reviewer_helper {
	struct approver *owner;
	struct child child;
	struct event *read_event, *write_event, *log_event;
	struct evbuffer *in, *out, *log;
	unsigned int log_lines;
	unsigned int starts; /* lets a callback notice that the process was replaced */
	bool has_answered;
};

void reviewer_helper_init(struct reviewer_helper *helper, struct approver *owner);
/* Sends @line; starts the program if it does not run. 0, or -errno: nothing was sent. */
int reviewer_helper_say(struct reviewer_helper *helper, const char *line);
void reviewer_helper_stop(struct reviewer_helper *helper); /* stopped already is fine */

enum reviewer_state { REVIEWER_QUEUED, REVIEWER_ASKED, REVIEWER_SAID };

struct reviewer_question {
	struct approver *owner;
	char id[APPROVER_ID_MAX];
	char sent[REVIEWER_ID_MAX]; /* the id it was sent under */
	char key[DIGEST_TEXT_MAX];  /* of @what */
	json_t *what;
	int64_t due_ms;
	enum reviewer_state state;
	enum reviewer_say said;
	unsigned int tries;
	bool is_over;                        /* settled; only the reviewer's answer is missing */
	bool is_ours;                        /* being settled by the reviewer's answer */
	enum policy_action by_person;        /* ASK: no person answered */
	bool is_review;                      /* not about a destination */
	bool is_watched;                     /* a person has it, and has not answered */
	struct approver_review *review;      /* that waits for it; NULL: none, or no longer */
	enum gateway_review_outcome failure; /* why there is no answer */
	struct loop_timer timer;
	TAILQ_ENTRY(reviewer_question) entry;
};
TAILQ_HEAD(reviewer_questions, reviewer_question);

struct approver {
	struct gateway *gw;
	struct loop *loop;
	const struct gateway_reviewer *config;
	bool may_answer;
	struct reviewer_helper helper;
	struct reviewer_breaker breaker;
	struct reviewer_memory memory;
	struct reviewer_questions questions; /* oldest first */
	unsigned int question_count, asked_count;
	uint64_t last_sent, ignored;
	struct gateway_trust unsaved;
	struct loop_timer pump, open, save;
};

/* Makes a question that is sent soon; the owner fills in @what. */
struct reviewer_question *reviewer_question_new(struct approver *self, const char *id);
void reviewer_question_free(struct reviewer_question *question);
/* The question is settled; @by_person: the person's answer, ASK: not by a person. */
void reviewer_question_end(struct reviewer_question *question, enum policy_action by_person);
/* reviewer_review.c */
bool reviewer_review_is_asked(const struct approver *self, enum policy_helper_kind kind);
int reviewer_review(struct approver *self, struct approver_review *review);
void reviewer_review_forget(struct approver *self, struct approver_review *review);
int reviewer_review_watch(struct approver *self, struct approver_review *review);
void reviewer_review_compare(struct approver *self, struct approver_review *review,
			     enum policy_action by_person);
enum gateway_review_outcome reviewer_review_outcome(const struct reviewer_question *question);

/* Called by the helper. They may stop it, and start it again. */
void reviewer_heard(struct approver *self, const char *line, size_t len);
/* The program has ended or cannot be read any more; it is stopped already. */
void reviewer_gone(struct approver *self, const char *how, bool is_failure);

/* Compares the reviewer's and the person's answer to a question. From the loop. */
void reviewer_trust_compare(struct approver *self, const struct reviewer_question *question);
/* Writes the comparisons not written yet. */
void reviewer_trust_save(struct approver *self);
