#include "gateway/who.h"
#include "gateway/who_impl.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/openat2.h>
#include <linux/sock_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"

#define WHO_NAME_MAX  16 /* TASK_COMM_LEN */
#define WHO_DEPTH_MAX 64
#define WHO_STAT_MAX  512 /* of /proc/PID/stat, as far as the parent */

static struct who_file who_file_of(const struct statx *info)
{
	return (struct who_file){ makedev(info->stx_dev_major, info->stx_dev_minor), info->stx_ino,
				  info->stx_ctime.tv_sec, info->stx_ctime.tv_nsec };
}

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

int who_inode(const struct who *who, uint16_t peer_port, uint16_t port, uint32_t *ret_inode)
{
	who_drain(who->sockets); /* an answer to a question that was given up */
	int r = who_ask(who->sockets, peer_port, port);

	return r < 0 ? r : who_hear(who->sockets, peer_port, ret_inode);
}

int who_stat(const struct who *who, pid_t pid, struct who_file *ret)
{
	char path[32];
	struct statx info;

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	if (statx(who->proc, path, AT_STATX_DONT_SYNC, STATX_INO | STATX_CTIME, &info) < 0)
		return -errno;
	*ret = who_file_of(&info);
	return 0;
}

/* The path as the host has it, from what the kernel holds in memory: a file system whose server
 * does not answer would hold up the loop, so what is on it is not known. */
static int who_look(const char *path, struct who_file *ret)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				.resolve = RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS };
	struct statx info;
	int fd = -1;

	/* The kernel also says EAGAIN where something was renamed meanwhile. */
	for (int tries = 0; fd < 0 && tries < 3; tries++)
		fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	if (fd < 0)
		return -errno;
	int r = statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_CTIME, &info);

	fd_close(fd);
	if (r < 0)
		return -EIO;
	*ret = who_file_of(&info);
	return 0;
}

void who_program(const struct who *who, pid_t pid, const struct who_file *runs,
		 struct who_found *ret)
{
	char *out = ret->program;
	char path[32];
	struct who_file here;

	(void)snprintf(path, sizeof(path), "%d/exe", (int)pid);
	ssize_t n = readlinkat(who->proc, path, out, WHO_PROGRAM_MAX - 1);

	if (n <= 0 || n == WHO_PROGRAM_MAX - 1) {
		out[0] = '\0';
		return;
	}
	out[n] = '\0';
	if (out[0] != '/' || who_look(out, &here) < 0 || here.device != runs->device ||
	    here.inode != runs->inode) {
		out[0] = '\0';
		return;
	}
	ret->file = here;
}

/* Its name, visible, and its parent. proc(5): "12 (name) S 1 ...", and the name may hold anything.
 */
static pid_t who_read_parent(const struct who *who, pid_t pid, char out[WHO_NAME_MAX * 4 + 1])
{
	char path[32], text[WHO_STAT_MAX];

	(void)snprintf(path, sizeof(path), "%d/stat", (int)pid);
	auto_close int fd = openat(who->proc, path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return -1;
	text[n] = '\0';
	char *name = strchr(text, '('), *end = strrchr(text, ')');
	uint64_t parent;

	if (!name || !end || end < name || strlen(end) < 5)
		return -1;
	(void)text_visible(out, WHO_NAME_MAX * 4 + 1, name + 1, (size_t)(end - name - 1));
	if (text_to_u64(end + 4, strcspn(end + 4, " "), INT32_MAX, &parent) < 0)
		return -1;
	return (pid_t)parent;
}

void who_chain(const struct who *who, pid_t pid, char out[WHO_CHAIN_MAX])
{
	char chain[WHO_CHAIN_MAX];

	out[0] = '\0';
	for (unsigned int depth = 0; depth < WHO_DEPTH_MAX && pid > 0 && pid != who->init;
	     depth++) {
		char name[WHO_NAME_MAX * 4 + 1];

		pid = who_read_parent(who, pid, name);
		if (pid <= 0) {
			out[0] = '\0'; /* it ended; what was read is of nobody's */
			return;
		}
		int n = snprintf(chain, sizeof(chain), "%s%s%s", name, out[0] ? " > " : "", out);

		if (n < 0 || n >= WHO_CHAIN_MAX)
			return;
		memcpy(out, chain, (size_t)n + 1);
	}
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
