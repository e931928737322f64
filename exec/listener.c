#include "exec/listener.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>

/* The kernel's structs may be longer than ours one day; it then writes more. */
#define ROOM 512

/* Of Linux 6.6. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS      SECCOMP_IOW(4, __u64)
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP 1UL
#endif

void listener_prefer_sync(int listener)
{
	(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

int listener_read(int listener, struct seccomp_notif *ret)
{
	union {
		struct seccomp_notif request;
		char room[ROOM];
	} buffer;
	struct pollfd ready = { .fd = listener, .events = POLLIN };

	/* Reading would wait where nobody is waiting. */
	if (poll(&ready, 1, 0) < 0)
		return errno == EINTR ? 0 : -errno;
	if ((ready.revents & POLLIN) == 0)
		return ready.revents == 0 ? 0 : -ENOTCONN;
	memset(&buffer, 0, sizeof(buffer));
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &buffer.request) < 0)
		return errno == ENOENT || errno == EINTR ? 0 : -errno;
	*ret = buffer.request;
	return 1;
}

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
	(void)answer(listener, id, error, 0); /* ENOENT: it died */
}

int listener_pass(int listener, uint64_t id)
{
	return answer(listener, id, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
}
