/* run_loader: reads the policy of a run in a process of its own. */
#pragma once

struct loop;
struct run_loaded;
struct run_loader;
struct run_sources;

/* Returned owned. @done runs once, from the loop, and takes @loaded (freed by run_sources_forget()
 * and free()), whose policy is read from its image; NULL if it has errors, which are @loaded's
 * failure. @loaded is NULL if the process could not be started, was late or has died: @why. */
typedef void (*run_loader_fn)(struct run_loaded *loaded, const char *why, void *arg);
struct run_loader *run_loader_start(struct loop *loop, const struct run_sources *sources,
				    run_loader_fn done, void *arg);
/* Ends the process without waiting for it. Also after @done. */
void run_loader_free(struct run_loader *loader);
