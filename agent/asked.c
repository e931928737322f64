#include "agent/asked.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"

static void say(struct asked *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct asked *text, const char *format, ...)
{
	size_t room = sizeof(text->out) - text->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text->out + text->len, room, format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= room)
		text->is_cut = true;
	if (len > 0)
		text->len += (size_t)len < room ? (size_t)len : room - 1;
}

/* Shows text of others so that it can neither begin a line nor look like a line of ours. */
static void say_text(struct asked *text, const char *label, const char *value)
{
	if (!value || value[0] == '\0')
		return;
	auto_free char *shown = text_visible_dup(value);

	say(text, "\n%s%s", label, shown);
}

static void say_member(struct asked *text, const json_t *event, const char *name, const char *label)
{
	say_text(text, label, json_string_value(json_object_get(event, name)));
}

static void say_list(struct asked *text, const json_t *event, const char *name, const char *label)
{
	const json_t *list = json_object_get(event, name);

	for (size_t i = 0; i < json_array_size(list); i++)
		say_text(text, label, json_string_value(json_array_get(list, i)));
}

/* The mode, and each path with what it is for. */
static void say_sandbox(struct asked *text, const json_t *event)
{
	const json_t *sandbox = json_object_get(event, "sandbox");

	say_member(text, sandbox, "mode", "sandbox: ");
	say_member(text, sandbox, "network", "sandbox: network ");
	say_list(text, sandbox, "writable", "sandbox: write ");
	say_list(text, sandbox, "read", "sandbox: read ");
	say_list(text, sandbox, "deny", "sandbox: deny ");
	say_list(text, sandbox, "sockets", "sandbox: socket ");
}

static void say_command(struct asked *text, const json_t *event)
{
	const json_t *list = json_object_get(event, "command");
	size_t count = json_array_size(list);

	if (count == 0)
		return;
	auto_free const char **argv = mem_new_array(count + 1, sizeof(*argv));

	for (size_t i = 0; i < count; i++) {
		const char *word = json_string_value(json_array_get(list, i));

		argv[i] = word ? word : "";
	}
	/* Longer than the room for it, so that a cut is noticed. */
	auto_free char *line = text_command_line(argv, 2 * sizeof(text->out));

	say(text, "\n  %s", line);
}

static void say_accesses(struct asked *text, const json_t *event)
{
	const json_t *list = json_object_get(event, "accesses");

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *access = json_array_get(list, i);
		const char *what = json_string_value(json_object_get(access, "what"));
		const char *name = json_string_value(json_object_get(access, "name"));
		const char *protocol = json_string_value(json_object_get(access, "protocol"));
		auto_free char *shown = text_visible_dup(name ? name : "");

		if (protocol)
			say(text, "\n  and allow it to reach %s://%s:%lld", protocol, shown,
			    (long long)json_integer_value(json_object_get(access, "port")));
		else
			say(text, "\n  and allow it to use: %s %s", what ? what : "", shown);
	}
}

static const struct {
	const char *decision, *words;
} meanings[] = {
	{ "approved", "allow it this time, for all that wait for this answer" },
	{ "approved_for_session",
	  "allow it, and whenever the same is asked until this server ends" },
	{ "always", "allow it, and add it to your policy" },
	{ "denied", "deny it this time" },
	{ "denied_always", "deny it, and add the denial to your policy" },
	{ "abort", "deny it, and end the command that asked" },
	{ "approved_unconfined", "run it WITHOUT a sandbox" },
};

/* What @decision means, in words; NULL: it is unknown. */
static const char *meaning_of(const char *decision)
{
	for (size_t i = 0; decision && i < ARRAY_SIZE(meanings); i++) {
		if (strcmp(meanings[i].decision, decision) == 0)
			return meanings[i].words;
	}
	return NULL;
}

static void say_decisions(struct asked *text, const json_t *decisions)
{
	for (size_t i = 0; i < json_array_size(decisions); i++) {
		const char *decision = json_string_value(json_array_get(decisions, i));
		const char *words = meaning_of(decision);

		if (words)
			say(text, "\n%s: %s", decision, words);
	}
}

/* Shows all that an allow grants. */
static void say_grant(struct asked *text, const json_t *event, const char *kind)
{
	const json_t *to = json_object_get(event, "destination");
	const char *host = json_string_value(json_object_get(to, "host"));
	const char *protocol = json_string_value(json_object_get(to, "protocol"));
	bool is_open = json_is_false(json_object_get(event, "confined"));
	bool is_retry = json_is_true(json_object_get(event, "retry"));
	auto_free char *shown = text_visible_dup(host ? host : "");

	if (host)
		say(text, "May the command reach %s://%s:%lld ?", protocol ? protocol : "tcp",
		    shown, (long long)json_integer_value(json_object_get(to, "port")));
	else if (strcmp(kind, "exec") == 0)
		say(text, "Run this %s%s?", is_retry ? "again, " : "",
		    is_open ? "WITHOUT a sandbox" : "in its sandbox");
	else
		say(text, "Allow this (%s)?", kind);
	if (json_is_true(json_object_get(event, "private")))
		say(text, "\nwarning: it is an address of a private network");
	say_member(text, event, "warning", "warning: ");
	say_command(text, event);
	say_list(text, event, "env", "variable: ");
	say_accesses(text, event);
	say_list(text, event, "items", "  ");
	say_member(text, event, "cwd", "in: ");
	say_member(text, event, "program", "program: ");
	say_sandbox(text, event);
	say_list(text, event, "proposal", "added by `always`: ");
	say_decisions(text, json_object_get(event, "decisions"));
}

bool asked_describe(const json_t *event, const char *kind, struct asked *text)
{
	text->len = 0;
	text->is_cut = false;
	say_grant(text, event, kind);
	if (text->is_cut)
		return false;
	say_list(text, event, "commands", "asked by: ");
	say_list(text, event, "parent_processes", "run by: ");
	say_member(text, event, "because", "why it is asked: ");
	say_member(text, event, "rule", "rule: ");
	say_member(text, event, "reason",
		   strcmp(kind, "network") == 0 ? "the command says: " : "the agent says: ");
	if (text->is_cut)
		(void)memcpy(text->out + sizeof(text->out) - 4, "...", 4);
	return true;
}
