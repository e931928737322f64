/* project: what a project's files say about the policy it needs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROJECT_LINES_MAX 32

struct project_line {
	char *policy; /* "include preset npm"; owned, as file */
	char *file;   /* the file that says so */
};
struct project {
	struct project_line lines[PROJECT_LINES_MAX];
	size_t count;
	const char *profile;      /* the agent that the project is set up for; NULL: none */
	const char *profile_file; /* the file that says so */
};

/* Looks at the names in the folder @folder, and at nothing else. */
void project_look(int folder, struct project *ret);
/* False: it has the line already, or has no room. */
bool project_add(struct project *project, const char *policy, const char *file);
void project_done(struct project *project);
