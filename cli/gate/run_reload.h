/* run_reload: reads the policy of a run again when one of its files changes. */
#pragma once

#include <stdbool.h>

struct gateway;
struct loop;
struct policy;
struct run_loaded;
struct run_reload;
struct run_sources;

struct run_reload_config {
	struct loop *loop; /* kept, as all members */
	struct gateway *gateway;
	const struct run_sources *sources;
	struct policy **policy;    /* the policy in force; replaced, and the previous one freed */
	struct run_loaded *loaded; /* how that policy was read; its policy member was taken */
	char *const *writable;     /* what the command may write; NULL-terminated */
	unsigned int kinds;        /* the kinds of questions that the policy's programs get */
	bool has_prompt_timeout;   /* given as an option, which has precedence over the files */
	/* Another policy is in force, and the previous one is about to be freed; may be NULL. */
	void (*on_policy)(const struct policy *policy, void *arg);
	void (*on_read)(void *arg); /* the files were read again; may be NULL */
	void *arg;
};
/* Returned owned. */
struct run_reload *run_reload_new(const struct run_reload_config *config);
/* Commands may write more now: keeps @writable instead. */
void run_reload_set_writable(struct run_reload *reload, char *const *writable);
/* Reads the files now, as when one has changed; on_read() follows. */
void run_reload_now(struct run_reload *reload);
/* What is wrong with the last policy that was read, if it is not in force: lines, printable,
 * borrowed; "": nothing. */
const char *run_reload_errors(const struct run_reload *reload);
void run_reload_free(struct run_reload *reload);
