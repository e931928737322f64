#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/programs/subprocess.h"
#include "gateway/approvers/table.h"

#define HOOKS_RUNNING_MAX 8 /* programs at once; further questions wait */
#define HOOKS_TEXT_MAX    200

/* One question, which goes through the hooks for its kind. All of them run: a later denial
 * overrides an earlier allow, and an allow counts only if none of them failed, because a failed
 * hook might have denied. */
struct hook_job {
	struct approver *owner;
	struct approver_review *review;
	size_t next; /* index of the next hook */
	bool is_running;
	struct subprocess subprocess;
	enum gateway_review_outcome outcome; /* so far */
	char by[HOOKS_TEXT_MAX], reason[HOOKS_TEXT_MAX];
	TAILQ_ENTRY(hook_job) entry;
};

struct approver {
	struct loop *loop;
	const struct gateway_hook *hooks;
	size_t count;
	TAILQ_HEAD(hook_jobs, hook_job) jobs; /* oldest first */
	unsigned int running;
	struct loop_timer pump;
};

static const struct {
	const char *word;
	enum gateway_review_outcome outcome;
} hook_words[] = {
	{ "allow", GATEWAY_REVIEW_ALLOW },
	{ "deny", GATEWAY_REVIEW_DENY },
	{ "pass", GATEWAY_REVIEW_NONE },
};

static void hooks_pump(void *arg);

static void hooks_pump_soon(struct approver *self)
{
	loop_defer(self->loop, &self->pump, hooks_pump, self);
}

static void job_free(struct hook_job *job)
{
	struct approver *self = job->owner;

	subprocess_stop(&job->subprocess);
	if (job->is_running)
		self->running--;
	TAILQ_REMOVE(&self->jobs, job, entry);
	hooks_pump_soon(self);
	free(job);
}

static int hook_read_word(const json_t *value, enum gateway_review_outcome *ret)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text && i < ARRAY_SIZE(hook_words); i++) {
		if (strcmp(text, hook_words[i].word) != 0)
			continue;
		*ret = hook_words[i].outcome;
		return 0;
	}
	return -EBADMSG;
}

/* Parses one object with an answer, an optional reason, and no other member. -EBADMSG:
 * malformed. */
static int hook_parse(const char *said, enum gateway_review_outcome *ret,
		      char reason[HOOKS_TEXT_MAX])
{
	json_t *object = json_loads(said, JSON_REJECT_DUPLICATES, NULL);
	const json_t *why = json_object_get(object, "reason");
	size_t known = (json_object_get(object, "answer") != NULL) + (why != NULL);
	int r = json_is_object(object) && json_object_size(object) == known &&
				(!why || json_is_string(why))
			? hook_read_word(json_object_get(object, "answer"), ret)
			: -EBADMSG;

	reason[0] = '\0';
	if (r == 0 && why) /* may be cut: it is for people */
		(void)text_visible(reason, HOOKS_TEXT_MAX, json_string_value(why),
				   json_string_length(why));
	json_decref(object);
	return r;
}

/* A denial counts however the program ends, an allow only if it exits with 0. */
static enum gateway_review_outcome hook_outcome(const struct subprocess *subprocess,
						char reason[HOOKS_TEXT_MAX])
{
	enum gateway_review_outcome outcome;
	int r = hook_parse(subprocess->said, &outcome, reason);

	if (r == 0 && outcome == GATEWAY_REVIEW_DENY)
		return outcome;
	if (subprocess->was_late)
		return GATEWAY_REVIEW_LATE;
	return r == 0 && subprocess->status == 0 ? outcome : GATEWAY_REVIEW_FAILED;
}

/* The strongest outcome counts; of equal ones the first. */
static int hook_strength(enum gateway_review_outcome outcome)
{
	static const int strengths[] = {
		[GATEWAY_REVIEW_NONE] = 0, [GATEWAY_REVIEW_ALLOW] = 1, [GATEWAY_REVIEW_FAILED] = 2,
		[GATEWAY_REVIEW_LATE] = 2, [GATEWAY_REVIEW_DENY] = 3,
	};

	return strengths[outcome];
}

static const char *hook_name(const struct gateway_hook *hook)
{
	const char *slash = strrchr(hook->program.path, '/');

	return slash ? slash + 1 : hook->program.path;
}

static void job_note(struct hook_job *job, const struct gateway_hook *hook,
		     enum gateway_review_outcome outcome, const char *reason)
{
	auto_free char *name = text_visible_dup(hook_name(hook));

	if (outcome == GATEWAY_REVIEW_FAILED)
		log_warn("the hook %s gave no answer, so a person is asked", name);
	if (outcome == GATEWAY_REVIEW_LATE)
		log_warn("the hook %s did not answer in time, so a person is asked", name);
	if (hook_strength(outcome) <= hook_strength(job->outcome))
		return;
	job->outcome = outcome;
	(void)snprintf(job->by, sizeof(job->by), "the hook %s", name);
	(void)snprintf(job->reason, sizeof(job->reason), "%s",
		       outcome == GATEWAY_REVIEW_LATE     ? "it did not answer in time"
		       : outcome == GATEWAY_REVIEW_FAILED ? "it gave no answer"
							  : reason);
}

