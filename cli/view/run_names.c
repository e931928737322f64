#include "cli/view/run_names.h"

#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/watch.h"
#include "cli/view/trusted.h"
#include "gateway/gateway_names.h"

static const char *const paths[] = { "/etc/resolv.conf", "/etc/hosts" };

struct run_names {
	struct gateway *gateway;
	struct watch *watch;
	char *const *writable;
};

/* A file that the command can write must not decide which address an allowed name has. */
static bool is_in_reach(const struct run_names *names, const char *path)
{
	auto_free char *real = realpath(path, NULL);

	for (char *const *folder = names->writable; real && folder && *folder; folder++) {
		if (trusted_is_within(real, *folder))
			return true;
	}
	return false;
}

static void on_change(void *arg)
{
	const struct run_names *names = arg;

	if (!is_in_reach(names, paths[0]) && !is_in_reach(names, paths[1]))
		gateway_send_names(names->gateway, paths[0], paths[1]);
}

struct run_names *run_names_new(struct loop *loop, struct gateway *gateway, char *const *writable,
				int64_t since_us)
{
	struct run_names *names = mem_new(sizeof(*names));
	auto_free_list char **watched = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		mem_append_list(&watched, mem_strdup(paths[i]));
	names->gateway = gateway;
	names->writable = writable;
	/* Polls every two seconds: a user has only 128 inotify instances for all programs. */
	names->watch = watch_new(loop, false, on_change, names);
	watch_set(names->watch, watched, since_us);
	return names;
}

void run_names_set_writable(struct run_names *names, char *const *writable)
{
	names->writable = writable;
}

void run_names_free(struct run_names *names)
{
	if (!names)
		return;
	watch_free(names->watch);
	free(names);
}
