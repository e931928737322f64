/* The terminal's questions are copies, updated by the events of the other gateways. An answer
 * becomes a request; the terminal shows the result from the reply. */
#include "gateway/gateway_far.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvals/answer.h"
#include "gateway/bounds.h"
#include "gateway/approvers/remote/far_question.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/tty/tty_answer.h"
#include "gateway/approvers/tty/tty_source.h"
#include "gateway/approvers/tty/tty_turn.h"
#include "gateway/gateway_far_link.h"

struct gateway_far {
	struct loop *loop;
	const struct gateway_far_watch *watch; /* NULL: of one gateway, and ends with it */
	void *arg;
	struct approver *terminal;          /* NULL: it has ended */
	struct far_question_list questions; /* oldest first */
	size_t question_count;
	struct far_link *links[GATEWAY_FAR_MAX];
	size_t link_count;
	struct loop_timer ending;
};

static void far_drop(struct gateway_far *far, struct far_question *question)
{
	TAILQ_REMOVE(&far->questions, question, entry);
	far->question_count--;
	far_question_free(question);
}

/* Drops the open questions; other approvers may still answer them. */
static void far_end(struct gateway_far *far)
{
	loop_timer_stop(&far->ending);
	while (far->link_count > 0)
		far_link_free(far->links[--far->link_count]);
	tty_approver.close(far->terminal); /* restores the terminal */
	far->terminal = NULL;
	while (!TAILQ_EMPTY(&far->questions))
		far_drop(far, TAILQ_FIRST(&far->questions));
}

/* Deferred, because it frees objects that the terminal's own calls still use. */
static void far_end_now(void *arg)
{
	struct gateway_far *far = arg;

	if (far->watch)
		far->watch->left(far->arg);
	else
		far_end(far);
}

static void far_gone(void *of)
{
	struct gateway_far *far = of;

	loop_defer(far->loop, &far->ending, far_end_now, far);
}

static struct far_question *far_find(const struct gateway_far *far, const char *id)
{
	struct far_question *question;

	TAILQ_FOREACH (question, &far->questions, entry) {
		if (strcmp(question->question.id, id) == 0)
			return question;
	}
	return NULL;
}

static void far_each(void *of, void (*each)(const struct approver_question *question, void *arg),
		     void *arg)
{
	struct gateway_far *far = of;
	const struct far_question *ours;

	TAILQ_FOREACH (ours, &far->questions, entry) {
		struct approver_question question;

		far_question_look(ours, loop_now_ms(far->loop), &question);
		each(&question, arg);
	}
}

static int far_text(void *of, const char *id, const struct approver_answer *answer,
		    char out[APPROVER_KEY_MAX], struct err *why)
{
	const struct gateway_far *far = of;
	const struct far_question *ours = far_find(far, id);

	if (!ours)
		return err_set(why, -ENOENT, "the question has ended");
	return answer_words(&ours->question.dst, ours->question.program, answer,
			    loop_wall_us(far->loop) / 1000000, out, why);
}

static int far_give(void *of, const char *id, const struct approver_answer *answer, struct err *why)
{
	const struct far_question *ours = far_find(of, id);
	int r;

	if (!ours)
		return err_set(why, -ENOENT, "the question has ended");
	r = far_link_give(ours->link, far_question_answer(&ours->question, answer), mem_strdup(id),
			  why);
	return r < 0 ? r : -EINPROGRESS;
}

/* The result is seen as a change of the question. */
static void far_touch(void *of, const char *id)
{
	const struct far_question *ours = far_find(of, id);

	if (ours)
		far_link_tell(ours->link, json_pack("{s:s, s:s}", "op", "touch", "question", id));
}

static void far_status(void *of, char *out, size_t size)
{
	const struct gateway_far *far = of;

	(void)snprintf(out, size, "%zu run%s watched", far->link_count,
		       far->link_count == 1 ? " is" : "s are"); /* fits */
}

static const struct tty_source far_source = {
	.each = far_each,
	.text = far_text,
	.give = far_give,
	.touch = far_touch,
	.gone = far_gone,
};
/* x leaves, as the end of the terminal does. */
static const struct tty_source far_watch_source = {
	.each = far_each,
	.text = far_text,
	.give = far_give,
	.touch = far_touch,
	.gone = far_gone,
	.status = far_status,
};

/* Applies the change of a question, or adds it. False: malformed. */
static bool far_asked(struct gateway_far *far, struct far_link *link, json_t *object)
{
	struct far_question *ours = far_question_new(object, loop_now_ms(far->loop));
	struct far_question *before = ours ? far_find(far, ours->question.id) : NULL;

	if (!ours || (before && before->link != link)) {
		far_question_free(ours);
		return false;
	}
	ours->link = link;
	ours->question.is_watched = far->watch != NULL;
	if (!before && far->question_count == GATEWAY_QUESTIONS_MAX) {
		far_question_free(ours);
		return true; /* other approvers may still answer it */
	}
	far->question_count++;
	if (before) {
		TAILQ_INSERT_AFTER(&far->questions, before, ours, entry);
		far_drop(far, before);
		tty_approver.changed(far->terminal, &ours->question);
		return true;
	}
	TAILQ_INSERT_TAIL(&far->questions, ours, entry);
	tty_approver.ask(far->terminal, &ours->question);
	return true;
}

