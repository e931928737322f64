#include "gateway/approvers/tty/tty_prompt.h"

#include <event2/buffer.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "gateway/approvers/screen/tty_words.h"
#include "policies/policies_tools.h"

#define PROMPT_COMMANDS_MAX 3 /* commands that are shown; the rest is counted */

void tty_prompt_look(struct tty_look *look)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");

	look->has_escapes = term && term[0] != '\0' && strcmp(term, "dumb") != 0;
	look->has_colour = look->has_escapes && !(no_color && no_color[0] != '\0');
}

void tty_prompt_left(char *out, size_t size, int64_t left_ms)
{
	long long left_s = left_ms > 0 ? (left_ms + 999) / 1000 : 0;

	if (left_s >= 3600)
		(void)snprintf(out, size, "%lldh%02lldm", left_s / 3600, left_s / 60 % 60);
	else if (left_s >= 60)
		(void)snprintf(out, size, "%lldm%02llds", left_s / 60, left_s % 60);
	else
		(void)snprintf(out, size, "%llds", left_s);
}

void tty_prompt_denied(struct tty_page *page, const struct approver_question *question,
		       unsigned int others, bool is_ours)
{
	char left[32], waiting[64] = "", again[32] = "", more[64] = "";

	tty_prompt_left(left, sizeof(left), question->left_ms);
	if (!question->agent)
		(void)snprintf(waiting, sizeof(waiting), ", %u connection%s", question->waiting,
			       question->waiting == 1 ? " waits" : "s wait");
	if (others > 0)
		(void)snprintf(more, sizeof(more), ", %u more question%s: l lists them", others,
			       others == 1 ? " waits" : "s wait");
	if (question->times > 1)
		(void)snprintf(again, sizeof(again), ", asked %u times", question->times);
	auto_free char *text = mem_printf(
		"%s%s%s%s%s", left, waiting, again,
		question->is_touched && !is_ours ? ", being answered elsewhere" : "", more);

	tty_page_field(page, TTY_NEEDED, "denied in", text);
}

void tty_prompt_destination(char *out, size_t size, const struct policy_destination *dst,
			    const char *domain, unsigned int width)
{
	char host[POLICY_HOST_MAX * 4], port[8];
	const char *protocol = policy_protocol_name(dst->protocol);
	bool has_colon = strchr(dst->host, ':') != NULL;
	size_t len, tail = strlen(domain) + 1, room;

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
	if (tail < TTY_HOST_TAIL)
		tail = TTY_HOST_TAIL;
	if (tail + 3 > room)
		tail = room > 3 ? room - 3 : 0;
	/* A host name has no empty label, so the three dots cannot be part of it. */
	(void)snprintf(out, size, "%s://%.*s...%s:%s", protocol,
		       (int)(room > tail + 3 ? room - tail - 3 : 0), host, host + len - tail, port);
}

char *tty_prompt_name(const struct approver_question *question)
{
	char destination[POLICY_DESTINATION_TEXT_MAX * 4];

	if (question->agent)
		return mem_printf("%s %s", question->agent->kind, question->agent->id);
	tty_prompt_destination(destination, sizeof(destination), &question->dst, "",
			       sizeof(destination));
	return mem_strdup(destination);
}

static void prompt_commands(struct tty_page *page, const struct approver_question *question)
{
	unsigned int shown = 0;

	while (shown < question->command_count && shown < PROMPT_COMMANDS_MAX &&
	       question->commands[shown]) {
		tty_page_field(page, shown == 0 ? TTY_HELP : TTY_DETAIL,
			       shown == 0 ? "command" : "", question->commands[shown]);
		shown++;
	}
	if (shown < question->command_count) {
		char more[64];

		(void)snprintf(more, sizeof(more), "%s%u more command%s", shown > 0 ? "and " : "",
			       question->command_count - shown,
			       question->command_count - shown == 1 ? "" : "s");
		tty_page_field(page, TTY_HELP, shown == 0 ? "command" : "", more);
	}
}

/* Does the terminal have the letter's answer? */
static bool prompt_has_letter(const struct tty_look *look, char letter)
{
	return (look->may_always || !strchr("aD", letter)) &&
	       (look->is_shared || !strchr("eE", letter));
}

