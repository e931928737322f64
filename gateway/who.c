#include "gateway/who.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define WHO_NAME_MAX  16 /* TASK_COMM_LEN */
#define WHO_DEPTH_MAX 64

struct who {
	pid_t init;
	int sockets, proc;
};

struct process {
	pid_t pid;
	uint32_t parent; /* its place in the list; its own: there is none */
};

/* One search over the tree below init. */
struct search {
	const struct who *who;
	char link[32]; /* "socket:[123]" */
	struct process *list;
	size_t count, files;
	bool is_cut, is_mixed;
	struct stat program; /* of the holders so far */
	uint32_t holder;     /* the first; UINT32_MAX: none yet */
};

struct who *who_new(pid_t init, int sockets)
{
	struct who *who = mem_new(sizeof(*who));

	who->init = init;
	who->sockets = sockets;
	who->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC); /* -1: every search fails */
	return who;
}

void who_free(struct who *who)
{
	if (!who)
		return;
	fd_close(who->sockets);
	fd_close(who->proc);
	free(who);
}

static int who_ask(int fd, uint16_t peer_port, uint16_t port)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 body;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = AF_INET,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = ~0U,
			  .id = { .idiag_sport = htons(peer_port),
				  .idiag_dport = htons(port),
				  .idiag_src = { htonl(INADDR_LOOPBACK) },
				  .idiag_dst = { htonl(INADDR_LOOPBACK) },
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	ssize_t n = sendto(fd, &request, sizeof(request), MSG_DONTWAIT, (struct sockaddr *)&kernel,
			   sizeof(kernel));

	return n == (ssize_t)sizeof(request) ? 0 : n < 0 ? -errno : -EIO;
}

/* The kernel answers within the call that asks, so there is nothing to wait for. */
static int who_hear(int fd, uint16_t peer_port, uint32_t *ret_inode)
{
	union {
		struct nlmsghdr head;
		char bytes[1024];
	} answer;
	ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
	const struct inet_diag_msg *said = NLMSG_DATA(&answer.head);
	const struct nlmsgerr *error = NLMSG_DATA(&answer.head);

	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(answer.head) || answer.head.nlmsg_len > (size_t)n)
		return -EBADMSG;
	if (answer.head.nlmsg_type == NLMSG_ERROR &&
	    answer.head.nlmsg_len >= NLMSG_LENGTH(sizeof(*error)))
		return error->error == -ENOENT ? -ESRCH : error->error < 0 ? error->error : -EIO;
	if (answer.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    answer.head.nlmsg_len < NLMSG_LENGTH(sizeof(*said)) ||
	    ntohs(said->id.idiag_sport) != peer_port)
		return -EBADMSG;
	*ret_inode = said->idiag_inode;
	return said->idiag_inode != 0 ? 0 : -ESRCH; /* closed: nobody holds it */
}

static void who_drain(int fd)
{
	char bytes[64];

	while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) >= 0 || errno == EINTR)
		;
}

static int who_inode(const struct who *who, uint16_t peer_port, uint16_t port, uint32_t *ret_inode)
{
	who_drain(who->sockets); /* an answer to a question that was given up */
	int r = who_ask(who->sockets, peer_port, port);

	return r < 0 ? r : who_hear(who->sockets, peer_port, ret_inode);
}

/* Does the process hold the socket? */
static bool search_holds(struct search *search, pid_t pid)
{
	char path[32], link[sizeof(search->link)];
	const struct dirent *entry;
	bool holds = false;

	(void)snprintf(path, sizeof(path), "%d/fd", (int)pid);
	int fd = openat(search->who->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fd_close(fd);
		return false;
	}
	while (!holds && (entry = readdir(dir))) {
		if (++search->files > WHO_FILES_MAX) {
			search->is_cut = true;
			break;
		}
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link));

		holds = n > 0 && (size_t)n == strlen(search->link) &&
			memcmp(link, search->link, (size_t)n) == 0;
	}
	(void)closedir(dir);
	return holds;
}

static void search_add(struct search *search, pid_t pid, uint32_t parent)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->list[i].pid == pid)
			return;
	}
	if (search->count == WHO_PROCESSES_MAX) {
		search->is_cut = true;
		return;
	}
	search->list[search->count++] = (struct process){ .pid = pid, .parent = parent };
}

/* proc(5): the children of one thread, "12 13 14 ". */
static void search_add_children_of(struct search *search, int task, const char *thread,
				   uint32_t parent)
{
	auto_free char *text = NULL;
	char path[32];

	(void)snprintf(path, sizeof(path), "%.11s/children", thread);
	auto_close int fd = openat(task, path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno
		       : fd_read_all(fd, (size_t)WHO_PROCESSES_MAX * 12, &text, NULL, NULL);

	if (r < 0) {
		search->is_cut |= r != -ENOENT && r != -ESRCH; /* else it ended meanwhile */
		return;
	}
	for (char *at = text, *end; *at; at = end) {
		long pid = strtol(at, &end, 10);

		if (end == at)
			break;
		if (pid > 0)
			search_add(search, (pid_t)pid, parent);
	}
}

static void search_add_children(struct search *search, uint32_t parent)
{
	const struct dirent *entry;
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/task", (int)search->list[parent].pid);
	int fd = openat(search->who->proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		fd_close(fd);
		return; /* it has ended; its children are init's now, and are met again below it */
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			search_add_children_of(search, dirfd(dir), entry->d_name, parent);
	}
	(void)closedir(dir);
}

static bool search_stat(const struct search *search, pid_t pid, struct stat *ret)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	return fstatat(search->who->proc, path, ret, 0) == 0;
}

