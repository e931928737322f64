/* Words to whoever asked: typed before the answer, for the question that is looked at or for all
 * that is ticked, and sent with it. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/approve_screen_impl.h"

void approve_screen_words_begin(struct approve_screen *screen)
{
	bool is_for_one = screen->chosen && !screen->chosen->is_answered;

	/* What is typed next are words all the same. */
	if (is_for_one || approve_screen_many_count(screen) > 0)
		screen->is_wording = true;
	else
		screen->is_late = true;
	memcpy(screen->typed, screen->words, sizeof(screen->words));
	approve_screen_touch(screen);
}

static void words_add(struct approve_screen *screen, char key)
{
	size_t len = strlen(screen->typed);

	/* What stands there is what arrives: a backslash is doubled on the way. */
	screen->typed[len] = key;
	if (text_visible(NULL, 0, screen->typed, len + 1) >= sizeof(screen->words)) {
		len--;
		approve_screen_say(screen, "words end here: they are 255 bytes at most");
	}
	screen->typed[len + 1] = '\0';
}

static void words_end(struct approve_screen *screen)
{
	screen->is_wording = false;
	screen->typed[0] = '\0';
	approve_screen_guard(screen);
}

void approve_screen_words_type(struct approve_screen *screen, unsigned char key)
{
	size_t len = strlen(screen->typed);

	if (key == '\r' || key == '\n') {
		memcpy(screen->words, screen->typed, sizeof(screen->words));
		words_end(screen);
	} else if (key == 0x1b) {
		words_end(screen);
	} else if (key == 0x7f || key == 0x08) {
		screen->typed[len > 0 ? len - 1 : 0] = '\0';
	} else if (key == 0x15) {
		screen->typed[0] = '\0';
	} else if (key >= 0x20 && key < 0x7f) {
		words_add(screen, (char)key);
	}
	approve_screen_touch(screen);
}

void approve_screen_words_review(struct approve_screen *screen, bool is_another)
{
	bool was_for_many = screen->is_words_for_many;

	screen->is_words_for_many = approve_screen_many_count(screen) > 0;
	if (screen->is_words_for_many || (!is_another && !was_for_many))
		return;
	screen->words[0] = '\0';
	screen->is_late |= screen->is_wording;
	screen->is_wording = false;
}
