#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/tty.h"
#include "policies/policies_tools.h"

#define PROMPT_COMMANDS_MAX 3 /* shown; the rest is counted */
#define PROMPT_LINE_MAX     512
#define PROMPT_LABEL        "  answer, then Enter: "

/* What the command may have left behind that would hide or bend the question: a sequence begun and
 * not ended, colours and hidden text, another character set, margins, insert mode, no wrapping, no
 * cursor. Then everything below is erased, so that nothing prepared there can pass for a part of
 * the question. */
#define PROMPT_RESET                                                                               \
	"\x18\x1b\\\x1b[0m\x1b(B\x0f\x1b[?69l\x1b"                                                 \
	"7\x1b[r\x1b"                                                                              \
	"8"                                                                                        \
	"\x1b[4l\x1b[?7h\x1b[?25h\r\n\x1b[J"

void tty_prompt_look(struct tty_look *look)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	look->has_escapes = term && term[0] != '\0' && strcmp(term, "dumb") != 0;
	look->has_colour = look->has_escapes && !(no_color && no_color[0] != '\0');
}

static void prompt_put(struct evbuffer *out, const char *text)
{
	(void)evbuffer_add(out, text, strlen(text)); /* only out of memory; then less is shown */
}

/* Text that is visible already is left as it is, so that nothing is escaped twice; all else is
 * escaped here. */
static void prompt_shown(char *out, size_t size, const char *text)
{
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i++) {
		if (text[i] >= 0x20 && text[i] < 0x7f)
			continue;
		(void)text_visible(out, size, text, len); /* cut is marked */
		return;
	}
	if (len < size) {
		memcpy(out, text, len + 1);
		return;
	}
	memcpy(out, text, size - 4);
	memcpy(out + size - 4, "...", 4);
}

/* "  LABEL     TEXT", cut so that it cannot wrap. */
static void prompt_line(struct evbuffer *out, const struct tty_look *look, const char *label,
			const char *text)
{
	char line[PROMPT_LINE_MAX], shown[PROMPT_LINE_MAX];

	prompt_shown(shown, sizeof(shown), text);
	(void)snprintf(line, sizeof(line), "  %-9s %.*s", label, (int)sizeof(line) - 13, shown);
	if (strlen(line) >= look->width)
		memcpy(line + look->width - 4, "...", 4);
	prompt_put(out, line);
}

static void prompt_left(char *out, size_t size, int64_t left_ms)
{
	long long left_s = left_ms > 0 ? (left_ms + 999) / 1000 : 0;

	if (left_s >= 3600)
		(void)snprintf(out, size, "%lldh%02lldm", left_s / 3600, left_s / 60 % 60);
	else if (left_s >= 60)
		(void)snprintf(out, size, "%lldm%02llds", left_s / 60, left_s % 60);
	else
		(void)snprintf(out, size, "%llds", left_s);
}

static void prompt_count(struct evbuffer *out, const struct tty_look *look,
			 const struct approver_question *question, unsigned int others)
{
	char text[128], left[32], more[48] = "";

	prompt_left(left, sizeof(left), question->left_ms);
	if (others > 0)
		(void)snprintf(more, sizeof(more), ", %u more question%s", others,
			       others == 1 ? " waits" : "s wait");
	(void)snprintf(text, sizeof(text), "%u connection%s, %s left%s", question->waiting,
		       question->waiting == 1 ? "" : "s", left, more);
	prompt_line(out, look, "waiting", text);
}

void tty_prompt_destination(char *out, size_t size, const struct policy_destination *dst,
			    unsigned int width)
{
	char host[POLICY_HOST_MAX * 4], port[8];
	const char *protocol = policy_protocol_name(dst->protocol);
	bool has_colon = strchr(dst->host, ':') != NULL;
	size_t len, tail = TTY_HOST_TAIL, room;

	(void)text_visible(host, sizeof(host), dst->host, strnlen(dst->host, sizeof(dst->host)));
	(void)snprintf(port, sizeof(port), "%u", (unsigned int)dst->port);
	len = strlen(host);
	/* "://", ":", brackets */
	room = strlen(protocol) + strlen(port) + 6;
	room = width > room ? width - room : 0;
	if (len <= room) {
		(void)snprintf(out, size, "%s://%s%s%s:%s", protocol, has_colon ? "[" : "", host,
			       has_colon ? "]" : "", port);
		return;
	}
	if (tail + 3 > room)
		tail = room > 3 ? room - 3 : 0;
	/* A host name has no empty label, so the dots cannot be mistaken for a part of it. */
	(void)snprintf(out, size, "%s://%.*s...%s:%s", protocol,
		       (int)(room > tail + 3 ? room - tail - 3 : 0), host, host + len - tail, port);
}

