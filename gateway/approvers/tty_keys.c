#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/person.h"
#include "gateway/approvers/tty.h"

#define KEY_CTRL_C    0x03
#define KEY_BACKSPACE 0x08
#define KEY_DELETE    0x7f

static const struct key_answer {
	char letter;
	enum policy_action action;
	enum gateway_scope scope;
	bool is_abort;
	const char *recorded;
} key_answers[] = {
	{ 'y', POLICY_ALLOW, GATEWAY_ONCE, false, "allowed once, for those now waiting" },
	{ 'e', POLICY_ALLOW, GATEWAY_EXEC, false, "allowed for this command" },
	{ 's', POLICY_ALLOW, GATEWAY_SESSION, false, "allowed for this session" },
	{ 'a', POLICY_ALLOW, GATEWAY_ALWAYS, false, "allowed always" },
	{ 'n', POLICY_DENY, GATEWAY_ONCE, false, "denied once, for those now waiting" },
	{ 'E', POLICY_DENY, GATEWAY_EXEC, false, "denied for this command" },
	{ 'S', POLICY_DENY, GATEWAY_SESSION, false, "denied for this session" },
	{ 'D', POLICY_DENY, GATEWAY_ALWAYS, false, "denied always" },
	{ 'q', POLICY_DENY, GATEWAY_ONCE, true, "aborted" },
};

static const struct key_answer *key_find(const struct approver *self, unsigned char letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(key_answers); i++) {
		if ((unsigned char)key_answers[i].letter != letter)
			continue;
		if (key_answers[i].scope == GATEWAY_ALWAYS && !self->look.may_always)
			return NULL;
		return &key_answers[i];
	}
	return NULL;
}

static void key_echo(struct approver *self, const char *text)
{
	(void)evbuffer_add(self->out, text, strlen(text)); /* only out of memory */
}

/* The whole key, uncut: what stands here is what was granted. */
static void key_recorded(struct approver *self, const struct key_answer *key, int r,
			 const struct err *why, const char *destination)
{
	auto_free char *line = NULL;
	auto_free char *words = text_visible_dup(why->text[0] ? why->text : strerror(-r));

	if (r == 0)
		line = mem_printf("sallyport   %s %s", destination, key->recorded);
	else if (r == -ENOENT)
		line = mem_printf("sallyport   %s: the question was finished already", destination);
	else
		line = mem_printf("sallyport   %s: nothing was recorded: %s", destination, words);
	tty_settled(self, line);
}

static void key_answer(struct approver *self, const struct key_answer *key)
{
	char by[PERSON_TEXT_MAX], id[APPROVER_ID_MAX];
	char destination[POLICY_DESTINATION_TEXT_MAX * 4];
	struct approver_answer answer = {
		.action = key->action,
		.scope = key->scope,
		.is_abort = key->is_abort,
		.by = person_text(getuid(), "tty", by),
	};
	struct err why = { 0 };

	memcpy(id, self->question.id, sizeof(id));
	tty_prompt_destination(destination, sizeof(destination), &self->question.dst,
			       sizeof(destination));
	self->question.id[0] = '\0'; /* whoever retracts it from here on means us */
	key_recorded(self, key, gateway_answer(self->gw, id, &answer, &why), &why, destination);
}

static void key_enter(struct approver *self)
{
	if (self->letter != 0) {
		key_echo(self, "\r\n");
		return key_answer(self, key_find(self, (unsigned char)self->letter));
	}
	if (self->empty_count++ > 0) {
		key_echo(self, "\r\n");
		return key_answer(self, key_find(self, 'n'));
	}
	key_echo(self,
		 "\r\n  a letter from the list, then Enter; Enter alone once more denies\r\n");
	self->count_lines += 2;
	tty_prompt_label(self->out);
}

void tty_keys_press(struct approver *self, unsigned char key)
{
	if (key == '\r' || key == '\n')
		return key_enter(self);
	if (key == KEY_CTRL_C) {
		key_echo(self, "\r\n");
		return key_answer(self, key_find(self, 'q'));
	}
	if ((key == KEY_BACKSPACE || key == KEY_DELETE) && self->letter != 0) {
		self->letter = 0;
		key_echo(self, "\b \b");
		return;
	}
	if (self->letter != 0 || !key_find(self, key))
		return;
	self->letter = (char)key;
	(void)evbuffer_add(self->out, &self->letter, 1); /* only out of memory */
}
