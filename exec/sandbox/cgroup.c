#include "exec/sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/policies_limits.h"

#define FILE_MAX  65536
#define NAME      "sallyport-" /* then the pid of the gate, "-", and a number */
#define DEAD_MAX  256          /* groups that are removed at once */
#define TRIES_MAX 64           /* for a free name */

struct cgroup {
	int parent, directory;
	char name[64];
	bool has_memory, has_processes;
};

/* The content of a small file; NULL: it cannot be read. Returned owned. */
static char *read_file(int directory, const char *name)
{
	auto_close int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *text = NULL;

	if (fd < 0 || fd_read_all(fd, FILE_MAX, &text, NULL, NULL) < 0)
		return NULL;
	return text;
}

static bool write_file(int directory, const char *name, const char *text)
{
	auto_close int fd = openat(directory, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && fd_write_all(fd, text, strlen(text)) == 0;
}

/* "cpu memory pids" */
static bool has_word(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; at && (at = strstr(at, word)) != NULL; at += len)
		if ((at == text || at[-1] == ' ') &&
		    (at[len] == ' ' || at[len] == '\n' || at[len] == '\0'))
			return true;
	return false;
}

/* The number after @word, as in "oom_kill 3"; 0: the word is not there. */
static uint64_t number_of(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, word, len) == 0 && at[len] == ' ')
			return strtoull(at + len, NULL, 10);
		if (*at == '\0')
			break;
	}
	return 0;
}

/* The gate that a group is named after has ended; a running gate may be about to use its group. */
static bool is_dead(const char *name)
{
	const char *digits = name + strlen(NAME), *end = strchr(digits, '-');
	uint64_t pid;

	if (strncmp(name, NAME, strlen(NAME)) != 0 || !end ||
	    text_to_u64(digits, (size_t)(end - digits), INT32_MAX, &pid) < 0 || pid == 0)
		return false;
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Removes the groups of dead gates. The kernel keeps a group that contains a process. */
static void remove_dead(int parent)
{
	int copy = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;

	if (!directory)
		fd_close(copy);
	for (int left = DEAD_MAX; directory && left > 0 && (entry = readdir(directory));)
		if (is_dead(entry->d_name)) {
			(void)unlinkat(parent, entry->d_name, AT_REMOVEDIR);
			left--;
		}
	if (directory)
		(void)closedir(directory);
}

uint64_t cgroup_share(unsigned int percent)
{
	return (uint64_t)sysconf(_SC_PHYS_PAGES) / 100 * percent * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_memory(struct cgroup *cgroup, uint64_t bytes)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, bytes);
	cgroup->has_memory = write_file(cgroup->directory, "memory.max", text);
	if (!cgroup->has_memory)
		return;
	/* Else memory would be swapped to the disk without limit. A kernel without swap has no such
	 * file. */
	(void)write_file(cgroup->directory, "memory.swap.max", "0");
	/* Kill all processes of the group together: a build with one process missing is useless. */
	(void)write_file(cgroup->directory, "memory.oom.group", "1");
}

static void set_processes(struct cgroup *cgroup, uint64_t count)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64, count);
	cgroup->has_processes = write_file(cgroup->directory, "pids.max", text);
}

