#include "cli/gate/run_loader.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cli/run/run_sources.h"
#include "policies/policies_image.h"

#define LOADER_BYTES sizeof(struct run_loaded *) /* the pipe carries the pointer itself */

struct run_loader {
	struct loop *loop;
	int from; /* the read end; a pointer that was read from it is ours */
	struct event readable;
	run_loader_fn done;
	void *arg;
};

/* The data of the thread; it shares none of it. */
struct loader_job {
	struct run_sources sources;
	int to;
};

/* Makes the compiled form for the workers, which read no files. */
static void loader_make_image(struct run_loaded *loaded)
{
	struct err why = { 0 };

	if (!loaded->is_good)
		return;
	loaded->image = policy_image_make(loaded->policy, &why);
	loaded->has_image = loaded->image >= 0;
	if (loaded->has_image)
		return;
	loaded->is_good = false;
	loaded->failure = mem_printf("error: the policy cannot be handed on: %s\n", why.text);
}

/* The pointer is handed over by one write, which is complete or fails. If it fails, the reader is
 * gone and the result is still the thread's to free. */
static void *loader_run(void *arg)
{
	struct loader_job *job = arg;
	struct run_loaded *loaded = mem_new(sizeof(*loaded));

	run_sources_read(loaded, &job->sources);
	loader_make_image(loaded);
	if (write(job->to, &loaded, LOADER_BYTES) != (ssize_t)LOADER_BYTES) {
		run_sources_forget(loaded);
		free(loaded);
	}
	fd_close(job->to);
	run_sources_done(&job->sources);
	free(job);
	return NULL;
}

/* The thread takes no signals: the loop handles them. A write to a pipe without a reader returns an
 * error. */
static int loader_spawn(struct loader_job *job)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int r = pthread_attr_init(&attributes);

	if (r != 0)
		return -r;
	(void)sigfillset(&all);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attributes, loader_run, job);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attributes);
	return -r;
}

static void loader_readable(evutil_socket_t fd, short what, void *arg)
{
	struct run_loader *loader = arg;
	struct run_loaded *loaded = NULL;

	/* The thread always writes before it ends, so an event without a pointer means nothing. */
	if (read(fd, &loaded, LOADER_BYTES) != (ssize_t)LOADER_BYTES)
		return;
	event_del(&loader->readable);
	loader->done(loaded, loader->arg);
}

struct run_loader *run_loader_start(struct loop *loop, const struct run_sources *sources,
				    run_loader_fn done, void *arg)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return NULL;
	struct loader_job *job = mem_new(sizeof(*job));

	job->to = ends[1];
	run_sources_copy(&job->sources, sources);
	if (fd_set_nonblocking(ends[0], true) < 0 || loader_spawn(job) < 0) {
		fd_close(ends[0]);
		fd_close(job->to);
		run_sources_done(&job->sources);
		free(job);
		return NULL;
	}
	struct run_loader *loader = mem_new(sizeof(*loader));

	loader->loop = loop;
	loader->from = ends[0];
	loader->done = done;
	loader->arg = arg;
	event_assign(&loader->readable, loop_base(loop), loader->from, EV_READ | EV_PERSIST,
		     loader_readable, loader);
	event_add(&loader->readable, NULL);
	return loader;
}

void run_loader_free(struct run_loader *loader)
{
	struct run_loaded *loaded;

	if (!loader)
		return;
	event_del(&loader->readable);
	/* A pointer that is in the pipe already is ours to free. */
	if (read(loader->from, &loaded, LOADER_BYTES) == (ssize_t)LOADER_BYTES) {
		run_sources_forget(loaded);
		free(loaded);
	}
	fd_close(loader->from);
	free(loader);
}
