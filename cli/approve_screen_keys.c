/* What is typed on the screen. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/approve_screen_impl.h"
#include "cli/approve_watch.h"

static const struct {
	char key;
	const char *op;
	enum screen_scope scope;
} key_answers[] = {
	{ 'y', "allow", SCREEN_ONCE },    { 'e', "allow", SCREEN_EXEC },
	{ 's', "allow", SCREEN_SESSION }, { 'a', "allow", SCREEN_ALWAYS },
	{ 'n', "deny", SCREEN_ONCE },     { 'E', "deny", SCREEN_EXEC },
	{ 'S', "deny", SCREEN_SESSION },  { 'D', "deny", SCREEN_ALWAYS },
	{ 'q', "abort", SCREEN_ONCE },
};

static const char *const key_help[] = {
	"",
	"  up, down, k, j    another question",
	"  y e s a           allow: once (those who wait), for the command, the session, "
	"always",
	"  n E S D           deny, the same",
	"  q                 deny, and end the commands that wait",
	"  w p g t b         wider or narrower: the whole domain, every port, this program "
	"only,",
	"                    for a time, so many bytes up",
	"  r                 words to whoever asked, which go with the answer, whichever "
	"it is",
	"  Space, *          tick this one, or all that do not warn: what is ticked is "
	"answered",
	"                    together, each as it is asked",
	"  x, ^C             leave: if nobody else is there to ask, questions are denied",
	"",
	"  What carries a warning (!) is allowed by typing its domain. For 0.4 seconds "
	"after",
	"  something moved no key answers, and what is pasted never does.",
	"",
};

const char *approve_screen_keys_help(size_t line)
{
	return line < sizeof(key_help) / sizeof(key_help[0]) ? key_help[line] : NULL;
}

/* What is typed on and on was meant for what stood there before: it is waited for silence. */
bool approve_screen_keys_are_early(struct approve_screen *screen)
{
	int64_t now_ms = loop_now_ms(screen->watch->loop);

	if (now_ms >= screen->ready_ms)
		return false;
	if (now_ms - screen->moved_ms < SCREEN_GUARD_MOST_MS)
		screen->ready_ms = now_ms + SCREEN_GUARD_MS;
	return true;
}

static bool keys_may_answer(struct approve_screen *screen)
{
	return !approve_screen_keys_are_early(screen) && screen->chosen &&
	       !screen->chosen->is_answered;
}

static void keys_answer(struct approve_screen *screen, const char *op, enum screen_scope scope)
{
	struct approve_answer answer = { .op = op, .is_person = true };
	bool is_allow = strcmp(op, "allow") == 0;

	if (!keys_may_answer(screen))
		return;
	/* What stores nothing is about the question, whatever else is shown of it. */
	if ((is_allow || scope != SCREEN_ONCE || approve_screen_many_count(screen) > 0) &&
	    !approve_screen_drawn_is(screen))
		return;
	if (approve_screen_many_count(screen) > 0)
		return approve_screen_many_begin(screen, op, scope);
	if (is_allow && screen->is_cramped)
		return approve_screen_say(screen, "what that grants has no room here: make the "
						  "window larger");
	if (is_allow && !screen->can_be[scope])
		return approve_screen_say(screen,
					  screen->previews[scope]
						  ? screen->previews[scope]
						  : "the gate has not said yet what that grants");
	(void)snprintf(answer.id, sizeof(answer.id), "%s", screen->chosen->id);
	if (strcmp(op, "abort") != 0)
		answer.scope = approve_screen_scope(scope);
	if (scope != SCREEN_ONCE)
		answer.width = screen->width;
	if (is_allow || (scope != SCREEN_ONCE && screen->can_be[scope] && !screen->is_cramped))
		(void)snprintf(answer.text, sizeof(answer.text), "%s", screen->previews[scope]);
	memcpy(answer.words, screen->words, sizeof(screen->words));
	if (!is_allow || approve_screen_typed(screen->chosen)[0] == '\0')
		return approve_screen_send(screen, &answer);
	screen->pending = answer;
	screen->typed[0] = '\0';
	screen->is_typing = true;
	approve_watch_link_touch(screen->chosen->link, screen->chosen->id);
	approve_screen_touch(screen);
}

static void keys_move(struct approve_screen *screen, bool is_down)
{
	struct screen_question *to = screen->chosen;

	if (to)
		to = is_down ? TAILQ_NEXT(to, entry) : TAILQ_PREV(to, screen_questions, entry);
	if (to)
		approve_screen_choose(screen, to);
}

static void keys_type(struct approve_screen *screen, unsigned char key)
{
	size_t len = strlen(screen->typed);

	if (key == '\r' || key == '\n') {
		bool is_shown = approve_screen_drawn_is(screen);

		screen->is_typing = false;
		(void)snprintf(screen->pending.confirm, sizeof(screen->pending.confirm), "%s",
			       screen->typed);
		if (!is_shown)
			; /* it was said */
		else if (strcmp(screen->typed, approve_screen_typed(screen->chosen)) == 0)
			approve_screen_send(screen, &screen->pending);
		else
			approve_screen_say(screen, "that is not its domain; nothing was answered");
	} else if (key == 0x1b) {
		screen->is_typing = false;
	} else if (key == 0x7f || key == 0x08) {
		if (len > 0)
			screen->typed[len - 1] = '\0';
	} else if (key > 0x20 && key < 0x7f && len + 1 < sizeof(screen->typed)) {
		screen->typed[len] = (char)key;
		screen->typed[len + 1] = '\0';
	}
	approve_screen_touch(screen);
}

