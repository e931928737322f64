#include "exec/init/sys.h"
#include "exec/init/wall.h"
#include "exec/init/wall_impl.h"

#include <errno.h>
#include <sys/resource.h>
#include <string.h>

#define AGAIN_MS     4
#define MESSAGES_MAX 1024 /* UIO_MAXIOV, as for sendmmsg(2) */
#define PART_MAX     (1ULL << 40)

/* One message, as in the call; pointers are the task's. */
struct message {
	uint64_t name, control;
	uint32_t name_len;
	size_t control_len, parts;
	uint64_t total;
};

static long read_parts(struct wall *wall, const struct wall_call *call, uint64_t from,
		       struct message *ret)
{
	long r = ret->parts > WALL_PARTS_MAX ? -EMSGSIZE
					     : wall_task_read(call, from, wall->parts,
							      ret->parts * sizeof(struct iovec));

	for (size_t i = 0; i < ret->parts && r == 0; i++) {
		if (wall->parts[i].iov_len > PART_MAX)
			r = -EINVAL;
		else
			ret->total += wall->parts[i].iov_len;
	}
	return r;
}

static long read_message(struct wall *wall, const struct wall_call *call, struct message *ret)
{
	struct msghdr head;
	uint64_t at = call->args[1] + call->index * sizeof(struct mmsghdr);

	*ret = (struct message){ 0 };
	if (call->number == SYS_sendto) {
		wall->parts[0] = (struct iovec){ .iov_base = (void *)(uintptr_t)call->args[1],
						 .iov_len = call->args[2] };
		ret->parts = 1;
		ret->total = call->args[2];
		ret->name = call->args[4];
		ret->name_len = (uint32_t)call->args[5];
		return ret->total > PART_MAX ? -EINVAL : 0;
	}
	long r = wall_task_read(call, at, &head, sizeof(head));

	if (r < 0)
		return r;
	ret->name = (uintptr_t)head.msg_name;
	ret->name_len = head.msg_name ? head.msg_namelen : 0;
	ret->control = (uintptr_t)head.msg_control;
	ret->control_len = head.msg_controllen;
	ret->parts = head.msg_iovlen;
	return read_parts(wall, call, (uintptr_t)head.msg_iov, ret);
}

/* Reads up to WALL_DATA_MAX bytes that are not sent yet. Their count or -errno. */
static long read_data(struct wall *wall, const struct wall_call *call,
		      const struct message *message)
{
	uint64_t skip = call->done, left = message->total - call->done;
	size_t len = left < WALL_DATA_MAX ? (size_t)left : WALL_DATA_MAX, first = 0;

	if (len == 0)
		return 0;
	while (skip >= wall->parts[first].iov_len)
		skip -= wall->parts[first++].iov_len;
	wall->parts[first].iov_base = (char *)wall->parts[first].iov_base + skip;
	wall->parts[first].iov_len -= skip;
	struct iovec ours = { .iov_base = wall->data, .iov_len = len };
	long n = sys(process_vm_readv, call->task, &ours, 1, &wall->parts[first],
		     message->parts - first, 0);

	if (n == -EPERM)
		return -EACCES;
	return n < 0 ? n : (size_t)n == len ? n : -EFAULT;
}

static void close_passed(struct wall *wall)
{
	while (wall->passed_count > 0)
		(void)sys(close, wall->passed[--wall->passed_count]);
}

/* Replaces the task's descriptor numbers by numbers of our copies: an unchanged number would pass
 * the wall's own descriptor. */
static long copy_rights(struct wall *wall, const struct wall_call *call, char *data, size_t len)
{
	for (size_t at = 0; at + sizeof(int) <= len; at += sizeof(int)) {
		int number;

		if (wall->passed_count == WALL_PASSED_MAX)
			return -EINVAL;
		memcpy(&number, data + at, sizeof(number));
		long fd = wall_task_fd(call, number);

		if (fd < 0)
			return fd;
		wall->passed[wall->passed_count++] = number = (int)fd;
		memcpy(data + at, &number, sizeof(number));
	}
	return 0;
}

/* A task may name its own process alone. The wall could name any. */
static long check_credentials(struct wall *wall, struct wall_call *call, const char *data)
{
	struct ucred who;

	memcpy(&who, data, sizeof(who));
	return who.pid == wall_task_process(wall, call) ? 0 : -EPERM;
}

/* Reads @len bytes of control data into wall->control. It walks over our own copy as the kernel
 * does (CMSG_OK), and refuses what the kernel would refuse. The place after the last part. */
