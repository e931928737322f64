#include "agent/command/extra_look.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/command/confine.h"
#include "agent/command/look.h"
#include "agent/command/task.h"
#include "agent/session/client.h"
#include "agent/session/session.h"
#include "base/err.h"
#include "base/mem.h"
#include "exec/exec_target.h"

/* The letters of the entries; see look_next(). */
enum { OPENS = 'x', KEPT = 'k' };

/* The paths that the gate does not open: for reading, and for writing. */
struct views {
	struct exec_target_view *hidden, *kept;
};

static struct views views_new(const struct agent_config *config)
{
	auto_free_list char **guarded = config->host->guarded(config->arg);
	struct views views = { exec_target_view_new_empty(), exec_target_view_new_empty() };

	exec_target_view_keep(views.hidden, config->hidden);
	exec_target_view_keep(views.kept, config->hidden);
	exec_target_view_keep(views.kept, config->read_only);
	exec_target_view_keep(views.kept, (const char *const *)guarded);
	return views;
}

static void look_at(FILE *out, const struct views *views, const struct orchestrator_access *access,
		    size_t index)
{
	bool is_write = access->what == ORCHESTRATOR_WRITE_PATH;
	auto_free char *path = is_write ? confine_openable(access->name) : mem_strdup(access->name);
	auto_free char *key = mem_printf("%zu", index);
	struct err why = { 0 };

	look_put(out, OPENS, key, path);
	if ((is_write || access->what == ORCHESTRATOR_READ_PATH) &&
	    exec_target_is_kept(is_write ? views->kept : views->hidden, path, &why))
		look_put(out, KEPT, why.text, "");
}

void extra_look(FILE *out, const struct task *task)
{
	const struct extra *extra = &task->permits;
	const struct views views = views_new(&task->session->agent->config);

	for (size_t i = 0; i < extra->count; i++)
		if (extra->list[i].what != ORCHESTRATOR_DESTINATION)
			look_at(out, &views, &extra->list[i], i);
	exec_target_view_free(views.hidden);
	exec_target_view_free(views.kept);
}

int extra_look_read(struct task *task, struct err *why)
{
	const char *key, *path;
	size_t at = 0;

	while ((key = look_next(task, OPENS, &at, &path)) != NULL)
		extra_set_path(&task->permits, strtoul(key, NULL, 10), path);
	at = 0;
	key = look_next(task, KEPT, &at, &path);
	return key ? err_set(why, -EPERM, "%s", key) : 0;
}
