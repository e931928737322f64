/* approve_screen: `sallyport approve watch` on a whole terminal: the questions that wait, the one
 * that is looked at, what each key would grant, and what became of the others. Private to
 * approve_watch*.c and approve_screen*.c. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct approve_answer;
struct approve_screen;
struct err;
struct watch;
struct watch_link;

/* Can there be one? Standard input and output are one terminal that can be moved about on. */
int approve_screen_check(void);
/* Takes the terminal over. Keeps @watch. NULL with @why. */
struct approve_screen *approve_screen_new(struct watch *watch, struct err *why);
void approve_screen_free(struct approve_screen *screen); /* and gives it back */

void approve_screen_event(struct approve_screen *screen, struct watch_link *link,
			  const json_t *event);
void approve_screen_replied(struct approve_screen *screen, const struct approve_answer *answer,
			    const json_t *reply);
void approve_screen_previewed(struct approve_screen *screen, const struct approve_answer *answer,
			      unsigned int tag, const json_t *reply);
/* Forgets all of its questions. */
void approve_screen_lost(struct approve_screen *screen, const struct watch_link *link);
void approve_screen_say(struct approve_screen *screen, const char *text);
/* Keys wait on standard input. False: it has ended. */
bool approve_screen_keys_read(struct approve_screen *screen);
