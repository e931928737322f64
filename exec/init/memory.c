#include "exec/init/memory.h"

#include <dirent.h>
#include <linux/limits.h>
#include <sys/vfs.h>
#include <time.h>

#include "exec/init/sys.h"

/* Counted are the pages of a process that are its own, shared memory, and what was swapped out;
 * the pages of files are not, because the kernel can drop them. Pages that several processes share
 * count for each of them. /proc/PID/status is read because it needs no lock of the process, which
 * could hold it back. */

#define LISTED_BYTES 1024 /* about 32 processes at a time, 1 ms */
#define FASTEST      4096 /* KiB that may be added in a millisecond */
#define LEAST_MS     50
#define MOST_MS      1000

static int64_t now_ms(void)
{
	struct timespec now = { 0 };

	(void)sys(clock_gettime, CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The number behind @key, which begins a line, in the text of a file; 0: it is not there. */
static uint64_t number_of(const char *text, const char *key)
{
	for (const char *at = text; *at; at++) {
		size_t i = 0;

		while (key[i] && at[i] == key[i])
			i++;
		if (key[i] || (at != text && at[-1] != '\n'))
			continue;
		uint64_t number = 0;

		for (at += i; *at == ' ' || *at == '\t'; at++)
			;
		for (; *at >= '0' && *at <= '9'; at++)
			number = number * 10 + (uint64_t)(*at - '0');
		return number;
	}
	return 0;
}

static void read_text(long folder, const char *name, char *text, size_t size)
{
	long fd = sys(openat, folder, name, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? 0 : sys(read, fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0'; /* it has ended since it was listed */
	if (fd >= 0)
		(void)sys(close, fd);
}

static uint64_t kib_of_process(long proc, const char *pid)
{
	static const char rest[] = "/status";
	char name[NAME_MAX + 1], text[4096];
	size_t len = sys_length(pid);

	if (len + sizeof(rest) > sizeof(name))
		return 0;
	for (size_t i = 0; i < len; i++)
		name[i] = pid[i];
	for (size_t i = 0; i < sizeof(rest); i++)
		name[len + i] = rest[i];
	read_text(proc, name, text, sizeof(text));
	return number_of(text, "RssAnon:") + number_of(text, "RssShmem:") +
	       number_of(text, "VmSwap:");
}

static uint64_t kib_of_files(const char *path)
{
	struct statfs fs;

	return sys(statfs, path, &fs) < 0
		       ? 0
		       : (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize / 1024;
}

static uint64_t kib_of_mounts(char *const *mounts)
{
	uint64_t kib = kib_of_files("/dev");

	for (; *mounts; mounts++)
		if ((*mounts)[0] == WIRE_FRESH || (*mounts)[0] == WIRE_FRESH_TMP)
			kib += kib_of_files(*mounts + 1);
	return kib;
}

/* Of the machine. Without a limit in the policy, only the machine is protected: processes that
 * share their pages may use less than is counted. */
static bool is_short(const struct memory *memory, const struct wire_limits *limits)
{
	char text[4096];

	if (!limits->memory_left)
		return true;
	read_text(memory->proc, "meminfo", text, sizeof(text));
	return number_of(text, "MemAvailable:") < limits->memory_left / 1024;
}

/* False: the round has ended. */
static bool count_some(struct memory *memory)
{
	_Alignas(struct dirent64) char listed[LISTED_BYTES];
	long n = sys(getdents64, memory->proc, listed, sizeof(listed));

	for (long at = 0; at < n;) {
		const struct dirent64 *entry = (const void *)(listed + at);

		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			memory->kib += kib_of_process(memory->proc, entry->d_name);
		at += entry->d_reclen;
	}
	return n > 0;
}

void memory_begin(struct memory *memory, const struct wire_limits *limits)
{
	char self[8];

	memory->proc = -1;
	/* In a container it may be a /proc that shows the processes of others. */
	if (!limits->memory_all ||
	    sys(readlinkat, AT_FDCWD, "/proc/self", self, sizeof(self)) != 1 || self[0] != '1')
		return;
	memory->proc = sys(openat, AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	memory->kib = 0;
	memory->due_ms = now_ms() + LEAST_MS;
}

int64_t memory_wait_ms(const struct memory *memory, int64_t most)
{
	int64_t wait = memory->proc < 0 ? most : memory->due_ms - now_ms();

	return wait < 0 ? 0 : wait < most ? wait : most;
}

bool memory_is_over(struct memory *memory, const struct wire_limits *limits, char *const *mounts)
{
	if (memory->proc < 0 || now_ms() < memory->due_ms || count_some(memory))
		return false;
	uint64_t used = memory->kib + kib_of_mounts(mounts), most = limits->memory_all / 1024;
	uint64_t wait = used < most ? (most - used) / FASTEST : 0;

	memory->kib = 0;
	memory->due_ms = now_ms() + (int64_t)(wait < LEAST_MS  ? LEAST_MS
					      : wait > MOST_MS ? MOST_MS
							       : wait);
	(void)sys(lseek, memory->proc, 0, SEEK_SET);
	return used > most && is_short(memory, limits);
}