static long read_control(struct wall *wall, struct wall_call *call, uint64_t from, size_t len)
{
	long r = len > WALL_CONTROL_MAX ? -ENOBUFS : wall_task_read(call, from, wall->control, len);
	size_t at = 0;

	while (r == 0 && at + sizeof(struct cmsghdr) <= len) {
		struct cmsghdr head;
		char *data = wall->control + at + CMSG_LEN(0);

		memcpy(&head, wall->control + at, sizeof(head));
		if (head.cmsg_len < sizeof(head) || head.cmsg_len > len - at)
			return -EINVAL;
		size_t size = head.cmsg_len - CMSG_LEN(0);

		if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_RIGHTS)
			r = copy_rights(wall, call, data, size);
		else if (head.cmsg_level == SOL_SOCKET && head.cmsg_type == SCM_CREDENTIALS &&
			 size == sizeof(struct ucred))
			r = check_credentials(wall, call, data);
		at += CMSG_ALIGN(head.cmsg_len);
	}
	return r < 0 ? r : (long)at;
}

/* A receiver with SO_PASSCRED is to see the task's process, not the wall: Chromium asks so which
 * process it has started. The last credentials of a message count. */
static size_t add_credentials(struct wall *wall, struct wall_call *call, size_t at)
{
	const struct cmsghdr head = {
		.cmsg_len = CMSG_LEN(sizeof(struct ucred)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_CREDENTIALS,
	};
	const struct ucred who = {
		.pid = wall_task_process(wall, call),
		.uid = (uid_t)sys(getuid),
		.gid = (gid_t)sys(getgid),
	};

	memcpy(wall->control + at, &head, sizeof(head));
	memcpy(wall->control + at + CMSG_LEN(0), &who, sizeof(who));
	return at + CMSG_SPACE(sizeof(who));
}

static unsigned int flags_of(const struct wall_call *call)
{
	return (unsigned int)(call->number == SYS_sendmsg ? call->args[2] : call->args[3]);
}

static bool may_block(const struct wall_call *call)
{
	return (flags_of(call) & MSG_DONTWAIT) == 0 &&
	       (sys(fcntl, call->fd, F_GETFL) & O_NONBLOCK) == 0;
}

static long park(struct wall_call *call, const struct wall_aim *aim, long result)
{
	struct timeval limit = { 0 };
	uint32_t len = sizeof(limit);

	(void)sys(getsockopt, call->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, &len);
	if (call->due_ms == 0 && (limit.tv_sec != 0 || limit.tv_usec != 0))
		call->due_ms =
			wall_parked_now_ms() + (int64_t)limit.tv_sec * 1000 + limit.tv_usec / 1000;
	if (call->due_ms != 0 && wall_parked_now_ms() >= call->due_ms)
		return result;
	/* poll(2) reports room in the socket's own buffer, but not in that of a receiver with an
	 * address. */
	call->next_ms = aim->at >= 0 || (call->type == SOCK_DGRAM && aim->len > 0)
				? wall_parked_now_ms() + AGAIN_MS
				: 0;
	return WALL_PARK;
}

/* The kernel compares the descriptors in flight with the sender's limit of open files, so ours is
 * lowered for this call. The command has its own limit, but does not send. */
static long send_limited(const struct wall_call *call, const struct msghdr *head,
			 unsigned int flags)
{
	struct rlimit limit = { 0 }, low;
	long r = sys(prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);

	if (r == 0) {
		low = limit;
		low.rlim_cur = limit.rlim_cur < WALL_FLIGHT_MAX ? limit.rlim_cur : WALL_FLIGHT_MAX;
		r = sys(prlimit64, 0, RLIMIT_NOFILE, &low, NULL);
	}
	if (r < 0)
		return r;
	r = sys(sendmsg, call->fd, head, flags);
	(void)sys(prlimit64, 0, RLIMIT_NOFILE, &limit, NULL);
	return r;
}

/* The limit is that of the process. */
static long send_counted(struct wall *wall, const struct wall_call *call, const struct msghdr *head,
			 unsigned int flags)
{
	if (wall->passed_count == 0)
		return sys(sendmsg, call->fd, head, flags);
	wall_lock(wall->init, true);
	long r = send_limited(call, head, flags);

	wall_lock(wall->init, false);
	return r;
}

static long hand_over(struct wall *wall, struct wall_call *call, bool is_local, size_t control_len,
		      const struct wall_aim *aim, size_t len)
{
	struct iovec part = { .iov_base = wall->data, .iov_len = len };
	struct msghdr head = {
		.msg_name = aim->len > 0 ? (void *)(uintptr_t)&aim->name : NULL,
		.msg_namelen = aim->len,
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = wall->control,
		.msg_controllen = is_local ? add_credentials(wall, call, control_len) : control_len,
	};

	if (!wall_task_is_waiting(wall, call))
		return -ESRCH;
	if (is_local && !wall_task_caps(WALL_CAP_AS))
		return -EACCES;
	long n = send_counted(wall, call, &head, flags_of(call) | MSG_DONTWAIT | MSG_NOSIGNAL);

	if (is_local)
		(void)wall_task_caps(0);
	return n;
}

/* Returns the message's length once all of it is sent. */
static long send_some(struct wall *wall, struct wall_call *call, const struct message *message,
		      const struct wall_aim *aim)
{
	bool is_stream = call->type == SOCK_STREAM;

	if (!is_stream && message->total > WALL_DATA_MAX)
		return -EMSGSIZE;
	/* It is read again for each part, and the command may have made it shorter. */
	if (message->total < call->done)
		return (long)call->done;
	/* The kernel would send from our buffer after it is reused. */
	if ((flags_of(call) & MSG_ZEROCOPY) && wall_task_option(call->fd, SO_ZEROCOPY) > 0)
		return -ENOBUFS;
	/* Before the data: the process is looked up through the buffer of the data. */
	bool is_local = wall_task_option(call->fd, SO_DOMAIN) == AF_UNIX;
	size_t control_len = call->done == 0 ? message->control_len : 0;
	long n = is_local && wall_task_process(wall, call) <= 0 ? -ESRCH : 0;

	if (n == 0 && control_len > 0)
		n = read_control(wall, call, message->control, control_len);
	control_len = n > 0 ? (size_t)n : 0;
	if (n >= 0)
		n = read_data(wall, call, message);
	if (n >= 0)
		n = hand_over(wall, call, is_local, control_len, aim, (size_t)n);
	close_passed(wall);
	if (n == -EAGAIN && may_block(call))
		return park(call, aim, call->done > 0 ? (long)call->done : n);
	if (n == -EPIPE && is_stream && call->done == 0 && !(flags_of(call) & MSG_NOSIGNAL))
		(void)sys(tkill, call->task, SIGPIPE);
	if (n < 0)
		return call->done > 0 ? (long)call->done : n;
	call->done += (uint64_t)n;
	if (is_stream && call->done < message->total && n > 0 && may_block(call))
		return park(call, aim, (long)call->done);
	return (long)call->done;
}

static long send_one(struct wall *wall, struct wall_call *call)
{
	struct sockaddr_storage given;
	struct wall_aim aim = { .at = -1 };
	struct message message;
	long r = read_message(wall, call, &message);

	if (r < 0)
		return r;
	if ((int32_t)message.name_len < 0 ||
	    (call->number == SYS_sendto && message.name && message.name_len > sizeof(given)))
		return -EINVAL;
	if (message.name_len > sizeof(given))
		message.name_len = sizeof(given);
	if (message.name && message.name_len > 0) {
		r = wall_task_read(call, message.name, &given, message.name_len);
		if (r == 0)
			r = wall_name_aim(wall, call, &given, message.name_len, &aim);
		/* A connected socket type ignores the address: the kernel refuses it without
		 * reading it. */
	}
	if (r == 0)
		r = send_some(wall, call, &message, &aim);
	wall_name_done(&aim);
	return r;
}

static long send_all(struct wall *wall, struct wall_call *call)
{
	uint32_t count = (uint32_t)call->args[2];

	count = count < MESSAGES_MAX ? count : MESSAGES_MAX;
	while (call->index < count) {
		long n = send_one(wall, call);
		uint32_t sent = (uint32_t)n;

		if (n >= 0)
			n = wall_task_write(call,
					    call->args[1] + call->index * sizeof(struct mmsghdr) +
						    offsetof(struct mmsghdr, msg_len),
					    &sent, sizeof(sent));
		if (n == WALL_PARK)
			return n;
		if (n < 0)
			return call->index > 0 ? (long)call->index : n;
		call->index++;
		call->done = 0;
	}
	return (long)call->index;
}

long wall_send_turn(struct wall *wall, struct wall_call *call)
{
	long r = call->fd >= 0 ? 0 : wall_task_open(wall, call);

	if (r < 0)
		return r;
	return call->number == SYS_sendmmsg ? send_all(wall, call) : send_one(wall, call);
}