static void prompt_commands(struct evbuffer *out, const struct tty_look *look,
			    const struct approver_question *question)
{
	unsigned int shown = 0;

	while (shown < question->command_count && shown < PROMPT_COMMANDS_MAX &&
	       question->commands[shown]) {
		prompt_line(out, look, shown == 0 ? "asked by" : "", question->commands[shown]);
		prompt_put(out, "\r\n");
		shown++;
	}
	if (shown < question->command_count) {
		char more[64];

		(void)snprintf(more, sizeof(more), "%s%u more command%s", shown > 0 ? "and " : "",
			       question->command_count - shown,
			       question->command_count - shown == 1 ? "" : "s");
		prompt_line(out, look, shown == 0 ? "asked by" : "", more);
		prompt_put(out, "\r\n");
	}
}

/* Returns the lines used. */
static unsigned int prompt_choices(struct evbuffer *out, const struct tty_look *look)
{
	static const struct {
		const char *text;
		bool is_first, is_always;
	} choices[] = {
		{ "[y] once", true, false },
		{ "[e] this command", false, false },
		{ "[s] session", false, false },
		{ "[a] always", false, true },
		{ "[n] no", true, false },
		{ "[E] not for this command", false, false },
		{ "[S] not this session", false, false },
		{ "[D] never", false, true },
		{ "[q] abort", false, false },
	};
	unsigned int lines = 0, column = 0;

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		unsigned int len = (unsigned int)strlen(choices[i].text) + 2;

		if (choices[i].is_always && !look->may_always)
			continue;
		if (column > 0 && (choices[i].is_first || column + len >= look->width)) {
			prompt_put(out, "\r\n");
			lines++;
			column = 0;
		}
		prompt_put(out, "  ");
		prompt_put(out, choices[i].text);
		column += len;
	}
	prompt_put(out, "\r\n");
	return lines + 1;
}

void tty_prompt_label(struct evbuffer *out)
{
	prompt_put(out, PROMPT_LABEL);
}

unsigned int tty_prompt_draw(struct evbuffer *out, const struct tty_look *look,
			     const struct approver_question *question, unsigned int others)
{
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX];
	struct policy_host_warning warning;
	unsigned int lines = 1;

	tty_prompt_destination(destination, sizeof(destination), &question->dst,
			       look->width > 12 ? look->width - 12 : 0);
	prompt_put(out, look->has_escapes ? PROMPT_RESET : "\r\n");
	prompt_put(out, look->has_colour ? "\x1b[1m" : "");
	prompt_put(out, "sallyport   ");
	prompt_put(out, destination);
	prompt_put(out, look->has_colour ? "\x1b[0m\r\n" : "\r\n");
	if (question->is_private) {
		prompt_line(out, look, "private", "an address of your own network or machine");
		prompt_put(out, "\r\n");
	}
	if (policy_host_warning(question->dst.host, &warning)) {
		prompt_line(out, look, "careful", warning.text);
		prompt_put(out, "\r\n");
	}
	prompt_commands(out, look, question);
	prompt_count(out, look, question, others);
	prompt_put(out, "\r\n");
	if (question->because && question->because[0] != '\0') {
		prompt_line(out, look, "because", question->because);
		prompt_put(out, "\r\n");
		lines++;
	}
	if (question->rule && question->rule[0] != '\0') {
		prompt_line(out, look, "rule", question->rule);
		prompt_put(out, "\r\n");
		lines++;
	}
	lines += prompt_choices(out, look);
	tty_prompt_label(out);
	return lines;
}

void tty_prompt_recount(struct evbuffer *out, const struct tty_look *look, unsigned int lines,
			unsigned int typed, const struct approver_question *question,
			unsigned int others)
{
	if (!look->has_escapes)
		return;
	(void)evbuffer_add_printf(out, "\x1b[%uA\r", lines);
	prompt_count(out, look, question, others);
	(void)evbuffer_add_printf(out, "\x1b[K\x1b[%uB\r\x1b[%uC", lines,
				  (unsigned int)strlen(PROMPT_LABEL) + typed);
}
