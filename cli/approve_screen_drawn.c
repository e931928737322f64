/* What stands on the screen, taken down when it is drawn. A key answers that while it is so still:
 * what has changed since, by a key, by the gate or by the window, is looked at first. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/approve_screen_impl.h"

/* Of a question, what does not change by itself, as times and counts of connections do. */
static const char *const drawn_members[] = { "protocol", "host",    "port",     "private",
					     "risk",     "warning", "typed",    "because",
					     "rule",     "program", "commands", "command_count" };

bool approve_screen_drawn_is_same(const json_t *one, const json_t *other)
{
	for (size_t i = 0; i < ARRAY_SIZE(drawn_members); i++) {
		const json_t *a = json_object_get(one, drawn_members[i]);
		const json_t *b = json_object_get(other, drawn_members[i]);

		if (a != b && !json_equal(a, b))
			return false;
	}
	return true;
}

/* Takes @text; returns it with @more behind it, owned. */
static char *drawn_add(char *text, const char *more)
{
	char *longer = mem_printf("%s\n%s", text, more);

	free(text);
	return longer;
}

static char *drawn_add_question(char *text, const struct screen_question *question)
{
	text = drawn_add(text, question->is_ticked ? "ticked" : "chosen");
	text = drawn_add(text, question->id);
	for (size_t i = 0; i < ARRAY_SIZE(drawn_members); i++) {
		auto_free char *member =
			json_dumps(json_object_get(question->question, drawn_members[i]),
				   JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

		text = drawn_add(text, member ? member : ""); /* it is not there */
	}
	return text;
}

/* Returned owned. */
static char *drawn_state(const struct approve_screen *screen)
{
	const struct approve_width *width = &screen->width;
	const struct screen_question *question;
	char *text = mem_printf("%u %u %d %d %d %d %d %d %s %lld %s", screen->columns, screen->rows,
				screen->is_cramped, screen->is_help, screen->is_many,
				width->is_domain, width->is_every_port, width->is_program,
				width->duration, (long long)width->upload, screen->words);

	for (size_t i = 0; i < SCREEN_SCOPES && !screen->is_many; i++) {
		text = drawn_add(text, screen->can_be[i] ? "can be" : "cannot be");
		text = drawn_add(text, screen->previews[i] ? screen->previews[i] : "");
	}
	TAILQ_FOREACH (question, &screen->questions, entry) {
		if (question->is_ticked || (question == screen->chosen && !screen->is_many))
			text = drawn_add_question(text, question);
	}
	return text;
}

/* What is confirmed by typing is what stood there when that began. */
void approve_screen_drawn_take(struct approve_screen *screen)
{
	if (screen->drawn && (screen->is_typing || (screen->is_many && screen->was_many)))
		return;
	free(screen->drawn);
	screen->drawn = drawn_state(screen);
	screen->was_many = screen->is_many;
}

bool approve_screen_drawn_is(struct approve_screen *screen)
{
	approve_screen_measure(screen);
	auto_free char *state = drawn_state(screen);

	if (screen->drawn && strcmp(screen->drawn, state) == 0)
		return true;
	approve_screen_guard(screen);
	approve_screen_say(screen, "that has changed, and nothing was answered: look again");
	return false;
}