void tty_prompt_choices(struct tty_page *page, const struct tty_look *look)
{
	static const struct {
		const char *label, *text;
	} choices[] = {
		{ "allow", "y once" },      { NULL, "e this command" },
		{ NULL, "s session" },      { NULL, "a always" },
		{ NULL, "(then Enter)" },   { "deny", "n once" },
		{ NULL, "E this command" }, { NULL, "S session" },
		{ NULL, "D always" },       { NULL, "q and stop the command" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(choices); i++) {
		if (prompt_has_letter(look, choices[i].text[0]))
			tty_page_choice(page, TTY_HELP, choices[i].label, choices[i].text);
	}
}

/* Only the letters, if there is no room to explain them: ? does. */
void tty_prompt_letters(struct tty_page *page, const struct tty_look *look)
{
	static const char *const kinds[][2] = { { "yesa", "allow" }, { "nESD", "deny" } };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		char text[16];
		size_t len = 0;

		for (const char *letter = kinds[i][0]; *letter; letter++) {
			if (prompt_has_letter(look, *letter))
				text[len++] = *letter;
		}
		(void)snprintf(text + len, sizeof(text) - len, " %s", kinds[i][1]); /* fits */
		tty_page_choice(page, TTY_NEEDED, i == 0 ? "keys" : NULL, text);
	}
	tty_page_choice(page, TTY_NEEDED, NULL, "q stop");
}

/* Lists every key, if there is no room to explain them. */
static void prompt_keys(struct tty_page *page, const struct tty_look *look,
			const struct tty_draft *draft, unsigned int others, enum tty_foot form)
{
	if (form == TTY_FOOT_LEAST)
		return tty_page_choice(page, TTY_NEEDED, NULL, "? lists the keys");
	tty_prompt_letters(page, look);
	tty_page_choice(page, TTY_NEEDED, NULL, draft->has_program ? "hptbo scope" : "hptb scope");
	tty_page_choice(page, TTY_NEEDED, NULL, "r reason");
	if (others > 0)
		tty_page_choice(page, TTY_NEEDED, NULL, "l list");
	tty_page_choice(page, TTY_NEEDED, NULL, "? help");
}

/* Shows the current scope; each key changes one part of it. */
static void prompt_width(struct tty_page *page, const struct tty_draft *draft)
{
	const struct approver_width *width = &draft->width;
	char text[48];

	tty_page_choice(page, TTY_HELP, "scope",
			width->is_domain ? "h whole domain" : "h this host");
	tty_page_choice(page, TTY_HELP, NULL,
			width->is_every_port ? "p every port" : "p this port");
	(void)snprintf(text, sizeof(text), "t for %" PRId64 "%s",
		       width->for_s >= 86400 ? width->for_s / 86400 : width->for_s / 3600,
		       width->for_s >= 86400 ? "d" : "h");
	tty_page_choice(page, TTY_HELP, NULL, width->for_s == 0 ? "t no end" : text);
	(void)snprintf(text, sizeof(text), "b at most %" PRIu64 "%s up",
		       width->upload_max >= 1U << 20 ? width->upload_max >> 20
						     : width->upload_max >> 10,
		       width->upload_max >= 1U << 20 ? "m" : "k");
	tty_page_choice(page, TTY_HELP, NULL, width->upload_max == 0 ? "b any bytes" : text);
	if (draft->has_program)
		tty_page_choice(page, TTY_HELP, NULL,
				width->is_program ? "o this program" : "o any program");
	tty_page_choice(page, TTY_HELP, NULL, "r reason");
	tty_page_choice(page, TTY_HELP, NULL, "? help");
}

static bool prompt_has(const char *text)
{
	return text && text[0] != '\0';
}

/* Names it as `sallyport approve` does. */
static void prompt_from(struct tty_page *page, const struct approver_question *question)
{
	bool has_name = prompt_has(question->session);
	auto_free char *text = mem_printf("%s%s%s", question->id, has_name ? ", session " : "",
					  has_name ? question->session : "");

	tty_page_field(page, TTY_HELP, "question", text);
}

