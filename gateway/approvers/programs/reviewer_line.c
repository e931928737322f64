#include "gateway/approvers/programs/reviewer_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/wire.h"
#include "gateway/audit/redact.h"

#define TEXT_MAX_BYTES 2048 /* of each text in a question */

static const char *const answers[] = {
	[REVIEWER_ABSTAIN] = "abstain",
	[REVIEWER_ALLOW] = "allow",
	[REVIEWER_DENY] = "deny",
};

static int parse_answer(const json_t *value, enum reviewer_say *ret)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text && i < ARRAY_SIZE(answers); i++) {
		if (strcmp(text, answers[i]) != 0)
			continue;
		*ret = (enum reviewer_say)i;
		return 0;
	}
	return -EBADMSG;
}

static int parse_ttl(const json_t *value, int64_t *ret)
{
	json_int_t seconds = json_integer_value(value);

	if (!json_is_integer(value) || seconds < 0 || seconds > REVIEWER_TTL_MAX_S)
		return -EBADMSG;
	*ret = seconds;
	return 0;
}

static int parse_reason(const json_t *value, char out[REVIEWER_REASON_MAX])
{
	if (!json_is_string(value))
		return -EBADMSG;
	/* may be cut: it is for people */
	(void)text_visible(out, REVIEWER_REASON_MAX, json_string_value(value),
			   json_string_length(value));
	return 0;
}

static int parse_id(const json_t *value, char out[REVIEWER_ID_MAX])
{
	const char *text = json_string_value(value);

	if (!text || text[0] == '\0' || json_string_length(value) >= REVIEWER_ID_MAX ||
	    json_string_length(value) != strlen(text))
		return -EBADMSG;
	memcpy(out, text, strlen(text) + 1);
	return 0;
}

static int parse_member(const char *key, const json_t *value, struct reviewer_reply *ret,
			bool *has_answer)
{
	if (strcmp(key, "id") == 0)
		return parse_id(value, ret->id);
	if (strcmp(key, "answer") == 0) {
		*has_answer = true;
		return parse_answer(value, &ret->say);
	}
	if (strcmp(key, "reason") == 0)
		return parse_reason(value, ret->reason);
	if (strcmp(key, "ttl_s") == 0)
		return parse_ttl(value, &ret->ttl_s);
	if (strcmp(key, "negative_ttl_s") == 0)
		return parse_ttl(value, &ret->negative_ttl_s);
	return -EBADMSG; /* a scope or a width: an answer must not widen */
}

static int parse_object(json_t *object, struct reviewer_reply *ret)
{
	struct reviewer_reply reply = { 0 };
	bool has_answer = false;
	const char *key;
	json_t *value;
	int r = parse_id(json_object_get(object, "id"), ret->id);

	json_object_foreach(object, key, value)
	{
		if (r == 0)
			r = parse_member(key, value, &reply, &has_answer);
	}
	if (r < 0 || !has_answer)
		return -EBADMSG;
	*ret = reply;
	return 0;
}

int reviewer_line_parse(const char *line, size_t len, struct reviewer_reply *ret)
{
	*ret = (struct reviewer_reply){ 0 };
	if (len > REVIEWER_LINE_MAX_BYTES)
		return -EBADMSG;
	json_t *object = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	int r = json_is_object(object) ? parse_object(object, ret) : -EBADMSG;

	json_decref(object);
	return r;
}

static json_t *say(const char *text)
{
	return wire_text(text, TEXT_MAX_BYTES);
}

/* A command's claim may contain secrets that it has read. */
static json_t *say_redacted(const char *text)
{
	auto_free char *cut = mem_strndup(text ? text : "", TEXT_MAX_BYTES);
	auto_free char *redacted = redact_command(cut);

	return say(redacted);
}

static json_t *say_commands(const struct approver_question *question)
{
	json_t *commands = json_array();

	for (size_t i = 0; i < APPROVER_COMMANDS_MAX && i < question->command_count; i++) {
		if (question->commands[i])
			(void)json_array_append_new(commands, say_redacted(question->commands[i]));
	}
	return commands;
}

json_t *reviewer_line_describe(const struct approver_question *question)
{
	char destination[POLICY_DESTINATION_TEXT_MAX];

	(void)policy_destination_text(&question->dst, destination);
	return json_pack("{s:o, s:s, s:o, s:i, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
			 "destination", say(destination), "protocol",
			 policy_protocol_name(question->dst.protocol), "host",
			 say(question->dst.host), "port", (int)question->dst.port, "commands",
			 say_commands(question), "command_count",
			 (json_int_t)question->command_count, "program", say(question->program),
			 "chain", say_redacted(question->chain), "plea",
			 say_redacted(question->plea), "risk", wire_risks(question->risk),
			 "warning", say(question->warning), "rule", say(question->rule), "because",
			 say(question->because), "private", question->is_private ? 1 : 0);
}

int reviewer_line_key(const json_t *what, char ret[DIGEST_TEXT_MAX])
{
	auto_free char *text = json_dumps(what, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENSURE_ASCII);

	return text ? digest_text(text, strlen(text), "", 0, ret) : -EIO;
}

char *reviewer_line_ask(json_t *what, const char *id, int64_t deadline_ms)
{
	if (json_object_set_new(what, "id", json_string(id)) < 0 ||
	    json_object_set_new(what, "deadline_ms", json_integer(deadline_ms)) < 0)
		return NULL;
	auto_free char *text = json_dumps(what, JSON_COMPACT | JSON_ENSURE_ASCII);

	return text ? mem_printf("%s\n", text) : NULL;
}
