/* configured_test: a tool's configuration as a table: files and variables in, destinations out. */
#pragma once

#include <check.h>
#include <stdbool.h>

#include "policies/configured/configured_impl.h"

TCase *packages_cases(void); /* npm, pip, go */
TCase *sources_cases(void);  /* cargo, maven, docker */
TCase *git_cases(void);
TCase *formats_cases(void); /* toml, xml, urls */
TCase *disk_cases(void);
TCase *presets_cases(void);
TCase *asking_cases(void);

#define CASE_HOME "/home/ana"
#define CASE_CWD  CASE_HOME "/project"
/* Stands in every password of the tables, and may be in nothing that is shown. */
#define CASE_SECRET "s3cret"

struct configured_case {
	const char *name;
	enum configured_tool tool;
	struct {
		const char *path, *text;
	} files[4];
	struct {
		const char *name, *value;
	} variables[4];
	const char *answer; /* of the tool when asked; NULL: not installed */
	bool is_project_trusted;
	const char *want; /* "DESTINATION WHERE\n" for each, in order; NULL: an error */
	const char *says; /* is in the notes, or in the error; NULL: there is no note */
};
/* Fails the test when @c does not come out as it says. */
void configured_test_case(const struct configured_case *c);

/* What a hearer heard. */
struct heard {
	char found[8192], notes[8192];
};
void heard_found(const char *destination, const char *where, void *arg);
void heard_note(const char *text, void *arg);
