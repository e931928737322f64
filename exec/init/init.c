#include "exec/init/init.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "exec/init/sys.h"

void *init_room(size_t len)
{
	long at = sys(mmap, NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at < 0 && at > -4096 ? NULL : (void *)at;
}

int init_send(const struct wire_message *message, const int *fds, int count)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(INIT_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1 };

	if (count > 0) {
		head.msg_control = control.bytes;
		head.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
		for (int i = 0; i < count; i++)
			((int *)(void *)CMSG_DATA(&control.head))[i] = fds[i];
	}
	/* Also called from the command's process, where the wall makes calls that may carry an
	 * address. */
	long n = count > 0 ? sys(sendmsg, WIRE_CONTROL_FD, &head, MSG_NOSIGNAL)
			   : sys(sendto, WIRE_CONTROL_FD, message, sizeof(*message), MSG_NOSIGNAL,
				 NULL, 0);

	return n < 0 ? (int)n : 0;
}

int init_receive(struct wire_message *ret, int ret_fds[INIT_FDS_MAX], int *ret_count)
{
	struct iovec part = { .iov_base = ret, .iov_len = sizeof(*ret) };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(INIT_FDS_MAX * sizeof(int))];
	} control = { 0 };
	struct msghdr head = { .msg_iov = &part,
			       .msg_iovlen = 1,
			       .msg_control = control.bytes,
			       .msg_controllen = sizeof(control.bytes) };
	long n = sys(recvmsg, WIRE_CONTROL_FD, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return (int)n;
	bool has_fds = head.msg_controllen >= sizeof(control.head) &&
		       control.head.cmsg_level == SOL_SOCKET &&
		       control.head.cmsg_type == SCM_RIGHTS;

	*ret_count = has_fds ? (int)((control.head.cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
	if (n != (long)sizeof(*ret) || (head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return -EBADMSG;
	for (int i = 0; i < *ret_count; i++) {
		int fd = ((int *)(void *)CMSG_DATA(&control.head))[i];

		ret_fds[i] = (int)sys(fcntl, fd, F_DUPFD_CLOEXEC, INIT_SAFE_FD);
		(void)sys(close, fd);
		if (ret_fds[i] < 0)
			return ret_fds[i];
	}
	return 0;
}

_Noreturn void init_fail(const struct init *init, uint32_t type, int error)
{
	struct wire_message message = {
		.type = type, .step = init->step, .value = -error, .into = init->into
	};

	for (size_t i = 0; i < sizeof(message.detail) - 1 && init->detail[i]; i++)
		message.detail[i] = init->detail[i];
	(void)init_send(&message, NULL, 0); /* if it fails, the gate still notices the end */
	sys_exit(125);
}
