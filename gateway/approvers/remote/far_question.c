#include "gateway/approvers/remote/far_question.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/wire.h"

#define SECONDS_MAX (INT64_C(1) << 32)
#define FAR_LINES_MAX                                                                              \
	(GATEWAY_AGENT_TEXT_MAX + 1) /* of a question that is not about a destination */

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

static int64_t number_of(const json_t *object, const char *name, int64_t max)
{
	int64_t number = json_integer_value(json_object_get(object, name));

	return number < 0 ? 0 : number > max ? max : number;
}

static enum policy_protocol protocol_of(const char *name)
{
	for (enum policy_protocol i = POLICY_HTTP; i <= POLICY_UDP; i++) {
		if (strcmp(policy_protocol_name(i), name) == 0)
			return i;
	}
	return POLICY_NO_PROTOCOL;
}

static bool read_destination(const json_t *object, struct policy_destination *ret)
{
	const char *host = text_of(object, "host");
	uint16_t port = (uint16_t)number_of(object, "port", UINT16_MAX);

	if (policy_destination_set(ret, host, strlen(host), port, NULL) < 0 ||
	    strcmp(ret->host, host) != 0)
		return false;
	ret->protocol = protocol_of(text_of(object, "protocol"));
	return ret->protocol != POLICY_NO_PROTOCOL;
}

static void read_commands(const json_t *object, struct approver_question *ret)
{
	const json_t *commands = json_object_get(object, "commands");
	size_t count = json_array_size(commands);

	for (size_t i = 0; i < count && i < APPROVER_COMMANDS_MAX; i++)
		ret->commands[i] = json_string_value(json_array_get(commands, i));
	ret->command_count = (unsigned int)number_of(object, "command_count", UINT32_MAX);
	for (size_t i = 0; i < APPROVER_COMMANDS_MAX; i++) {
		if (!ret->commands[i] && ret->command_count > i)
			ret->commands[i] = "";
	}
}

static bool read_question(const json_t *object, struct approver_question *ret)
{
	const char *id = text_of(object, "id"), *typed = text_of(object, "typed");

	*ret = (struct approver_question){
		.waiting = (unsigned int)number_of(object, "waiting", UINT32_MAX),
		.rule = text_of(object, "rule"),
		.because = text_of(object, "because"),
		.age_ms = number_of(object, "age_s", SECONDS_MAX) * 1000,
		.left_ms = number_of(object, "left_s", SECONDS_MAX) * 1000,
		.is_touched = json_is_true(json_object_get(object, "touched")),
		.is_private = json_is_true(json_object_get(object, "private")),
		.is_shared = !json_is_false(json_object_get(object, "shared")),
		.risk = wire_risks_read(json_object_get(object, "risk")),
		.times = (unsigned int)number_of(object, "times", UINT32_MAX),
		.warning = text_of(object, "warning"),
		.plea = text_of(object, "plea"),
		.program = text_of(object, "program"),
		.chain = text_of(object, "chain"),
		.session = text_of(object, "session"),
	};
	read_commands(object, ret);
	if (id[0] == '\0' || strlen(id) >= sizeof(ret->id) || typed[0] == '\0' ||
	    strlen(typed) >= sizeof(ret->typed) || !read_destination(object, &ret->dst))
		return false;
	memcpy(ret->id, id, strlen(id) + 1);
	memcpy(ret->typed, typed, strlen(typed) + 1);
	return true;
}