static void job_end(struct hook_job *job)
{
	struct hook_job said = *job; /* a shallow copy: only its texts are used */

	job_free(job);
	gateway_reviewed(said.review, said.outcome, said.by, said.reason);
}

static void job_next(struct hook_job *job);

static void job_done(void *arg)
{
	struct hook_job *job = arg;
	const struct gateway_hook *hook = &job->owner->hooks[job->next - 1];
	char reason[HOOKS_TEXT_MAX];
	enum gateway_review_outcome outcome = hook_outcome(&job->subprocess, reason);

	job_note(job, hook, outcome, reason);
	job_next(job);
}

static int64_t job_timeout(const struct hook_job *job, const struct gateway_hook *hook)
{
	int64_t own_ms = hook->timeout_ms > 0 ? hook->timeout_ms : SUBPROCESS_MS;

	return job->review->timeout_ms > 0 && job->review->timeout_ms < own_ms
		       ? job->review->timeout_ms
		       : own_ms;
}

static bool job_run(struct hook_job *job, const struct gateway_hook *hook)
{
	int64_t timeout_ms = job_timeout(job, hook);
	auto_free char *input = mem_printf("{\"deadline_ms\":%lld,%s\n", (long long)timeout_ms,
					   job->review->object + 1);

	job->subprocess.timeout_ms = timeout_ms;
	job->subprocess.waits_for_exit = true;
	return subprocess_run(&job->subprocess, job->owner->loop, &hook->program,
			      hook->program.argv, input, job_done, job) == 0;
}

static void job_next(struct hook_job *job)
{
	struct approver *self = job->owner;

	while (job->outcome != GATEWAY_REVIEW_DENY && job->next < self->count) {
		const struct gateway_hook *hook = &self->hooks[job->next++];

		if (!(hook->kinds & job->review->kind))
			continue;
		if (job_run(job, hook))
			return;
		job_note(job, hook, GATEWAY_REVIEW_FAILED, "");
	}
	job_end(job);
}

static void hooks_pump(void *arg)
{
	struct approver *self = arg;
	struct hook_job *job;

	if (self->running >= HOOKS_RUNNING_MAX)
		return; /* until one of them ends */
	TAILQ_FOREACH (job, &self->jobs, entry) {
		if (job->is_running)
			continue;
		job->is_running = true;
		self->running++;
		hooks_pump_soon(self);
		return job_next(job);
	}
}

static int hooks_review(struct approver *self, struct approver_review *review)
{
	bool is_wanted = false;

	for (size_t i = 0; i < self->count; i++)
		is_wanted |= (self->hooks[i].kinds & review->kind) != 0;
	if (!is_wanted)
		return -ENOENT;
	struct hook_job *job = mem_new(sizeof(*job));

	job->owner = self;
	job->review = review;
	job->subprocess = SUBPROCESS_NONE;
	review->job = job;
	TAILQ_INSERT_TAIL(&self->jobs, job, entry);
	hooks_pump_soon(self);
	return 0;
}

static void hooks_forget(struct approver *self, struct approver_review *review)
{
	(void)self;
	job_free(review->job);
}

/* Hooks are not asked about destinations. */
static bool hooks_is_attached(const struct approver *self)
{
	(void)self;
	return false;
}

static void hooks_ask(struct approver *self, const struct approver_question *question)
{
	(void)self, (void)question;
}

static void hooks_retract(struct approver *self, const struct approver_end *end)
{
	(void)self, (void)end;
}

static void hooks_close(struct approver *self)
{
	if (!self)
		return;
	while (!TAILQ_EMPTY(&self->jobs))
		job_free(TAILQ_FIRST(&self->jobs));
	loop_timer_stop(&self->pump);
	free(self);
}

static struct approver *hooks_open(struct gateway *gw, struct loop *loop,
				   const struct gateway_config *config, struct err *why)
{
	(void)gw, (void)why;
	if (!config->helpers || config->helpers->hook_count == 0)
		return NULL;
	struct approver *self = mem_new(sizeof(*self));

	self->loop = loop;
	self->hooks = config->helpers->hooks;
	self->count = config->helpers->hook_count;
	TAILQ_INIT(&self->jobs);
	return self;
}

const struct approver_ops hooks_approver = {
	.name = "hooks",
	.open = hooks_open,
	.is_attached = hooks_is_attached,
	.ask = hooks_ask,
	.changed = hooks_ask,
	.retract = hooks_retract,
	.review = hooks_review,
	.reviews_as = GATEWAY_REVIEW_BY_HOOKS,
	.forget = hooks_forget,
	.close = hooks_close,
};