/* What several programs hold is no one's: whoever is trusted less may be the one who speaks. */
static void search_note(struct search *search, uint32_t index)
{
	struct stat program = { 0 };
	bool is_known = search_stat(search, search->list[index].pid, &program);

	if (search->holder == UINT32_MAX) {
		search->holder = index;
		search->program = program;
	} else if (program.st_dev != search->program.st_dev ||
		   program.st_ino != search->program.st_ino) {
		search->is_mixed = true;
	}
	search->is_mixed |= !is_known;
}

/* The path counts only if it leads, here, to the very file that runs there. */
static void who_program(const struct search *search, struct who_found *ret)
{
	char *out = ret->program;
	pid_t pid = search->list[search->holder].pid;
	char path[32];
	struct stat here;

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	ssize_t n = readlinkat(search->who->proc, path, out, WHO_PROGRAM_MAX - 1);

	if (n <= 0 || n == WHO_PROGRAM_MAX - 1) {
		out[0] = '\0';
		return;
	}
	out[n] = '\0';
	if (out[0] != '/' || stat(out, &here) < 0 || here.st_dev != search->program.st_dev ||
	    here.st_ino != search->program.st_ino) {
		out[0] = '\0';
		return;
	}
	ret->file = (struct who_file){ here.st_dev, here.st_ino, here.st_ctim.tv_sec,
				       here.st_ctim.tv_nsec };
}

static void who_name(const struct search *search, pid_t pid, char out[WHO_NAME_MAX * 4 + 1])
{
	char path[32], name[WHO_NAME_MAX + 1];

	(void)snprintf(path, sizeof(path), "%d/comm", (int)pid);
	auto_close int fd = openat(search->who->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, name, sizeof(name));

	if (n > 0 && name[n - 1] == '\n')
		n--;
	if (n <= 0) {
		(void)snprintf(out, WHO_NAME_MAX * 4 + 1, "?");
		return;
	}
	(void)text_visible(out, WHO_NAME_MAX * 4 + 1, name, (size_t)n);
}

/* From below init down to the holder. What does not fit is left out at the front: the nearest say
 * most. */
static void who_chain(const struct search *search, char out[WHO_CHAIN_MAX])
{
	uint32_t index = search->holder;
	char chain[WHO_CHAIN_MAX];

	out[0] = '\0';
	for (unsigned int depth = 0; depth < WHO_DEPTH_MAX && index != 0; depth++) {
		char name[WHO_NAME_MAX * 4 + 1];

		who_name(search, search->list[index].pid, name);
		int n = snprintf(chain, sizeof(chain), "%s%s%s", name, out[0] ? " > " : "", out);

		if (n < 0 || n >= WHO_CHAIN_MAX)
			return;
		memcpy(out, chain, (size_t)n + 1);
		index = search->list[index].parent;
	}
}

/* Nobody is left out: what was cut short, or is held by others too, names no program. */
static int search_run(struct search *search)
{
	search_add(search, search->who->init, 0);
	for (uint32_t i = 0; i < search->count; i++) {
		if (search_holds(search, search->list[i].pid))
			search_note(search, i);
		search_add_children(search, i);
	}
	/* A process whose parent died while we read is a child of init's since. */
	size_t before = search->count;

	search_add_children(search, 0);
	for (size_t i = before; i < search->count; i++) {
		if (search_holds(search, search->list[i].pid))
			search_note(search, (uint32_t)i);
	}
	return search->is_cut || search->holder == UINT32_MAX ? -ESRCH : 0;
}

int who_find(const struct who *who, uint16_t peer_port, uint16_t port, struct who_found *ret)
{
	struct search search = { .who = who, .holder = UINT32_MAX };
	uint32_t inode = 0;
	int r = who_inode(who, peer_port, port, &inode);

	*ret = (struct who_found){ 0 };
	if (r < 0)
		return r;
	(void)snprintf(search.link, sizeof(search.link), "socket:[%" PRIu32 "]", inode);
	auto_free struct process *list = mem_new_array(WHO_PROCESSES_MAX, sizeof(*list));

	search.list = list;
	r = search_run(&search);
	if (r < 0)
		return r;
	ret->pid = search.list[search.holder].pid;
	who_chain(&search, ret->chain);
	if (!search.is_mixed)
		who_program(&search, ret);
	return 0;
}

void who_file_text(const struct who_file *file, char out[WHO_FILE_TEXT_MAX])
{
	static const struct who_file unknown;

	out[0] = '\0';
	if (!who_file_equal(file, &unknown))
		(void)snprintf(out, WHO_FILE_TEXT_MAX,
			       "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64, file->device,
			       file->inode, file->changed_s, file->changed_ns);
}

int who_file_read(const char *text, struct who_file *ret)
{
	uint64_t values[4] = { 0 };
	size_t count = 0;

	*ret = (struct who_file){ 0 };
	if (!*text)
		return 0;
	for (const char *at = text; count < ARRAY_SIZE(values); count++) {
		size_t len = strcspn(at, ":");
		uint64_t most = count < 2 ? UINT64_MAX : INT64_MAX;

		if (text_to_u64(at, len, most, &values[count]) < 0)
			return -EINVAL;
		if ((at[len] == ':') != (count + 1 < ARRAY_SIZE(values)))
			return -EINVAL;
		at += len + 1; /* past the end only where the loop ends */
	}
	*ret = (struct who_file){ values[0], values[1], (int64_t)values[2], (int64_t)values[3] };
	return 0;
}