/* A question that is not about a destination. */
static bool read_agent(const json_t *object, struct far_question *ours)
{
	const json_t *lines = json_object_get(object, "lines");
	const char *id = text_of(object, "id");
	size_t count = json_array_size(lines);

	ours->agent = (struct approver_agent_question){
		.kind = text_of(object, "kind"),
		.line_count = count,
		.choices = wire_choices_read(json_object_get(object, "choices")),
		.typed = text_of(object, "typed"),
		.age_ms = number_of(object, "age_s", SECONDS_MAX) * 1000,
		.left_ms = number_of(object, "left_s", SECONDS_MAX) * 1000,
	};
	if (id[0] == '\0' || strlen(id) >= sizeof(ours->agent.id) || count > FAR_LINES_MAX)
		return false;
	memcpy(ours->agent.id, id, strlen(id) + 1);
	ours->lines = mem_new_array(count + 1, sizeof(*ours->lines));
	ours->agent.lines = ours->lines;
	for (size_t i = 0; i < count; i++) {
		const json_t *line = json_array_get(lines, i);

		ours->lines[i].label = json_string_value(json_array_get(line, 0));
		ours->lines[i].text = json_string_value(json_array_get(line, 1));
		if (!ours->lines[i].label || !ours->lines[i].text)
			return false;
	}
	tty_agent_look(&ours->agent, &ours->question);
	ours->question.session = text_of(object, "session");
	return ours->agent.kind[0] != '\0' && json_is_array(lines);
}

struct far_question *far_question_new(json_t *object, int64_t now_ms)
{
	struct far_question *ours = mem_new(sizeof(*ours));

	bool is_good = json_object_get(object, "lines") ? read_agent(object, ours)
							: read_question(object, &ours->question);

	if (!is_good) {
		free(ours->lines);
		free(ours);
		return NULL;
	}
	ours->object = json_incref(object);
	ours->read_ms = now_ms;
	return ours;
}

void far_question_free(struct far_question *question)
{
	if (!question)
		return;
	json_decref(question->object);
	free(question->lines);
	free(question);
}

void far_question_look(const struct far_question *ours, int64_t now_ms,
		       struct approver_question *ret)
{
	int64_t since_ms = now_ms - ours->read_ms;

	*ret = ours->question;
	ret->age_ms += since_ms;
	ret->left_ms = ret->left_ms > since_ms ? ret->left_ms - since_ms : 0;
}

static int put(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value);
}

static int put_amount(json_t *object, const char *name, uint64_t amount)
{
	return amount > 0 ? put(object, name, json_integer((json_int_t)amount)) : 0;
}

/* A member that is left out means the narrowest value. */
static int put_width(json_t *object, const struct approver_width *width)
{
	char duration[32];
	int r = 0;

	(void)snprintf(duration, sizeof(duration), "%" PRId64 "s", width->for_s);
	if (width->is_domain)
		r |= put(object, "host", json_string("domain"));
	if (width->is_every_port)
		r |= put(object, "ports", json_string("all"));
	if (width->is_program)
		r |= put(object, "program", json_string("this"));
	if (width->for_s > 0)
		r |= put(object, "for", json_string(duration));
	r |= put_amount(object, "upload", width->upload_max);
	r |= put_amount(object, "download", width->download_max);
	return r | put_amount(object, "connections", width->connections_max);
}

json_t *far_question_answer(const struct approver_question *question,
			    const struct approver_answer *answer)
{
	static const char *const scopes[] = {
		[GATEWAY_ONCE] = "once",
		[GATEWAY_EXEC] = "exec",
		[GATEWAY_SESSION] = "session",
		[GATEWAY_ALWAYS] = "always",
	};
	bool is_allow = answer->action == POLICY_ALLOW;
	const char *op = answer->is_abort ? "abort" : is_allow ? "allow" : "deny";
	json_t *request = json_pack("{s:s, s:s}", "op", op, "question", question->id);
	int r = request ? 0 : -1;

	if (!answer->is_abort)
		r |= put(request, "scope", json_string(scopes[answer->scope]));
	if (is_allow) /* what the person typed, or "": the gate compares it */
		r |= put(request, "confirm", json_string(answer->typed ? answer->typed : ""));
	if (answer->shown && !answer->is_abort)
		r |= put(request, "text", json_string(answer->shown));
	if (answer->words && answer->words[0] != '\0')
		r |= put(request, "words", json_string(answer->words));
	r |= put_width(request, &answer->width);
	if (r == 0)
		return request;
	json_decref(request);
	return NULL;
}