/* Borrows @how. */
static void far_ended(struct gateway_far *far, struct far_question *ours, const char *how)
{
	const struct approver_end end = {
		.id = ours->question.id,
		.by = "",
		.how = how,
		.dst = far->watch && !ours->question.agent ? &ours->question.dst : NULL,
	};

	TAILQ_REMOVE(&far->questions, ours, entry);
	far->question_count--;
	tty_approver.retract(far->terminal, &end);
	far_question_free(ours);
}

static bool far_retracted(struct gateway_far *far, const struct far_link *link, const json_t *event)
{
	const char *id =
		json_string_value(json_object_get(json_object_get(event, "question"), "id"));
	struct far_question *ours = id ? far_find(far, id) : NULL;

	if (ours && ours->link == link)
		far_ended(far, ours, json_string_value(json_object_get(event, "how")));
	return id != NULL;
}

static bool far_began(struct gateway_far *far, struct far_link *link, const json_t *reply)
{
	const json_t *questions = json_object_get(reply, "questions");
	const json_t *of_agents = json_object_get(reply, "agent_questions");

	for (size_t i = 0; i < json_array_size(questions); i++) {
		if (!far_asked(far, link, json_array_get(questions, i)))
			return false;
	}
	for (size_t i = 0; i < json_array_size(of_agents); i++) {
		if (!far_asked(far, link, json_array_get(of_agents, i)))
			return false;
	}
	return json_is_array(questions);
}

static bool far_heard(struct far_link *link, json_t *message, void *of)
{
	const char *event = json_string_value(json_object_get(message, "event"));

	if (event && strcmp(event, "retracted") == 0)
		return far_retracted(of, link, message);
	if (event && (strcmp(event, "asked") == 0 || strcmp(event, "changed") == 0 ||
		      strcmp(event, "agent_asked") == 0))
		return far_asked(of, link, json_object_get(message, "question"));
	return event || json_object_get(message, "sallyport") || far_began(of, link, message);
}

static void far_replied(struct far_link *link, const void *question, json_t *reply, void *of)
{
	const char *error = json_string_value(json_object_get(reply, "error"));
	const char *code = json_string_value(json_object_get(reply, "code"));
	struct err why = { 0 };
	int r = 0;

	if (!reply)
		r = err_set(&why, -ENOENT, "the run has ended");
	else if (code && strcmp(code, "finished") == 0)
		r = -ENOENT;
	else if (!json_is_true(json_object_get(reply, "ok")))
		r = err_set(&why, -EIO, "%s", error ? error : "the gateway refused the request");
	tty_answer_came(((struct gateway_far *)of)->terminal, question, r, &why);
}

static void far_overdue(const void *question, void *of)
{
	tty_answer_overdue(((struct gateway_far *)of)->terminal, question);
}

/* One run of several has ended. */
static void far_lost(struct gateway_far *far, struct far_link *link, const char *why)
{
	struct far_question *ours = TAILQ_FIRST(&far->questions), *next;
	bool is_greeted = far_link_is_greeted(link);
	auto_free char *run = mem_strdup(far_link_run(link));
	auto_free char *line =
		why[0] ? mem_printf("run %s: %s", run, why) : mem_printf("run %s has ended", run);

	for (; ours; ours = next) {
		next = TAILQ_NEXT(ours, entry);
		if (ours->link == link)
			far_ended(far, ours, "was not answered: the run has ended");
	}
	for (size_t i = 0; i < far->link_count; i++) {
		if (far->links[i] == link)
			far->links[i] = far->links[--far->link_count];
	}
	far_link_free(link);
	tty_turn_say(far->terminal, line);
	far->watch->lost(is_greeted, far->arg);
}

static void far_closed(struct far_link *link, const char *why, void *of)
{
	struct gateway_far *far = of;

	if (far->watch)
		return far_lost(far, link, why);
	if (why[0] != '\0')
		log_error("this terminal shows no more questions of the session: %s", why);
	far_end(far);
}

static const struct far_link_calls far_calls = { far_heard, far_replied, far_overdue, far_closed };

struct gateway_far *gateway_far_new(struct loop *loop, const struct gateway_far_config *config,
				    struct err *why)
{
	const struct gateway_config shown = {
		.terminal = config->terminal,
		.control_dir = config->control_dir,
		.run = config->run,
		.tmux = config->tmux,
		.answers_path = config->may_always ? "" : NULL, /* only whether a file exists */
	};
	struct gateway_far *far = mem_new(sizeof(*far));

	far->loop = loop;
	far->watch = config->watch;
	far->arg = config->arg;
	TAILQ_INIT(&far->questions);
	far->terminal =
		tty_new(far->watch ? &far_watch_source : &far_source, far, loop, &shown, why);
	if (far->terminal)
		return far;
	gateway_far_free(far);
	return NULL;
}

int gateway_far_add(struct gateway_far *far, const char *run, int socket, const char *heard,
		    struct err *why)
{
	const struct far_link_config config = { run, socket, heard, strlen(heard) };
	struct far_link *link = NULL;

	if (far->link_count < GATEWAY_FAR_MAX)
		link = far_link_new(far->loop, &config, &far_calls, far, why);
	if (!link)
		return -EIO;
	far->links[far->link_count++] = link;
	return 0;
}

bool gateway_far_has(const struct gateway_far *far, const char *run)
{
	for (size_t i = 0; i < far->link_count; i++) {
		if (strcmp(far_link_run(far->links[i]), run) == 0)
			return true;
	}
	return false;
}

void gateway_far_free(struct gateway_far *far)
{
	if (!far)
		return;
	far_end(far);
	free(far);
}
