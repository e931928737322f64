/* policy_reach: a policy file that a command can write, or could, counts only with the content that
 * it had at its first use or when a person trusted it. */
#pragma once

struct err;
struct run_loaded;

/* All borrowed. */
struct policy_reach {
	const char *state;     /* the folder of the lists; NULL: there is none */
	const char *cwd;       /* absolute: relative names start here */
	const char *config;    /* the user's folder, which every run hides; NULL: there is none */
	char *const *writable; /* folders that commands of this run may write; NULL-terminated */
	char *const *named;    /* paths of options and files, absolute */
};

/* Do the files of every layer but the project's, and the files they include, count? Marks those
 * that are used for the first time. Not 0 with @why: one does not count, or a command could have
 * chosen where one of the named paths leads. */
int policy_reach_check(const struct policy_reach *reach, struct run_loaded *loaded,
		       struct err *why);
/* Notes and reports the marked files in the folder @state: call it when nothing refuses the run any
 * more. 0 or -errno with @why. */
int policy_reach_keep(const char *state, const struct run_loaded *loaded, struct err *why);
/* Refuses paths with a link that a command could have made. 0 or -errno with @why. */
int policy_reach_check_paths(const char *state, char *const *paths, struct err *why);
/* Notes that commands may write there from now on; call it before any of them runs. */
int policy_reach_note(const struct policy_reach *reach, struct err *why);
