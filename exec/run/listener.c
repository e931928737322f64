#include "exec/run/listener.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/ioctl.h>

/* A newer kernel may have longer structs than our headers, and write more. */
#define ROOM 512

bool listener_is_waiting(int listener, uint64_t id)
{
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
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
	return ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &buffer.response) < 0 ? -errno : 0;
}

void listener_refuse(int listener, uint64_t id, int error)
{
	(void)answer(listener, id, error, 0); /* ENOENT: the task has died */
}

int listener_pass(int listener, uint64_t id)
{
	return answer(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}
