/* run_loader: reads the policy of a run in a thread of its own. */
#pragma once

struct loop;
struct run_loaded;
struct run_loader;
struct run_sources;

/* Returned owned. @done runs once, from the loop, and takes @loaded (freed by run_sources_forget()
 * and free()). NULL: the thread could not be started. */
typedef void (*run_loader_fn)(struct run_loaded *loaded, void *arg);
struct run_loader *run_loader_start(struct loop *loop, const struct run_sources *sources,
				    run_loader_fn done, void *arg);
/* Does not wait for the thread: it frees its result itself. Also after @done. */
void run_loader_free(struct run_loader *loader);
