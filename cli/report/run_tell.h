/* run_tell: prints the lines at the end of a run where a person looks: on stderr, and, where a CI
 * service runs us, in the form that it shows with the job. */
#pragma once

#include <stdbool.h>

enum run_tell_level { RUN_TELL_NOTE, RUN_TELL_WARNING, RUN_TELL_ERROR };

struct run_tell {
	enum run_tell_ci { RUN_TELL_PLAIN, RUN_TELL_GITHUB, RUN_TELL_GITLAB } ci;
	char **kept; /* lines for GitHub's summary; owned */
};
/* Does a CI service run us? It keeps what is printed, and shows it to others. */
bool run_tell_is_ci(void);
/* Begins; @run is the id of the run. */
void run_tell_begin(struct run_tell *tell, const char *run);
/* Prints "sallyport: TEXT", which is printable and has no newline. */
void run_tell_say(struct run_tell *tell, enum run_tell_level level, const char *text);
/* Ends, and writes the summary. */
void run_tell_end(struct run_tell *tell, const char *run);
