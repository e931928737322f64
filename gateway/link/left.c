#include "gateway/link/left.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/audit/record.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/ring.h"

struct left {
	char *run;
	struct ring **rings;
	size_t count;
	left_record_fn each;
	void *arg;
};

static const char left_cause[] =
	"the run was killed before it recorded this; its worker had written "
	"it down";

/* "ring.RUN.PID." of KEY.RUN.PID.N. */
static char *left_prefix(const char *name)
{
	const char *from = strchr(name, '.'), *to = strrchr(name, '.');

	return from && to > from ? mem_printf("ring%.*s", (int)(to + 1 - from), from) : NULL;
}

static int left_add(struct left *left, const char *path, struct err *why)
{
	struct ring *ring;
	int r = ring_open_left(path, &ring);

	if (r < 0)
		return r == -ENOENT ? 0 : err_errno(why, -r, "cannot open %s", path);
	left->rings = mem_grow(left->rings, left->count + 1, sizeof(struct ring *));
	left->rings[left->count++] = ring;
	return 0;
}

int left_open(const char *segment, const char *run, struct left **ret, struct err *why)
{
	struct left *left = *ret = mem_new(sizeof(*left));
	auto_free char *dir = mem_strdup(segment);
	char *slash = strrchr(dir, '/');
	auto_free char *prefix = slash ? left_prefix(slash + 1) : NULL;
	int r = 0;

	left->run = mem_strdup(run);
	if (!prefix)
		return 0;
	*slash = '\0';
	DIR *folder = opendir(dir);

	if (!folder)
		return err_errno(why, errno, "cannot read %s", dir);
	for (struct dirent *entry; r == 0 && (entry = readdir(folder));) {
		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		auto_free char *path = mem_printf("%s/%s", dir, entry->d_name);

		r = left_add(left, path, why);
	}
	(void)closedir(folder);
	return r;
}

const char *left_run(const struct left *left)
{
	return left->run;
}

static int left_tell(const struct left *left, struct sink_record *record,
		     const struct policy_facts *facts, const struct policy_verdict *verdict)
{
	record_stamp(record);
	record->run = left->run;
	record->exec = facts->exec;
	record->facts = facts;
	record->verdict = verdict;
	record->cause = left_cause;
	return left->each(record, left->arg);
}

static int left_submit(const struct left *left, struct frame *frame, struct sink_times *times)
{
	const struct policy_verdict verdict = { .action = POLICY_ALLOW,
						.reason = POLICY_RULE_ALLOW };
	struct sink_record record = { .event = SINK_DECISION,
				      .reason = POLICY_RULE_ALLOW,
				      .times = times };
	struct link_request room;
	struct policy_facts facts;
	uint64_t id;
	int r = link_codec_get_submit(frame, &id, &facts, &room);

	return r < 0 ? r : left_tell(left, &record, &facts, &verdict);
}

static int left_report(const struct left *left, struct frame *frame, struct sink_times *times)
{
	struct gateway_report report;
	uint64_t id;
	int r = link_codec_get_report(frame, &id, &report);

	if (r < 0)
		return r;
	struct sink_record record = {
		.event = SINK_CLOSED,
		.reason = report.closed,
		.times = times,
		.resolved = report.resolved,
		.is_resolved_upstream = report.is_resolved_upstream,
		.bytes_up = report.bytes_up,
		.bytes_down = report.bytes_down,
		.duration_ms = report.duration_ms,
		.has_traffic = true,
	};

	return left_tell(left, &record, &report.facts, &report.verdict);
}

static int on_left(struct frame *frame, int64_t wall_us, void *arg)
{
	const struct left *left = arg;
	struct sink_times times = { .count = 1, .first_us = wall_us, .last_us = wall_us };

	if (frame->type == LINK_SUBMIT)
		return left_submit(left, frame, &times);
	return frame->type == LINK_REPORT ? left_report(left, frame, &times) : -EBADMSG;
}

int left_each(struct left *left, left_record_fn each, void *arg)
{
	left->each = each;
	left->arg = arg;
	for (size_t i = 0; i < left->count; i++) {
		int r = ring_read(left->rings[i], on_left, left);

		if (r != 0 && r != -EBADMSG)
			return r;
	}
	return 0;
}

void left_remove(struct left *left)
{
	while (left->count > 0)
		ring_free(left->rings[--left->count], true);
}

void left_free(struct left *left)
{
	if (!left)
		return;
	while (left->count > 0)
		ring_free(left->rings[--left->count], false);
	free(left->rings);
	free(left->run);
	free(left);
}
