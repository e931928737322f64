#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "cli/run_reload.h"
#include "policies/policies_tools.h"

struct run_loader {
	struct loop *loop;
	int from; /* a pointer comes out of here, and is ours then */
	struct event readable;
	run_loader_fn done;
	void *arg;
};

/* What the thread has: nothing of it is shared. */
struct loader_job {
	struct run_sources sources;
	int to;
};

static char *own(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

static char **own_list(char *const *list)
{
	size_t count = 0;

	while (list && list[count])
		count++;
	char **ours = mem_new_array(count + 1, sizeof(*ours));

	for (size_t i = 0; i < count; i++)
		ours[i] = mem_strdup(list[i]);
	return ours;
}

void run_sources_copy(struct run_sources *ours, const struct run_sources *sources)
{
	const struct policy_layers *layers = &sources->layers;

	*ours = *sources;
	ours->layers.managed = own(layers->managed);
	ours->layers.user = own(layers->user);
	ours->layers.cwd = own(layers->cwd);
	ours->layers.state = own(layers->state);
	ours->layers.arguments = own_list(layers->arguments);
	ours->layers.projects = own_list(layers->projects);
}

/* run_sources_copy() made them. */
void run_sources_done(struct run_sources *ours)
{
	const char *texts[] = { ours->layers.managed, ours->layers.user, ours->layers.cwd,
				ours->layers.state };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free((char *)(uintptr_t)texts[i]);
	mem_free_list((char **)(uintptr_t)ours->layers.arguments);
	mem_free_list((char **)(uintptr_t)ours->layers.projects);
	*ours = (struct run_sources){ 0 };
}

/* A file that is not hashed is like none that was: it counts as changed. */
static void on_file(const char *path, enum policy_layer layer, const void *bytes, size_t len,
		    void *arg)
{
	struct run_loaded *loaded = arg;
	const char *by = policy_layer_name(layer);

	loaded->files = mem_grow(loaded->files, loaded->file_count + 1, sizeof(*loaded->files));
	struct run_file *file = &loaded->files[loaded->file_count++];

	*file = (struct run_file){ .path = mem_strdup(path), .layer = layer };
	(void)digest_text(by, strlen(by) + 1, bytes, len, file->digest);
}

/* The digest of "DIGEST  PATH" of every file, one a line. */
static void digest_all(struct run_loaded *loaded)
{
	char so_far[DIGEST_TEXT_MAX] = "";

	for (size_t i = 0; i < loaded->file_count; i++) {
		auto_free char *line =
			mem_printf("%s  %s\n", loaded->files[i].digest, loaded->files[i].path);

		(void)digest_text(so_far, strlen(so_far), line, strlen(line), loaded->digest);
		memcpy(so_far, loaded->digest, sizeof(so_far));
	}
}

static int64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void run_loaded_read(struct run_loaded *ret, const struct run_sources *sources)
{
	enum policy_action ignored;
	struct policy *policy = policy_new();

	*ret = (struct run_loaded){ .policy = policy, .since_us = now_us() };
	policy_set_witness(policy, on_file, ret);
	ret->is_good = policy_layers_load(policy, &sources->layers);
	policy_set_witness(policy, NULL, NULL);
	/* "ask with somebody to ask": where nobody is, the gateway denies at once and says so. */
	if (sources->has_default || !policy_get_default(policy, &ignored))
		policy_set_default(policy,
				   sources->has_default ? sources->default_action : POLICY_ASK);
	ret->is_good = ret->is_good && policy_finish(policy) == 0;
	digest_all(ret);
}

void run_loaded_done(struct run_loaded *loaded)
{
	policy_free(loaded->policy);
	for (size_t i = 0; i < loaded->file_count; i++)
		free(loaded->files[i].path);
	free(loaded->files);
	*loaded = (struct run_loaded){ 0 };
}

/* The pointer is handed over by a write that is whole or fails; when nobody reads any more it is
 * still ours. */
static void *loader_run(void *arg)
{
	struct loader_job *job = arg;
	struct run_loaded *loaded = mem_new(sizeof(*loaded));

	run_loaded_read(loaded, &job->sources);
	if (write(job->to, &loaded, sizeof(loaded)) != (ssize_t)sizeof(loaded)) {
		run_loaded_done(loaded);
		free(loaded);
	}
	fd_close(job->to);
	run_sources_done(&job->sources);
	free(job);
	return NULL;
}

/* No signal is the thread's: handlers are the loop's, and a pipe without a reader is an error. */
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

	/* The thread lives until it has written. */
	if (read(fd, &loaded, sizeof(loaded)) != (ssize_t)sizeof(loaded))
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
	/* What is in the pipe already is ours. */
	if (read(loader->from, &loaded, sizeof(loaded)) == (ssize_t)sizeof(loaded)) {
		run_loaded_done(loaded);
		free(loaded);
	}
	fd_close(loader->from);
	free(loader);
}
