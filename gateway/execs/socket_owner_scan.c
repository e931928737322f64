#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "gateway/execs/socket_owner_impl.h"

#define SCAN_BUCKETS 1024 /* of the wanted sockets */
#define SCAN_SLOTS                                                                                 \
	(SOCKET_OWNER_PROCESSES_MAX * 2) /* of the processes found; more than half are free */
/* reading a thread's children costs more than one name */
#define THREAD_WORK 4
#define SOCKET_WORK 4

/* The stages for each process: its descriptors, then the children of its threads. At the end,
 * init's children again: they include processes whose parent died during the scan. */
enum scan_stage {
	SCAN_SOCKETS,
	SCAN_FILES,
	SCAN_THREADS,
	SCAN_OVER,
};

struct socket_owner_scan {
	const struct socket_owner *who;
	struct socket_owner_wants asked, wanted; /* without an inode yet; all others */
	LIST_HEAD(, socket_owner_want) buckets[SCAN_BUCKETS];
	enum scan_stage stage;
	pid_t list[SOCKET_OWNER_PROCESSES_MAX];
	uint16_t slots[SCAN_SLOTS]; /* index in the list + 1; 0: free */
	size_t count, at;
	size_t first_late; /* from here on, found at the end; 0: not at the end yet */
	size_t files, threads;
	DIR *dir;
	bool is_cut, has_program;
	int program_r; /* of list[at], if has_program */
	struct socket_owner_file program;
};

static void scan_add_process(struct socket_owner_scan *scan, pid_t pid)
{
	size_t slot = ((uint32_t)pid * 2654435761U) % SCAN_SLOTS;

	for (; scan->slots[slot] != 0; slot = (slot + 1) % SCAN_SLOTS) {
		if (scan->list[scan->slots[slot] - 1] == pid)
			return;
	}
	if (scan->count == SOCKET_OWNER_PROCESSES_MAX) {
		scan->is_cut = true;
		return;
	}
	scan->list[scan->count++] = pid;
	scan->slots[slot] = (uint16_t)scan->count;
}

struct socket_owner_scan *socket_owner_scan_new(const struct socket_owner *who)
{
	struct socket_owner_scan *scan = mem_new(sizeof(*scan));

	scan->who = who;
	TAILQ_INIT(&scan->asked);
	TAILQ_INIT(&scan->wanted);
	scan_add_process(scan, who->init);
	return scan;
}

void socket_owner_scan_free(struct socket_owner_scan *scan)
{
	if (!scan)
		return;
	if (scan->dir)
		(void)closedir(scan->dir);
	free(scan);
}

static void scan_enter(struct socket_owner_want *want, struct socket_owner_wants *home)
{
	if (want->home)
		TAILQ_REMOVE(want->home, want, entry);
	want->home = home;
	if (home)
		TAILQ_INSERT_TAIL(home, want, entry);
}

void socket_owner_scan_add(struct socket_owner_scan *scan, struct socket_owner_want *want)
{
	want->inode = 0;
	want->pid = 0;
	want->is_mixed = false;
	want->home = NULL;
	scan_enter(want, &scan->asked);
}

void socket_owner_scan_remove(struct socket_owner_scan *scan, struct socket_owner_want *want)
{
	(void)scan;
	if (want->inode != 0)
		LIST_REMOVE(want, same);
	want->inode = 0;
	scan_enter(want, NULL);
}

static void scan_look_up(struct socket_owner_scan *scan, struct socket_owner_want *want)
{
	uint32_t inode = 0;

	if (socket_owner_inode(scan->who, want, &inode) == 0) {
		want->inode = inode;
		LIST_INSERT_HEAD(&scan->buckets[inode % SCAN_BUCKETS], want, same);
	}
	scan_enter(want, &scan->wanted);
}

static DIR *scan_open(const struct socket_owner_scan *scan, const char *what)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/%s", (int)scan->list[scan->at], what);
	int fd = openat(scan->who->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		fd_close(fd); /* it has ended; its children are now init's, and are found there */
	return dir;
}

/* Several programs may hold the connection, and the least trusted of them may be the one that
 * sends. */
static void scan_note(struct socket_owner_scan *scan, struct socket_owner_want *want)
{
	pid_t pid = scan->list[scan->at];

	if (want->pid == pid)
		return; /* a second descriptor of the same program */
	if (!scan->has_program)
		scan->program_r = socket_owner_stat(scan->who, pid, &scan->program);
	scan->has_program = true;
	if (want->pid == 0) {
		want->pid = pid;
		want->runs = scan->program;
	} else if (want->runs.device != scan->program.device ||
		   want->runs.inode != scan->program.inode) {
		want->is_mixed = true;
	}
	want->is_mixed |= scan->program_r < 0;
}

