/* reviewer: a program that is asked as people are, and may say once, no, or nothing. What it says
 * is compared with what people answer until it is fit to be believed; docs/decisions/0096. Private
 * to reviewer*.c. */
#pragma once

#include <stdbool.h>
#include <sys/queue.h>

#include "base/child.h"
#include "base/loop.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/approvers/reviewer_breaker.h"
#include "gateway/approvers/reviewer_line.h"
#include "gateway/approvers/reviewer_memory.h"
#include "gateway/gateway_tools.h"

#define REVIEWER_TIMEOUT_MS      10000
#define REVIEWER_QUESTIONS_MAX   256
#define REVIEWER_ASKED_MAX       8    /* sent and not answered */
#define REVIEWER_TRIES_MAX       4    /* of one question, each when more commands wait on it */
#define REVIEWER_IGNORED_MAX     1000 /* answers to nothing; one more is a failure */
#define REVIEWER_QUEUE_MAX_BYTES (1U << 20)
#define REVIEWER_LOG_LINES_MAX   20 /* of its stderr, for each start */
#define REVIEWER_LOG_LINE_MAX    512
#define REVIEWER_SAVE_MS         200 /* between a comparison and its being written */

struct event;
struct evbuffer;

/* The process, and the lines to and from it. */
struct reviewer_helper {
	struct approver *owner;
	struct child child;
	struct event *read_event, *write_event, *log_event;
	struct evbuffer *in, *out, *log;
	unsigned int log_lines;
	unsigned int starts; /* a callback that ended it knows by this */
	bool has_answered;
};

void reviewer_helper_init(struct reviewer_helper *helper, struct approver *owner);
/* Starts the program unless it runs. 0 or -errno: nothing was said to it. */
int reviewer_helper_say(struct reviewer_helper *helper, const char *line);
void reviewer_helper_stop(struct reviewer_helper *helper); /* stopped already is fine */

enum reviewer_state { REVIEWER_QUEUED, REVIEWER_ASKED, REVIEWER_SAID };

struct reviewer_question {
	struct approver *owner;
	char id[APPROVER_ID_MAX];
	char sent[REVIEWER_ID_MAX]; /* the id it was asked under */
	char key[DIGEST_TEXT_MAX];  /* of @what */
	json_t *what;
	int64_t due_ms;
	enum reviewer_state state;
	enum reviewer_say said;
	unsigned int tries;
	bool is_over;                        /* settled, and only the reviewer's word is missing */
	bool is_ours;                        /* being settled by the reviewer's word */
	enum policy_action by_person;        /* ASK: nobody */
	bool is_review;                      /* no destination */
	bool is_watched;                     /* a person has it, and has not said anything */
	struct approver_review *review;      /* that waits for it; NULL: none, or not any more */
	enum gateway_review_outcome failure; /* why it said nothing */
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

/* A new one, to be asked soon; the owner fills in what. */
struct reviewer_question *reviewer_question_new(struct approver *self, const char *id);
void reviewer_question_free(struct reviewer_question *question);
/* It is settled; @by_person: by what a person said, ASK: not by one. */
void reviewer_question_end(struct reviewer_question *question, enum policy_action by_person);
/* reviewer_review.c */
bool reviewer_review_is_asked(const struct approver *self, enum policy_helper_kind kind);
int reviewer_review(struct approver *self, struct approver_review *review);
void reviewer_review_forget(struct approver *self, struct approver_review *review);
int reviewer_review_watch(struct approver *self, struct approver_review *review);
void reviewer_review_compare(struct approver *self, struct approver_review *review,
			     enum policy_action by_person);
enum gateway_review_outcome reviewer_review_outcome(const struct reviewer_question *question);

/* From the helper. It may be stopped, and started again, in them. */
void reviewer_heard(struct approver *self, const char *line, size_t len);
/* It has ended, or cannot be listened to any more: stopped already. */
void reviewer_gone(struct approver *self, const char *how, bool is_failure);

/* A question's two answers, the reviewer's and a person's. From the loop. */
void reviewer_trust_compare(struct approver *self, const struct reviewer_question *question);
/* Writes what is not written yet. */
void reviewer_trust_save(struct approver *self);
