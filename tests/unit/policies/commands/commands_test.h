/* commands_test: functions that the cases of this folder share. */
#pragma once

#include <check.h>

#include "policies/commands/commands.h"

#define TEST_WORDS_MAX 64

/* A command line as a table has it: words split by blanks, '...' as it stands. */
struct line {
	char text[2048];
	const char *argv[TEST_WORDS_MAX + 1];
};
void line_split(struct line *line, const char *text);
/* Lines "allow git (a|b)" and "program git /usr/bin/git", one below another; must be right. */
struct command_rules *rules_of(const char *text);
/* One line; what command_rules_add() or command_rules_add_program() says. */
int rules_add_line(struct command_rules *rules, const char *text, struct command_flaw *flaw);
/* PATH has /usr/bin; /usr/local/bin/git is another git; /opt/link is /usr/bin/git; ./x exist for
 * every x. may_write says yes below out/ only. */
extern const struct command_world world;

TCase *rules_cases(void);
TCase *refused_cases(void);
TCase *pieces_cases(void);
TCase *launchers_cases(void);
TCase *safety_cases(void);
TCase *dangers_cases(void);
TCase *programs_cases(void);
TCase *proposals_cases(void);
TCase *properties_cases(void);
