#include "exec/exec_probe.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"

static const char *const names[EXEC_WAYS] = {
#define WAY(id, name, function, what) [EXEC_WAY_##id] = (name),
#include "exec/probe/ways.def"
#undef WAY
};

static const char *const whats[EXEC_WAYS] = {
#define WAY(id, name, function, what) [EXEC_WAY_##id] = (what),
#include "exec/probe/ways.def"
#undef WAY
};

static const char *const reasons[EXEC_TRIES] = {
	[EXEC_TRY_NETWORK] = "the command has the host's network",
	[EXEC_TRY_FILES] = "the command may write all files",
	[EXEC_TRY_KERNEL] = "Linux 6.12 or newer is needed to refuse it",
	[EXEC_TRY_NO_IPV6] = "there is no IPv6",
	[EXEC_TRY_NOTHING] = "there is none here",
	[EXEC_TRY_SAME_PID] = "a process inside may have the gate's number",
};

static bool is_skipped(uint8_t tried)
{
	return tried >= EXEC_TRY_NETWORK && tried < EXEC_TRIES;
}

bool exec_probe_has_run(const struct exec_probe *probe)
{
	return probe->ways[0] != EXEC_TRY_NONE;
}

bool exec_probe_holds(const struct exec_probe *probe)
{
	enum exec_way way;

	return !exec_probe_worked(probe, &way);
}

const char *exec_probe_grade(const struct exec_probe *probe)
{
	if (!exec_probe_holds(probe))
		return "failed";
	for (int way = 0; way < EXEC_WAYS; way++)
		if (probe->ways[way] == EXEC_TRY_NETWORK || probe->ways[way] == EXEC_TRY_FILES ||
		    probe->ways[way] == EXEC_TRY_KERNEL)
			return "reduced";
	return "full";
}

const char *exec_way_name(enum exec_way way)
{
	return names[way];
}

const char *exec_probe_skipped(const struct exec_probe *probe, enum exec_way way)
{
	return is_skipped(probe->ways[way]) ? reasons[probe->ways[way]] : NULL;
}

const char *exec_probe_worked(const struct exec_probe *probe, enum exec_way *ret)
{
	for (int way = 0; way < EXEC_WAYS; way++)
		if (probe->ways[way] != EXEC_TRY_REFUSED && !is_skipped(probe->ways[way])) {
			*ret = (enum exec_way)way;
			return whats[way];
		}
	return NULL;
}

const char *exec_probe_absent(bool is_by_option)
{
	return is_by_option ? "not probed: --no-probe" : "not probed: the command is not confined";
}

char *exec_probe_text(const struct exec_probe *probe)
{
	auto_free char *tried = mem_strdup("");
	auto_free char *skipped = mem_strdup("");
	unsigned int count = 0;

	for (int way = 0; way < EXEC_WAYS; way++) {
		bool is_out = is_skipped(probe->ways[way]);
		char **list = is_out ? &skipped : &tried;

		mem_append(list, "%s%s", is_out ? ", " : " ", names[way]);
		count += probe->ways[way] == EXEC_TRY_REFUSED;
	}
	return mem_printf("%s: %u refused in %u us:%s%s%s", exec_probe_grade(probe), count,
			  probe->micros, tried, skipped[0] ? "; not tried: " : "",
			  skipped[0] ? skipped + 2 : "");
}
