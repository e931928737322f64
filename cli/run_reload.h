/* run_reload: the policy of a run is read again when one of its files changes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/err.h"
#include "base/loop.h"
#include "cli/bundle_files.h"
#include "cli/policy_layers.h"
#include "gateway/gateway.h"

/* What a policy is read from, as plain, owned text: it may be read in a thread that outlives the
 * run. */
struct run_sources {
	struct policy_layers layers;
	bool has_default;
	enum policy_action default_action;
	struct bundle_reply *replies; /* every --answers, as it was at the start */
	size_t reply_count;
};
void run_sources_copy(struct run_sources *ours, const struct run_sources *sources);
void run_sources_done(struct run_sources *ours);

struct run_file {
	char *path; /* absolute, or "" */
	enum policy_layer layer;
	char digest[DIGEST_TEXT_MAX]; /* of by whom it counts, and its bytes */
};
/* A policy as it was read. All owned. */
struct run_loaded {
	struct policy *policy; /* also when it is wrong */
	bool is_good;
	size_t lacking;      /* answers of too few approvers */
	struct err left_out; /* why not all answers given to the run count, or "" */
	bool has_image;
	int image;     /* of it, when it was read to replace another */
	char *failure; /* why there is no image, or NULL */
	struct run_file *files;
	size_t file_count;
	char digest[DIGEST_TEXT_MAX]; /* of all files */
	int64_t since_us;             /* when the reading began */
};
/* Reads everything; policy_errors() and policy_notes() say what is to be said. Blocks. */
void run_sources_read(struct run_loaded *ret, const struct run_sources *sources);
void run_sources_forget(struct run_loaded *loaded); /* also zeroed */

/* Reads in a thread of its own; @done takes @loaded (freed by run_sources_forget() and free()),
 * once, from the loop. NULL: there is no thread to be had. */
struct run_loader;
typedef void (*run_loader_fn)(struct run_loaded *loaded, void *arg);
struct run_loader *run_loader_start(struct loop *loop, const struct run_sources *sources,
				    run_loader_fn done, void *arg);
/* Does not wait for the thread: what it reads is freed when it is done. Also after @done. */
void run_loader_free(struct run_loader *loader);

struct run_reload_config {
	struct loop *loop; /* kept, as all here */
	struct gateway *gateway;
	const struct run_sources *sources;
	struct policy **policy;    /* in force; replaced, and the one before freed */
	struct run_loaded *loaded; /* how that one was read; its policy was taken */
	char *const *writable;     /* what the command may write; NULL-terminated */
	unsigned int kinds;        /* of what the policy's programs are asked */
	bool has_prompt_timeout;   /* by option: the file's does not count */
	/* Another policy is in force, the one before about to be freed; may be NULL. */
	void (*on_policy)(const struct policy *policy, void *arg);
	void *arg;
};
/* Returned owned. */
struct run_reload *run_reload_new(const struct run_reload_config *config);
/* They may write more now: @writable is kept instead. */
void run_reload_set_writable(struct run_reload *reload, char *const *writable);
/* What is wrong with the policy that was read last and is not in force: lines, visible, borrowed;
 * "": nothing. */
const char *run_reload_errors(const struct run_reload *reload);
void run_reload_free(struct run_reload *reload);
