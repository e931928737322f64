#include "cli/gate/gate_keep.h"

#include <stdint.h>
#include <time.h>

#include "base/err.h"
#include "base/process/helper.h"
#include "cli/view/run_places.h"
#include "gateway/gateway_audit.h"
#include "policies/policies_gate.h"

#define EVERY_MS INT64_C(3600000)
#define LIMIT_S  600                  /* a process that is killed leaves a log that is whole */
#define DAY_US   INT64_C(86400000000) /* so much older a record gets before the log is copied */
#define SPARE    8                    /* and so much of the size is freed at once: an eighth */

struct shortening {
	const struct run_places *places;
	struct gateway_audit_keep keep;
};

static int shorten(int socket, void *arg)
{
	const struct shortening *it = arg;
	struct err why = { 0 }; /* nobody reads it: `sallyport audit prune` says the same */
	uint64_t removed;

	return gateway_audit_prune(it->places->audit_path, it->places->audit_dir,
				   it->places->state_dir, &it->keep, &removed, &why) < 0;
}

/* Does the log have more than the policy keeps? */
static bool find_due(const struct gate_keep *keep, struct shortening *ret)
{
	struct gateway_audit_keep due = { .since_us = INT64_MIN };
	struct timespec now;
	int64_t age_ms;

	if (!policy_get_keep(*keep->policy, &age_ms, &due.bytes))
		return false;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	*ret = (struct shortening){ .places = keep->places, .keep = due };
	ret->keep.is_by_policy = true;
	ret->keep.bytes -= due.bytes / SPARE;
	if (age_ms != INT64_MAX) {
		ret->keep.since_us = (int64_t)now.tv_sec * 1000000 - age_ms * 1000;
		due.since_us = ret->keep.since_us - DAY_US;
	}
	return gateway_audit_is_due(keep->places->audit_path, &due);
}

static pid_t look(const struct gate_keep *keep)
{
	struct shortening it;

	return find_due(keep, &it) ? helper_start_alone("sallyport-keep", LIMIT_S, shorten, &it)
				   : 0;
}

static void on_time(void *arg)
{
	struct gate_keep *keep = arg;
	pid_t pid = look(keep);

	if (pid > 0)
		loop_reap_child(keep->loop, pid);
	loop_timer_start(keep->loop, &keep->timer, EVERY_MS, on_time, keep);
}

void gate_keep_start(struct gate_keep *keep, struct loop *loop, const struct run_places *places,
		     struct policy *const *policy)
{
	*keep = (struct gate_keep){ .loop = loop, .places = places, .policy = policy };
	loop_timer_start(loop, &keep->timer, EVERY_MS, on_time, keep);
}

void gate_keep_end(struct gate_keep *keep)
{
	if (!keep->loop)
		return;
	loop_timer_stop(&keep->timer);
	keep->loop = NULL;
	(void)look(keep); /* what could not be removed now is removed later */
}
