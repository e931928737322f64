#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/listening.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "exec/exec_egress.h"

#define BACKLOG 128

/* The socket is in the command's own view, in a directory that is deleted with it. Only the command
 * is in there. */
static int listen_at_door(void)
{
	const struct sockaddr_un name = { .sun_family = AF_UNIX, .sun_path = EXEC_DOOR };

	return listening_open(&name, sizeof(name), BACKLOG);
}

int door_open(struct init *init)
{
	uint8_t byte = WIRE_INNER_DOOR;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };

	if (!(init->plan.head->flags & WIRE_DOOR))
		return 0;
	init->step = WIRE_STEP_DOOR;
	init->detail = EXEC_DOOR;
	int r = path_make(EXEC_DOOR_DIR);
	int fd = r < 0 ? r : listen_at_door();

	if (fd < 0)
		return fd;
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_RIGHTS;
	control.head.cmsg_len = CMSG_LEN(sizeof(int));
	*(int *)(void *)CMSG_DATA(&control.head) = fd;
	long n = sys(sendmsg, init->inner, &message, MSG_NOSIGNAL | MSG_DONTWAIT);

	init->door = fd; /* for the next worker */
	init->detail = "";
	/* EPIPE: the worker is gone, and its listeners are closed; init does not report that. */
	return n < 0 && n != -EPIPE ? (int)n : 0;
}
