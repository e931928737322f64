/* What a gate provides to the server of its agent: name resolution of commands, writable paths, the
 * audit log. */
#include <errno.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/agent/agent_impl.h"
#include "cli/agent/command_world.h"
#include "cli/gate/gate.h"
#include "policies/policies_gate.h"

struct world {
	struct command_world
		world; /* the first member: its address is the one that is handed out */
	struct command_world_places places;
	char *cwd, *path;
};

static struct command_world *world_new(const char *cwd, const char *path, char *const *writable,
				       void *arg)
{
	struct world *world = mem_new(sizeof(*world));

	world->cwd = mem_strdup(cwd);
	world->path = mem_strdup_or_null(path);
	world->places = (struct command_world_places){ world->cwd, world->path, writable };
	command_world_init(&world->world, &world->places);
	return &world->world;
}

static void world_free(struct command_world *own, void *arg)
{
	struct world *world = (struct world *)own;

	free(world->cwd);
	free(world->path);
	free(world);
}

static int note_reach(char *const *paths, struct err *why, void *arg)
{
	return gate_note_reach(arg, paths, why);
}

static void widen(char *const *paths, void *arg)
{
	gate_widen(arg, paths);
}

static char **guarded(void *arg)
{
	return gate_guarded(arg);
}

static const struct exec_cache *caches(const char *cwd, size_t *ret_count, void *arg)
{
	struct gate *gate = arg;
	const struct run_caches *found =
		run_caches_of(&gate->view, cwd, gate->policy, gate->options, &gate->places);

	*ret_count = found ? found->count : 0;
	return found ? found->list : NULL;
}

static int store(const char *const *lines, struct err *why, void *arg)
{
	const struct gate *gate = arg;

	if (!gate->places.answers_path)
		return err_set(why, -ENOENT,
			       "the user has no policy file to keep the answer in; set HOME");
	return policy_lines_append(gate->places.answers_path, lines, why);
}

const struct agent_host agent_host_of_gate = {
	.world_new = world_new,
	.world_free = world_free,
	.note_reach = note_reach,
	.widen = widen,
	.guarded = guarded,
	.store = store,
	.caches = caches,
};
