#include "exec/run/listener.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

/* A newer kernel may have longer structs than our headers, and write more. */
#define ROOM 512

/* The kernel waits for a lock here, and a signal such as SIGCHLD ends that wait with EINTR, which
 * says nothing about the task. */
static int ask(int listener, unsigned long what, void *arg)
{
	int r;

	do
		r = ioctl(listener, what, arg);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : 0;
}

bool listener_is_waiting(int listener, uint64_t id)
{
	return ask(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static int answer(int listener, uint64_t id, int error, uint32_t flags)
{
	union {
		struct seccomp_notif_resp response;
		char room[ROOM];
	} buffer;

	memset(&buffer, 0, sizeof(buffer));
	buffer.response.id = id;
	buffer.response.error = -error;
	buffer.response.flags = flags;
	return ask(listener, SECCOMP_IOCTL_NOTIF_SEND, &buffer.response);
}

void listener_refuse(int listener, uint64_t id, int error)
{
	(void)answer(listener, id, error, 0); /* ENOENT: the task has died */
}

int listener_pass(int listener, uint64_t id)
{
	return answer(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}
