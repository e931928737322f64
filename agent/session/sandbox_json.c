#include "agent/session/sandbox_json.h"

#include <stdlib.h>
#include <string.h>

#include "agent/session/tell.h"
#include "exec/exec_sandbox.h"

static bool has_entry(const struct exec_sandbox *sandbox, const char *path)
{
	size_t count;
	const struct exec_entry *entries = exec_sandbox_entries(sandbox, &count);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(entries[i].path, path) == 0)
			return true;
	}
	return false;
}

/* Each path of a sandbox, but what the mode makes readable by itself: named, that is refused. */
static void add_paths_json(json_t *object, const struct exec_sandbox *sandbox)
{
	enum exec_mode mode = exec_sandbox_mode(sandbox);
	json_t *lists[] = {
		[EXEC_DENY] = json_array(),
		[EXEC_READ] = json_array(),
		[EXEC_WRITE] = json_array(),
	};
	size_t count;
	const struct exec_entry *entries = exec_sandbox_entries(sandbox, &count);

	for (size_t i = 0; i < count; i++) {
		bool is_usual =
			entries[i].access == EXEC_READ &&
			(mode == EXEC_MODE_READ_ONLY ||
			 (mode == EXEC_MODE_WORKSPACE_WRITE && strcmp(entries[i].path, "/") == 0));

		if (!is_usual) /* fails only without memory */
			(void)json_array_append_new(lists[entries[i].access],
						    tell_text(entries[i].path));
	}
	tell_add(object, "writable", lists[EXEC_WRITE]);
	tell_add(object, "read", lists[EXEC_READ]);
	tell_add(object, "deny", lists[EXEC_DENY]);
}

json_t *sandbox_json(const struct exec_sandbox *sandbox)
{
	enum exec_mode mode = exec_sandbox_mode(sandbox);
	const char *const *sockets = exec_sandbox_sockets(sandbox);
	const char *tmpdir = getenv("TMPDIR");
	json_t *object = json_pack(
		"{s:s, s:s}", "mode", exec_mode_name(mode), "network",
		exec_sandbox_network(sandbox) == EXEC_NETWORK_ENABLED ? "enabled" : "restricted");

	add_paths_json(object, sandbox);
	if (mode == EXEC_MODE_WORKSPACE_WRITE) {
		tell_add(object, "exclude_slash_tmp", json_boolean(!has_entry(sandbox, "/tmp")));
		tell_add(object, "exclude_tmpdir",
			 json_boolean(!tmpdir || !has_entry(sandbox, tmpdir)));
	}
	if (sockets[0])
		tell_add(object, "sockets", tell_list(sockets));
	return object;
}
