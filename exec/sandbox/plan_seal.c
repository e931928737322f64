#include "exec/sandbox/plan_seal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/memfd.h"
#include "exec/sandbox/cgroup.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/plan.h"
#include "exec/run/wire.h"

/* In percent of the machine's memory. */
#define SHARE_TMP   30
#define SHARE_FRESH 10
#define SHARE_DEV   20

static uint64_t least(uint64_t left, uint64_t right)
{
	return right && right < left ? right : left;
}

/* The kernel's minimum for pid_max, before and after Linux 6.14. */
#define PID_MAX_LEAST 301

/* The mount option also accepts a share of memory, but not the smaller of two values. */
static void put_size(char out[WIRE_TEXT_MAX], const char *mode, unsigned int share, uint64_t limit)
{
	uint64_t bytes = share ? least(cgroup_share(share), limit) : limit;

	(void)snprintf(out, WIRE_TEXT_MAX, "mode=%s,size=%" PRIu64, mode,
		       bytes ? bytes : 4096); /* 0 would mean no limit */
}

/* Without a control group init measures. */
static void put_memory(const struct plan *plan, struct wire_limits *limits)
{
	bool is_given = plan->limits.memory != 0;

	if (plan->has_group || (plan->flags & WIRE_UNCONFINED) != 0)
		return;
	limits->memory_all = is_given ? plan->limits.memory : cgroup_share(EXEC_MEMORY_SHARE);
	limits->memory_left = is_given ? 0 : cgroup_share(100 - EXEC_MEMORY_SHARE);
}

static void put_limits(const struct plan *plan, struct wire_plan *head)
{
	uint64_t tmp = plan->limits.tmp, processes = plan->limits.processes;

	head->limits.processes = (uint32_t)processes;
	head->limits.files = (uint32_t)plan->limits.files;
	head->limits.memory = plan->has_group ? 0 : plan->limits.memory;
	put_memory(plan, &head->limits);
	put_size(head->limits.texts[WIRE_TMP_OPTIONS], "1777", tmp ? 0 : SHARE_TMP, tmp);
	put_size(head->limits.texts[WIRE_FRESH_OPTIONS], "0755", SHARE_FRESH, tmp);
	put_size(head->limits.texts[WIRE_DEV_OPTIONS], "0755", SHARE_DEV, tmp);
	(void)snprintf(head->limits.texts[WIRE_PID_MAX], WIRE_TEXT_MAX, "%" PRIu64,
		       processes < PID_MAX_LEAST ? PID_MAX_LEAST : processes);
}

struct image {
	char *bytes;
	size_t len, room;
};

/* 0 or -E2BIG; init has this limit. */
static int append(struct image *image, const void *bytes, size_t len)
{
	if (len > WIRE_PLAN_MAX - image->len)
		return -E2BIG;
	if (image->len + len > image->room) {
		image->room = image->len + len + image->room + 16384;
		image->bytes = mem_grow(image->bytes, image->room, 1);
	}
	memcpy(image->bytes + image->len, bytes, len);
	image->len += len;
	return 0;
}

static int append_list(struct image *image, char *const *list, uint32_t *ret_count)
{
	int r = 0;

	for (*ret_count = 0; list && list[*ret_count] && r == 0; (*ret_count)++)
		r = append(image, list[*ret_count], strlen(list[*ret_count]) + 1);
	return r;
}

int plan_seal(const struct plan *plan, struct err *why)
{
	char *const program[] = { plan->program, NULL };
	auto_free_list char **mounts = mounts_list(plan);
	char *const *const lists[WIRE_LISTS] = {
		[WIRE_ARGV] = plan->argv,
		[WIRE_ENV] = plan->env,
		[WIRE_FILES] = plan->files,
		[WIRE_PROGRAM] = program,
		[WIRE_MOUNTS] = mounts,
		[WIRE_LINKS] = plan->links.list,
		[WIRE_CACHED] = plan->cached.list,
		[WIRE_GRANTED] = plan->granted.list,
		[WIRE_SOCKETS] = plan->sockets.list,
		[WIRE_COVERED] = plan->covered.list,
		[WIRE_FOLDERS] = plan->folders.list,
		[WIRE_ABSENT] = plan->absent.list,
		[WIRE_INSTEAD] = plan->instead.list,
		[WIRE_BAITS] = plan->baits.list,
	};
	struct wire_plan head = {
		.magic = WIRE_MAGIC,
		.uid = plan->uid,
		.gid = plan->gid,
		.flags = plan->flags,
		.device = plan->device,
		.inode = plan->inode,
	};
	struct image image = { 0 };

	put_limits(plan, &head);
	int r = append(&image, &head, sizeof(head));

	if (r == 0)
		r = append(&image, plan->cwd, strlen(plan->cwd) + 1);
	for (int i = 0; i < WIRE_LISTS && r == 0; i++)
		r = append_list(&image, lists[i], &head.counts[i]);
	auto_free char *bytes = image.bytes;

	if (r < 0)
		return err_set(
			why, r,
			"the command line and its environment are longer than %u MiB; shorten them",
			WIRE_PLAN_MAX >> 20);
	head.bytes = (uint32_t)image.len;
	memcpy(bytes, &head, sizeof(head));
	return memfd_sealed("sallyport-plan", MEMFD_DATA, bytes, image.len, why);
}
