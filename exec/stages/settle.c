#include "exec/init/init.h"
#include "exec/stages/cover.h"
#include "exec/stages/mounts.h"
#include "exec/stages/stages.h"
#include "exec/stages/watch.h"

#include <errno.h>

#define ROUNDS_MAX 16

/* Something has changed since the search, which is rare. */
static int cover_again(struct init *init)
{
	const struct read_plan *plan = &init->plan;

	for (int i = 0; i < ROUNDS_MAX && watch_find_open(plan); i++) {
		int r = mounts_cover(init);

		if (r < 0)
			return r;
	}
	watch_set_gone_apart(&init->watch, plan);
	return 0;
}

int settle_covers(struct init *init)
{
	const struct read_plan *plan = &init->plan;

	init->step = WIRE_STEP_WATCH;
	const char *path = watch_find_lost(plan);

	if (path) {
		int r = cover_again(init);

		if (r < 0)
			return r;
		path = watch_find_lost(plan);
	}
	if (!path)
		path = watch_find_made(&init->watch, plan);
	init->detail = path ? path : "";
	return path ? -ESTALE : cover_end(init);
}
