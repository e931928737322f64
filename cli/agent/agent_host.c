/* What a gate provides to the server of its agent: name resolution of commands, writable paths, the
 * audit log. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/agent/agent_impl.h"
#include "cli/agent/command_world.h"
#include "cli/gate/gate.h"
#include "cli/view/reach.h"
#include "cli/view/trusted.h"
#include "policies/policies_gate.h"

struct world {
	struct command_world
		world; /* the first member: its address is the one that is handed out */
	struct command_world inner;
	struct command_world_places places;
	char *cwd, *path;
	const struct gate *gate;
	struct reach *reach; /* as own_path: NULL until it was wanted */
	char *own_path;
};

static int resolve(const char *name, struct command_file *ret, void *arg)
{
	const struct world *world = arg;

	return world->inner.resolve(name, ret, world->inner.arg);
}

static bool may_write(const char *path, void *arg)
{
	const struct world *world = arg;

	return world->inner.may_write(path, world->inner.arg);
}

static const char *own_path(struct command_world *own, void *arg)
{
	struct world *world = (struct world *)own;
	const struct run_places *places = &world->gate->places;

	if (world->own_path)
		return world->own_path;
	world->reach = reach_open(places->state_dir, NULL);
	if (world->reach && world->places.writable)
		reach_add(world->reach, world->places.writable, places->config_dir);
	world->own_path = trusted_path(world->path, NULL, world->reach);
	return world->own_path;
}

static bool may_be_theirs(const char *name, void *arg)
{
	struct world *world = arg;
	const char *path = own_path(&world->world, NULL);
	auto_free struct command_file *file = mem_new(sizeof(*file));

	if (resolve(name, file, arg) < 0)
		return true;
	if (strchr(name, '/'))
		return reach_has(world->reach, file->path);
	auto_free char *own = trusted_find(path, name, NULL, world->reach);

	return !own || strcmp(own, file->path) != 0;
}

static struct command_world *world_new(const char *cwd, const char *path, char *const *writable,
				       void *arg)
{
	struct world *world = mem_new(sizeof(*world));

	world->cwd = mem_strdup(cwd);
	world->path = mem_strdup_or_null(path);
	world->places = (struct command_world_places){ world->cwd, world->path, writable };
	world->gate = arg;
	command_world_init(&world->inner, &world->places);
	world->world = (struct command_world){ resolve, may_write, may_be_theirs, world };
	return &world->world;
}

static void world_free(struct command_world *own, void *arg)
{
	struct world *world = (struct world *)own;

	reach_close(world->reach);
	free(world->own_path);
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

static char **reached(void *arg)
{
	const struct gate *gate = arg;

	return reach_earlier(gate->places.state_dir);
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
	.own_path = own_path,
	.note_reach = note_reach,
	.widen = widen,
	.reached = reached,
	.guarded = guarded,
	.store = store,
	.caches = caches,
};
