/* project: what a project's files say about the policy it needs. */
#pragma once

#include <stddef.h>

#define PROJECT_LINES_MAX 32

struct project_line {
	const char *policy; /* "include preset npm"; static */
	const char *file;   /* the file that says so; static */
};
struct project {
	struct project_line lines[PROJECT_LINES_MAX];
	size_t count;
	const char *profile;      /* the agent that the project is set up for; NULL: none */
	const char *profile_file; /* the file that says so */
};

/* Looks at the names in the folder @folder, and at nothing else. */
void project_look(int folder, struct project *ret);
