/* Two requests can be under way: one for what waits, which covers all that was written before it
 * began, while more gathers for the next one; and one for all files. */
#include "gateway/audit/disk/durable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"

struct durable_work {
	struct durable *durable;
	struct disk_request request;
	struct loop_timer late;
	bool is_late;
};

struct durable {
	struct durable_config config;
	struct disk *disk; /* NULL: not asked for yet, or @is_unable */
	bool is_unable;
	struct durable_work awaited, all;
	uint64_t number, wanted, reached; /* of the awaited: the last begun, asked for, ended */
	bool has_newer;                   /* written since that began */
	struct loop_timer due;
};

struct durable *durable_new(const struct durable_config *config)
{
	struct durable *durable = mem_new(sizeof(*durable));

	durable->config = *config;
	durable->awaited.durable = durable->all.durable = durable;
	return durable;
}

void durable_free(struct durable *durable)
{
	if (!durable)
		return;
	loop_timer_stop(&durable->due);
	loop_timer_stop(&durable->awaited.late);
	loop_timer_stop(&durable->all.late);
	disk_free(durable->disk);
	free(durable);
}

int durable_prepare(struct durable *durable, struct err *why)
{
	if (durable->is_unable)
		return err_set(why, -ENOSYS, "the kernel cannot tell when records are on the disk");
	if (!durable->disk)
		durable->disk = disk_new(durable->config.loop, why);
	durable->is_unable = !durable->disk;
	return durable->is_unable
		       ? err_prefix(why, -ENOSYS,
				    "the kernel cannot tell when records are on the disk")
		       : 0;
}

static void durable_fail(struct durable *durable, int error)
{
	char words[128];

	(void)snprintf(words, sizeof(words), "the disk did not take records: %s", strerror(-error));
	durable->config.failed(words, false, durable->config.arg);
}

static void durable_on_late(void *arg)
{
	struct durable_work *work = arg;
	struct durable *durable = work->durable;

	work->is_late = true;
	if (work == &durable->awaited)
		durable->config.failed("the disk has not taken records for 10 seconds", true,
				       durable->config.arg);
	else
		log_warn("audit: the disk has not taken records for 10 seconds; a power cut would "
			 "lose them");
}

/* 0, or -errno. */
static int durable_begin(struct durable_work *work, bool is_all, disk_done_fn done)
{
	struct durable *durable = work->durable;
	int fds[DISK_FILES_MAX];
	size_t count = durable->config.files(is_all, fds, durable->config.arg);

	if (count == 0)
		return -EBADF;
	int r = disk_begin(durable->disk, &work->request, fds, count, done, durable);

	if (r == 0)
		loop_timer_start(durable->config.loop, &work->late, DURABLE_LATE_MS,
				 durable_on_late, work);
	return r;
}

static bool durable_end(struct durable_work *work, int result)
{
	loop_timer_stop(&work->late);
	work->is_late = false;
	if (result < 0)
		durable_fail(work->durable, result);
	return result == 0;
}

static void durable_begin_awaited(struct durable *durable);

static void durable_on_awaited(int result, void *arg)
{
	struct durable *durable = arg;

	if (!durable_end(&durable->awaited, result))
		return;
	durable->reached = durable->number;
	durable->config.stored(false, durable->config.arg);
	if (durable->wanted > durable->reached && durable->awaited.request.left == 0)
		durable_begin_awaited(durable);
}

static void durable_begin_awaited(struct durable *durable)
{
	durable->number++;
	durable->has_newer = false;
	int r = durable->disk ? durable_begin(&durable->awaited, false, durable_on_awaited)
			      : -ENOSYS;

	if (r < 0)
		durable_fail(durable, r);
}

static void durable_on_all(int result, void *arg)
{
	struct durable *durable = arg;

	if (durable_end(&durable->all, result))
		durable->config.stored(true, durable->config.arg);
}

static void durable_on_due(void *arg)
{
	struct durable *durable = arg;
	struct err why = { 0 };
	bool was_unable = durable->is_unable;

	if (durable->all.request.left > 0) {
		loop_timer_start(durable->config.loop, &durable->due, DURABLE_MS, durable_on_due,
				 durable);
		return;
	}
	int r = durable_prepare(durable, &why);

	if (r < 0 && !was_unable)
		log_warn("audit: %s; a power cut may lose more than the last 100 ms", why.text);
	if (r == 0)
		r = durable_begin(&durable->all, true, durable_on_all);
	if (r < 0 && !durable->is_unable && r != -EBADF)
		durable_fail(durable, r);
}

void durable_written(struct durable *durable)
{
	durable->has_newer = true;
	if (!durable->due.is_armed && !durable->is_unable)
		loop_timer_start(durable->config.loop, &durable->due, DURABLE_MS, durable_on_due,
				 durable);
}

void durable_hurry(struct durable *durable)
{
	durable_written(durable);
	if (durable->all.request.left > 0)
		return;
	loop_timer_stop(&durable->due);
	durable_on_due(durable);
}

uint64_t durable_await(struct durable *durable)
{
	if (durable->awaited.request.left == 0 && durable->has_newer)
		durable_begin_awaited(durable);
	durable->wanted = durable->number + durable->has_newer;
	return durable->wanted;
}

uint64_t durable_reached(const struct durable *durable)
{
	return durable->reached;
}

bool durable_is_late(const struct durable *durable)
{
	return durable->awaited.is_late;
}