/* The question has gone; its domain is typed to its end. */
static void keys_type_late(struct approve_screen *screen, unsigned char key)
{
	if (key != '\r' && key != '\n' && key != 0x1b)
		return;
	screen->is_late = false;
	approve_screen_guard(screen);
	approve_screen_touch(screen);
}

static bool keys_widen(struct approve_width *width, unsigned char key)
{
	switch (key) {
	case 'w':
		width->is_domain = !width->is_domain;
		return true;
	case 'p':
		width->is_every_port = !width->is_every_port;
		return true;
	case 'g':
		width->is_program = !width->is_program;
		return true;
	case 't':
		(void)snprintf(width->duration, sizeof(width->duration), "%s",
			       width->duration[0] == '\0'           ? "1h"
			       : strcmp(width->duration, "1h") == 0 ? "1d"
								    : "");
		return true;
	case 'b':
		width->upload = width->upload == 0          ? 64 << 10
				: width->upload == 64 << 10 ? 1 << 20
				: width->upload == 1 << 20  ? 100 << 20
							    : 0;
		return true;
	default:
		return false;
	}
}

static void keys_press(struct approve_screen *screen, unsigned char key)
{
	if (screen->is_late)
		return keys_type_late(screen, key);
	if (screen->is_many)
		return approve_screen_many_type(screen, key);
	if (screen->is_typing)
		return keys_type(screen, key);
	if (screen->is_wording)
		return approve_screen_words_type(screen, key);
	if (screen->is_help) {
		screen->is_help = false;
		return approve_screen_touch(screen);
	}
	for (size_t i = 0; i < sizeof(key_answers) / sizeof(key_answers[0]); i++) {
		if (key_answers[i].key == (char)key)
			return keys_answer(screen, key_answers[i].op, key_answers[i].scope);
	}
	switch (key) {
	case 'j':
	case 'k':
		return keys_move(screen, key == 'j');
	case ' ':
		return approve_screen_many_tick(screen);
	case '*':
		return approve_screen_many_tick_all(screen);
	case 'r':
		return approve_screen_words_begin(screen);
	case '?':
		screen->is_help = true;
		return approve_screen_touch(screen);
	case 'x':
		return loop_stop(screen->watch->loop);
	default:
		break; /* Enter, too, means nothing */
	}
	if (keys_widen(&screen->width, key)) {
		if (screen->chosen)
			approve_watch_link_touch(screen->chosen->link, screen->chosen->id);
		return approve_screen_preview(screen);
	}
	(void)approve_screen_keys_are_early(screen);
}

/* How long the sequence at @keys is (ECMA-48 5.4); 0: it has not all come. */
static size_t keys_sequence(const unsigned char *keys, size_t count)
{
	size_t at = 2;

	if (count < 2)
		return 0;
	if (keys[1] == 'O')
		return count < 3 ? 0 : 3;
	if (keys[1] != '[')
		return 1; /* Esc by itself */
	while (at < count && keys[at] >= 0x20 && keys[at] < 0x40)
		at++;
	return at < count ? at + 1 : 0;
}

static bool keys_is(const unsigned char *keys, size_t len, const char *sequence)
{
	return len == strlen(sequence) && memcmp(keys, sequence, len) == 0;
}

static void keys_serve_sequence(struct approve_screen *screen, const unsigned char *keys,
				size_t len)
{
	if (keys_is(keys, len, "\033[200~"))
		screen->is_pasting = true;
	else if (keys_is(keys, len, "\033[201~"))
		screen->is_pasting = false;
	else if (screen->is_pasting || screen->is_typing || screen->is_late || screen->is_many ||
		 screen->is_wording)
		return;
	else if (keys_is(keys, len, "\033[A") || keys_is(keys, len, "\033OA"))
		keys_move(screen, false);
	else if (keys_is(keys, len, "\033[B") || keys_is(keys, len, "\033OB"))
		keys_move(screen, true);
}

/* Returns how many are used up. */
static size_t keys_serve(struct approve_screen *screen, const unsigned char *keys, size_t count)
{
	size_t at = 0;

	while (at < count) {
		size_t len = keys[at] == 0x1b ? keys_sequence(keys + at, count - at) : 1;

		if (len == 0 && count - at == 1)
			len = 1; /* nothing follows it: the key */
		if (len == 0)
			break;
		if (len > 1)
			keys_serve_sequence(screen, keys + at, len);
		else if (!screen->is_pasting)
			keys_press(screen, keys[at]);
		at += len;
	}
	return at;
}

/* A sequence may come in two, and its rest are letters that would answer. None of the two that may
 * follow is a key here, so it does not matter how long they took. */
static void keys_join(struct approve_screen *screen)
{
	if (screen->was_escape && screen->key_count > 0 &&
	    screen->key_count < sizeof(screen->keys) &&
	    (screen->keys[0] == '[' || screen->keys[0] == 'O')) {
		memmove(screen->keys + 1, screen->keys, screen->key_count++);
		screen->keys[0] = 0x1b;
	}
	screen->was_escape = screen->key_count > 0 && screen->keys[screen->key_count - 1] == 0x1b;
}

bool approve_screen_keys_read(struct approve_screen *screen)
{
	/* A byte is left for keys_join(). */
	ssize_t got = read(STDIN_FILENO, screen->keys + screen->key_count,
			   sizeof(screen->keys) - 1 - screen->key_count);
	size_t used;

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	if (got == 0)
		return false; /* the terminal is gone */
	screen->key_count += (size_t)got;
	keys_join(screen);
	used = keys_serve(screen, screen->keys, screen->key_count);
	screen->key_count -= used;
	memmove(screen->keys, screen->keys + used, screen->key_count);
	if (screen->key_count >= sizeof(screen->keys) - 1)
		screen->key_count = 0; /* no key sends as much */
	return true;
}