static bool make(struct cgroup *cgroup)
{
	static unsigned int last;

	for (int i = 0; i < TRIES_MAX; i++) {
		(void)snprintf(cgroup->name, sizeof(cgroup->name), NAME "%d-%u", (int)getpid(),
			       ++last);
		if (mkdirat(cgroup->parent, cgroup->name, 0700) == 0)
			break;
		if (errno != EEXIST)
			return false;
	}
	cgroup->directory = openat(cgroup->parent, cgroup->name,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return cgroup->directory >= 0;
}

/* @parent is taken. */
static struct cgroup *new_in(int parent, const struct exec_limits *limits)
{
	struct cgroup *cgroup = mem_new(sizeof(*cgroup));

	cgroup->parent = parent;
	cgroup->directory = -1;
	remove_dead(parent);
	if (make(cgroup)) {
		set_memory(cgroup,
			   limits->memory ? limits->memory : cgroup_share(EXEC_MEMORY_SHARE));
		set_processes(cgroup, limits->processes ? limits->processes : EXEC_PROCESSES);
	}
	if (cgroup->has_memory || cgroup->has_processes)
		return cgroup;
	cgroup_free(cgroup);
	return NULL;
}

/* To move a process, a user must be able to write to the nearest common ancestor: the old and the
 * new group are both below this directory. */
static bool is_fit(int directory)
{
	auto_free char *handed = read_file(directory, "cgroup.subtree_control");

	return (has_word(handed, "memory") || has_word(handed, "pids")) &&
	       faccessat(directory, ".", W_OK, AT_EACCESS) == 0 &&
	       faccessat(directory, "cgroup.procs", W_OK, AT_EACCESS) == 0;
}

struct cgroup *cgroup_new_at(const char *mount, const char *own, const struct exec_limits *limits)
{
	auto_free char *path = mem_printf("%s%s", mount, own);
	size_t root = strlen(mount);

	for (;;) {
		int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (directory >= 0 && is_fit(directory))
			return new_in(directory, limits);
		fd_close(directory);
		if (strlen(path) <= root)
			return NULL;
		*strrchr(path, '/') = '\0';
	}
}

/* "0::/user.slice/…". NULL: there is none, or it is outside of what we can see. Returned owned. */
static char *find_own(void)
{
	auto_free char *text = read_file(AT_FDCWD, "/proc/self/cgroup");
	const char *at = text ? strstr(text, "0::/") : NULL;

	if (!at || (at != text && at[-1] != '\n') || strstr(at, "/.."))
		return NULL;
	at += strlen("0::");
	return mem_strndup(at, strcspn(at, "\n"));
}

/* The mount of the whole hierarchy, not of a part of it. Returned owned; NULL: there is none. */
static char *find_mount(void)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	char *found = NULL, *line = NULL, root[8], point[256], kind[16];
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) > 0) {
		const char *rest = strstr(line, " - ");

		if (sscanf(line, "%*s %*s %*s %7s %255s", root, point) == 2 && rest &&
		    sscanf(rest, " - %15s", kind) == 1 && strcmp(kind, "cgroup2") == 0 &&
		    strcmp(root, "/") == 0)
			found = mem_strdup(point);
	}
	free(line);
	if (file)
		(void)fclose(file);
	return found;
}

struct cgroup *cgroup_new(const struct exec_limits *limits)
{
	auto_free char *own = find_own();
	auto_free char *mount = own ? find_mount() : NULL;

	return mount ? cgroup_new_at(mount, own[1] ? own : "", limits) : NULL;
}

int cgroup_fd(const struct cgroup *cgroup)
{
	return cgroup ? cgroup->directory : -1;
}

bool cgroup_holds_memory(const struct cgroup *cgroup)
{
	return cgroup && cgroup->has_memory;
}

unsigned int cgroup_reached(const struct cgroup *cgroup)
{
	auto_free char *memory = cgroup ? read_file(cgroup->directory, "memory.events") : NULL;
	auto_free char *processes = cgroup ? read_file(cgroup->directory, "pids.events") : NULL;

	/* "max" of memory is not a refusal: the kernel reclaimed cached memory. */
	return (number_of(memory, "oom") + number_of(memory, "oom_kill") > 0
			? BIT(POLICY_LIMIT_MEMORY)
			: 0) |
	       (number_of(processes, "max") > 0 ? BIT(POLICY_LIMIT_PROCESSES) : 0);
}

void cgroup_free(struct cgroup *cgroup)
{
	if (!cgroup)
		return;
	if (cgroup->directory >= 0) {
		(void)write_file(cgroup->directory, "cgroup.kill", "1"); /* Linux 5.14 */
		fd_close(cgroup->directory);
		(void)unlinkat(cgroup->parent, cgroup->name, AT_REMOVEDIR);
	}
	fd_close(cgroup->parent);
	free(cgroup);
}
