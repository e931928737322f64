/* What a gate gives the server of its agent: where names lead, what may be written, what is kept.
 */
#include <errno.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/agent_impl.h"
#include "cli/command_world.h"
#include "cli/gate.h"
#include "policies/policies_gate.h"

struct world {
	struct command_world world; /* first: it is what is handed out */
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

static int widen(char *const *paths, struct err *why, void *arg)
{
	return gate_widen(arg, paths, why);
}

static char **guarded(void *arg)
{
	return gate_guarded(arg);
}

static int store(const char *const *lines, struct err *why, void *arg)
{
	const struct gate *gate = arg;

	if (!gate->places.answers_path)
		return err_set(why, -ENOENT, "there is no policy file of the user's to keep it in");
	return policy_lines_append(gate->places.answers_path, lines, why);
}

const struct agent_host agent_host_of_gate = {
	.world_new = world_new,
	.world_free = world_free,
	.widen = widen,
	.guarded = guarded,
	.store = store,
};
