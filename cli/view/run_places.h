/* run_places: the paths that a run reads and writes on the host. */
#pragma once

/* All absolute, all owned; config_dir, state_dir and answers_path may be NULL. */
struct run_places {
	char *cwd, *config_dir, *state_dir, *control_dir;
	char *audit_path, *audit_head; /* the log, and the file that holds its last state */
	char *audit_dir, *seen_path;   /* records not in the log yet; what was allowed before */
	char *answers_path;            /* the user's policy file */
};
/* Finds the paths and makes missing folders. @audit: the value of --audit, or NULL. Returns an exit
 * status and prints what is wrong. Must be freed in every case. */
int run_places_find(struct run_places *places, const char *audit);
char *run_places_absolute(const struct run_places *places, const char *path); /* returned owned */
void run_places_free(struct run_places *places);
/* The same for a path of a policy, which may begin with `~/`. NULL: HOME is not set. */
char *run_places_expand(const struct run_places *places, const char *path);
