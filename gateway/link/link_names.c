#include "gateway/gateway_names.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/mem.h"
#include "gateway/link/link_impl.h"
#include "gateway/link/worker_impl.h"

/* -ENOENT: there is no such file. Opened once per worker, so that workers do not share a file
 * offset. */
static int open_names(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat found;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))
		return fd;
	fd_close(fd);
	return -EINVAL;
}

/* A worker that does not get them continues with the old files. */
static void send_names(struct worker *worker, const char *const paths[2])
{
	struct frame frame;
	uint64_t which = 0;
	size_t count = 0;
	int own[2];

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		int fd = open_names(paths[i]);

		if (fd == -ENOENT)
			continue;
		if (fd < 0) {
			fd_close_all(own, count);
			return;
		}
		own[count++] = fd;
		which |= BIT(i);
	}
	link_codec_put_number(&frame, LINK_NAMES, which);
	(void)frame_link_send(worker->link, &frame, own, count); /* a closed link reports itself */
}

void gateway_send_names(struct gateway *gw, const char *resolv_conf, const char *hosts)
{
	const char *const paths[] = { resolv_conf, hosts };
	struct worker *worker;

	LIST_FOREACH (worker, &gw->workers, entry)
		send_names(worker, paths);
}
