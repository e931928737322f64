/* person: a person at a terminal, for tests: the output of the command, and its keys. */
#pragma once

#include <stddef.h>

#include "base/loop.h"
#include "tests/unit/exec/rig.h"

/* The test is the person at the terminal: it holds the master of a pty whose slave is the
 * controlling terminal of this process, as a shell's child would have it. What the terminal is sent
 * is caught as it comes. */
struct person {
	struct rig rig;
	int screen; /* the master */
	struct event seen;
	char text[65536];
	size_t len;
	const char *await, *keys; /* once @await is on the screen, @keys are typed */
	void (*then)(struct person *person);
};

/* In a process of its own from here to person_stand_up(), since the test's leads a process group
 * and can make no session.
 * @user: as rig_init(). */
void person_sit_down(struct person *person, int user);
void person_stand_up(struct person *person);

/* Catches what has come. */
void person_look(struct person *person);
/* Runs `sh -c SCRIPT` to its end; returns what the terminal was sent. */
const char *person_watch(struct person *person, const char *script);
