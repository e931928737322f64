#include "gateway/audit/disk/disk.h"

#include <assert.h>
#include <errno.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"

#define DISK_EVENTS_MAX 16 /* files of all requests at once */

struct disk {
	aio_context_t context;
	int events; /* an eventfd */
	struct event ready;
};

static void disk_ended(const struct io_event *event)
{
	struct disk_request *request = (struct disk_request *)(uintptr_t)event->data;

	if (event->res < 0 && request->result == 0)
		request->result = (int)event->res;
	if (--request->left == 0)
		request->done(request->result, request->arg);
}

/* @done must not free the disk. */
static void disk_on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct disk *disk = arg;
	struct io_event events[DISK_EVENTS_MAX];
	struct timespec now = { 0 };
	uint64_t count;

	if (read(disk->events, &count, sizeof(count)) < 0)
		return;
	long n = syscall(SYS_io_getevents, disk->context, 0, DISK_EVENTS_MAX, events, &now);

	for (long i = 0; i < n; i++)
		disk_ended(&events[i]);
}

struct disk *disk_new(struct loop *loop, struct err *why)
{
	struct disk *disk = mem_new(sizeof(*disk));

	if (syscall(SYS_io_setup, DISK_EVENTS_MAX, &disk->context) < 0) {
		(void)err_errno(why, errno, "io_setup(2) fails"); /* the caller gets NULL */
		free(disk);
		return NULL;
	}
	disk->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (disk->events < 0) {
		(void)err_errno(why, errno, "cannot make an eventfd"); /* as above */
		(void)syscall(SYS_io_destroy, disk->context);
		free(disk);
		return NULL;
	}
	event_assign(&disk->ready, loop_base(loop), disk->events, EV_READ | EV_PERSIST,
		     disk_on_ready, disk);
	event_add(&disk->ready, NULL);
	return disk;
}

void disk_free(struct disk *disk)
{
	if (!disk)
		return;
	event_del(&disk->ready);
	(void)syscall(SYS_io_destroy, disk->context); /* it is ours, and exists */
	fd_close(disk->events);
	free(disk);
}

int disk_begin(struct disk *disk, struct disk_request *request, const int *fds, size_t count,
	       disk_done_fn done, void *arg)
{
	struct iocb blocks[DISK_FILES_MAX] = { 0 }, *list[DISK_FILES_MAX];

	assert(request->left == 0 && count > 0 && count <= DISK_FILES_MAX);
	for (size_t i = 0; i < count; i++) {
		blocks[i] = (struct iocb){
			.aio_data = (uintptr_t)request,
			.aio_lio_opcode = IOCB_CMD_FDSYNC,
			.aio_fildes = (uint32_t)fds[i],
			.aio_flags = IOCB_FLAG_RESFD,
			.aio_resfd = (uint32_t)disk->events,
		};
		list[i] = &blocks[i];
	}
	long n = syscall(SYS_io_submit, disk->context, (long)count, list);

	if (n <= 0)
		return n < 0 ? -errno : -EAGAIN;
	*request = (struct disk_request){ .done = done, .arg = arg, .left = (size_t)n };
	if ((size_t)n < count)
		request->result = -EAGAIN; /* some of them were not asked for */
	return 0;
}