/* "socket:[123]" */
static void scan_file(struct socket_owner_scan *scan, const char *name)
{
	static const char head[] = "socket:[";
	char link[32];
	struct socket_owner_want *want;
	uint64_t inode;

	if (++scan->files > SOCKET_OWNER_FILES_MAX) {
		scan->is_cut = true;
		return;
	}
	ssize_t n = readlinkat(dirfd(scan->dir), name, link, sizeof(link));

	if (n <= (ssize_t)sizeof(head) || memcmp(link, head, sizeof(head) - 1) != 0 ||
	    text_to_u64(link + sizeof(head) - 1, (size_t)n - sizeof(head), UINT32_MAX, &inode) < 0)
		return;
	LIST_FOREACH (want, &scan->buckets[inode % SCAN_BUCKETS], same) {
		if (want->inode == inode)
			scan_note(scan, want);
	}
}

/* proc(5): the children of one thread, "12 13 14 ". */
static void scan_children(struct socket_owner_scan *scan, const char *thread)
{
	auto_free char *text = NULL;
	char path[32];

	if (++scan->threads > SOCKET_OWNER_THREADS_MAX) {
		scan->is_cut = true;
		return;
	}
	(void)snprintf(path, sizeof(path), "%.11s/children", thread);
	auto_close int fd = openat(dirfd(scan->dir), path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno
		       : fd_read_all(fd, (size_t)SOCKET_OWNER_PROCESSES_MAX * 12, &text, NULL,
				     NULL);

	if (r < 0) {
		scan->is_cut |= r != -ENOENT && r != -ESRCH; /* otherwise it has ended meanwhile */
		return;
	}
	for (char *at = text, *end; at && *at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid > 0)
			scan_add_process(scan, (pid_t)pid);
	}
}

static void scan_enter_files(struct socket_owner_scan *scan)
{
	scan->stage = SCAN_FILES;
	scan->has_program = false;
	scan->program = (struct socket_owner_file){ 0 };
	scan->dir = scan_open(scan, "fd");
}

static void scan_enter_threads(struct socket_owner_scan *scan)
{
	scan->stage = SCAN_THREADS;
	scan->dir = scan_open(scan, "task");
}

/* Continues after a folder was read. */
static void scan_go_on(struct socket_owner_scan *scan)
{
	if (scan->dir)
		(void)closedir(scan->dir);
	scan->dir = NULL;
	if (scan->stage == SCAN_FILES && scan->first_late == 0) {
		scan_enter_threads(scan);
		return;
	}
	if (scan->stage == SCAN_THREADS && scan->first_late > 0)
		scan->at = scan->first_late; /* init's children again, for new ones */
	else
		scan->at++;
	if (scan->at < scan->count) {
		scan_enter_files(scan);
	} else if (scan->first_late == 0) {
		scan->first_late = scan->count;
		scan->at = 0;
		scan_enter_threads(scan);
	} else {
		scan->stage = SCAN_OVER;
	}
}

static unsigned int scan_read(struct socket_owner_scan *scan)
{
	const struct dirent *entry = scan->dir ? readdir(scan->dir) : NULL;
	bool is_file = scan->stage == SCAN_FILES;

	if (!entry) {
		scan_go_on(scan);
		return THREAD_WORK;
	}
	if (entry->d_name[0] == '.')
		return 1;
	if (is_file)
		scan_file(scan, entry->d_name);
	else
		scan_children(scan, entry->d_name);
	return is_file ? 1 : THREAD_WORK;
}

bool socket_owner_scan_step(struct socket_owner_scan *scan, unsigned int work)
{
	unsigned int done = 0;
	struct socket_owner_want *want;

	while (done < work && (want = TAILQ_FIRST(&scan->asked))) {
		scan_look_up(scan, want);
		done += SOCKET_WORK;
	}
	if (scan->stage == SCAN_SOCKETS && TAILQ_EMPTY(&scan->asked))
		scan_enter_files(scan);
	while (done < work && scan->stage != SCAN_OVER && !scan->is_cut &&
	       scan->stage != SCAN_SOCKETS)
		done += scan_read(scan);
	return scan->stage != SCAN_OVER && !scan->is_cut;
}

struct socket_owner_want *socket_owner_scan_take(struct socket_owner_scan *scan,
						 struct socket_owner_found *ret, int *ret_r)
{
	struct socket_owner_want *want = TAILQ_FIRST(&scan->wanted);

	if (!want)
		want = TAILQ_FIRST(&scan->asked);
	if (!want)
		return NULL;
	*ret = (struct socket_owner_found){ .pid = want->pid };
	*ret_r = want->pid != 0 && scan->stage == SCAN_OVER && !scan->is_cut ? 0 : -ESRCH;
	if (*ret_r == 0 && !want->is_mixed)
		socket_owner_program(scan->who, want->pid, &want->runs, ret);
	socket_owner_scan_remove(scan, want);
	return want;
}