/* Says where the request comes from, and why policy asks. */
static void prompt_reasons(struct tty_page *page, const struct approver_question *question)
{
	bool is_new = (question->risk & ~(unsigned int)APPROVER_PAINTED) == APPROVER_FIRST_SEEN;

	if (prompt_has(question->warning))
		tty_page_warn(page, is_new ? TTY_NEW : TTY_WARNING, is_new ? "NEW" : "warning",
			      question->warning);
	if (question->risk & APPROVER_PAINTED)
		tty_page_warn(page, TTY_WARNING, "output",
			      "the command writes to a pipe that can lead here, and cover this");
	if (question->is_private)
		tty_page_warn(page, TTY_WARNING, "private",
			      "an address of your own network or machine");
	prompt_commands(page, question);
	if (prompt_has(question->plea))
		tty_page_field(page, TTY_DETAIL, "it says", question->plea);
	if (prompt_has(question->program))
		tty_page_field(page, TTY_HELP, "program", question->program);
	if (prompt_has(question->chain))
		tty_page_field(page, TTY_DETAIL, "started by", question->chain);
	if (question->is_watched)
		prompt_from(page, question);
	if (prompt_has(question->because))
		tty_page_field(page, TTY_DETAIL, "because", question->because);
	if (prompt_has(question->rule))
		tty_page_field(page, TTY_DETAIL, "rule", question->rule);
}

/* What Enter does with the letter that was typed. */
static const char *prompt_enter(char letter)
{
	static const struct {
		char letter;
		const char *text;
	} all[] = {
		{ 'y', "allows this once, for those that wait now" },
		{ 'e', "allows this for the command" },
		{ 's', "allows this for the session" },
		{ 'a', "allows this always" },
		{ 'E', "denies this for the command" },
		{ 'S', "denies this for the session" },
		{ 'D', "denies this always" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		if (all[i].letter == letter)
			return all[i].text;
	}
	return "";
}

/* Shows what an answer would store, uncut, because the person has only this text to check. */
static void prompt_covers(struct tty_page *page, const struct tty_draft *draft, bool is_long)
{
	const char *label = "covers";

	if (draft->letter != 0)
		label = strchr("yesa", draft->letter) ? "grants" : "denies";
	if (draft->letter != 0 && is_long)
		tty_page_field(page, TTY_DETAIL, "Enter", prompt_enter(draft->letter));
	if (draft->covers[0] != '\0')
		tty_page_whole(page, label, draft->covers);
}

struct prompt {
	const struct tty_look *look;
	const struct approver_question *question;
	const struct tty_draft *draft;
	unsigned int others;
};

static void prompt_foot(struct tty_page *page, enum tty_foot form, const void *arg)
{
	const struct prompt *all = arg;
	const struct tty_draft *draft = all->draft;

	tty_prompt_denied(page, all->question, all->others, draft->was_touched);
	if (form == TTY_FOOT_LONG) {
		tty_prompt_choices(page, all->look);
		prompt_width(page, draft);
	} else if (!draft->is_typing) { /* else letters are not keys */
		prompt_keys(page, all->look, draft, all->others, form);
	}
	tty_words_show(page, draft);
	prompt_covers(page, draft, form == TTY_FOOT_LONG);
	if (draft->is_typing)
		tty_page_whole(page, "type", all->question->typed);
	tty_page_note(page, draft->note);
}

unsigned int tty_prompt_write(struct evbuffer *out, const struct tty_look *look,
			      const struct approver_question *question, struct tty_draft *draft,
			      unsigned int others, bool *ret_is_whole)
{
	const struct prompt all = { look, question, draft, others };
	char destination[POLICY_DESTINATION_TEXT_MAX + POLICY_HOST_MAX];

	tty_prompt_destination(destination, sizeof(destination), &question->dst, question->typed,
			       look->width > 12 ? look->width - 12 : 0);
	auto_free char *title = mem_printf("sallyport   %s", destination);
	struct tty_sheet sheet = {
		.title = title,
		.small_how = "n denies; q stops the commands",
		.body = { .width = look->width },
		.foot = prompt_foot,
		.arg = &all,
	};

	if (strstr(destination, "..."))
		tty_page_whole(&sheet.body, "domain", question->typed);
	prompt_reasons(&sheet.body, question);
	return tty_scroll_write(&sheet, out, look, &draft->scroll, ret_is_whole);
}
