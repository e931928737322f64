/* run_sources: the sources that the policy of a run is read from, and the result of reading them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "cli/policy/policy_layers.h"

struct bundle_reply;

/* The sources of a policy, as plain, owned text: they are read again when a file changes. */
struct run_sources {
	struct policy_layers layers;
	bool has_default;
	enum policy_action default_action;
	struct bundle_reply *replies; /* every --answers file, as it was at the start */
	size_t reply_count;
};
void run_sources_copy(struct run_sources *ours, const struct run_sources *sources);
void run_sources_done(struct run_sources *ours);

struct run_file {
	char *path;  /* absolute, or "" */
	char *asked; /* as it was named; absolute if it was included */
	enum policy_layer layer;
	char digest[DIGEST_TEXT_MAX]; /* over the layer and the bytes */
	char bytes[DIGEST_TEXT_MAX];  /* over the bytes alone; "": not known */
	bool is_first; /* commands can write it, and no run has used it: policy_reach_check() */
};
/* The result of reading a policy. All owned. */
struct run_loaded {
	struct policy *policy; /* also if it has errors */
	bool is_good;
	size_t lacking;      /* destinations that too few approvers allow */
	struct err left_out; /* why some answers given to the run do not count, or "" */
	bool has_image;
	int image;     /* the compiled form, if it replaces another policy */
	char *failure; /* why there is no compiled form, or NULL */
	struct run_file *files;
	size_t file_count;
	char digest[DIGEST_TEXT_MAX]; /* over all files */
	int64_t since_us;             /* when the reading began */
};
/* Reads everything; policy_errors() and policy_notes() return the messages. Blocks. */
void run_sources_read(struct run_loaded *ret, const struct run_sources *sources);
void run_sources_forget(struct run_loaded *loaded); /* also accepts a zeroed one */
