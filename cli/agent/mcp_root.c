#include "cli/agent/mcp_root.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/agent/command_world.h"
#include "cli/gate/gate.h"
#include "cli/policy/policy_layers.h"

/* Is @path (absolute; it may be missing) @folder, a real path, or below it? */
static bool is_below(const char *path, const char *folder)
{
	auto_free char *real = path ? realpath(path, NULL) : NULL;

	return path && command_world_is_below(real ? real : path, folder);
}

/* As `sallyport run` decides about the folder that it is started in, and stricter: that one a
 * person has chosen. */
static int check_place(const struct gate *gate, const char *real, struct err *why)
{
	const char *const own[] = { gate->places.config_dir, gate->places.state_dir,
				    gate->places.control_dir };

	if (!run_view_is_workspace(real))
		return err_set(why, -EPERM, "commands cannot work in a folder of the system");
	if (is_below(getenv("HOME"), real))
		return err_set(why, -EPERM,
			       "it holds your home folder; name the folders below it instead");
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (own[i] && (is_below(own[i], real) || command_world_is_below(real, own[i])))
			return err_set(why, -EPERM, "the gate's own files are there, in %.300s",
				       own[i]);
	}
	return 0;
}

/* With --read or `read` only the folders that are named, for reading or writing, can be seen. */
static int check_seen(const struct gate *gate, const char *real, struct err *why)
{
	char *const *const lists[] = { gate->view.readable, gate->view.writable };

	if (!gate->view.readable || command_world_is_below(real, gate->places.cwd))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		for (char *const *path = lists[i]; path && *path; path++) {
			if (command_world_is_below(real, *path))
				return 0;
		}
	}
	return err_set(why, -EPERM,
		       "reading is restricted by --read or by the policy, and it is outside of "
		       "what they name");
}

/* A project's policy is read in the folder where the server was started. */
static int check_projects(const struct gate *gate, const char *real, struct err *why)
{
	auto_free_list char **files = policy_layers_projects(real);
	auto_free_list char **known = policy_layers_projects(gate->places.cwd);

	for (char **file = files; *file; file++) {
		bool is_known = access(*file, F_OK) < 0;

		for (char **at = known; *at && !is_known; at++)
			is_known = strcmp(*at, *file) == 0;
		if (!is_known)
			return err_set(why, -EPERM,
				       "%.300s applies there, but the server does not know it; "
				       "start the server in that folder",
				       *file);
	}
	return 0;
}

char *mcp_root_check(const char *path, struct err *why, const void *gate)
{
	auto_free char *real = realpath(path, NULL);
	struct stat status;

	if (!real || stat(real, &status) < 0) {
		(void)err_set(why, -errno, "%s", strerror(errno));
		return NULL;
	}
	if (!S_ISDIR(status.st_mode)) {
		(void)err_set(why, -ENOTDIR, "it is not a folder");
		return NULL;
	}
	int r = check_place(gate, real, why);

	if (r == 0)
		r = check_seen(gate, real, why);
	if (r == 0)
		r = check_projects(gate, real, why);
	return r == 0 ? take(real) : NULL;
}
