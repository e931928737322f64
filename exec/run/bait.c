#include "exec/run/bait.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "exec/exec_sandbox.h"
#include "exec/run/wire.h"
#include "exec/sandbox/mounts.h"
#include "exec/sandbox/plan.h"

static void add(struct plan *plan, enum wire_bait kind, const char *text)
{
	auto_free char *bait = mem_printf("%c%s", (char)kind, text);

	paths_add(&plan->baits, bait);
}

static void add_number(struct plan *plan, enum wire_bait kind, unsigned int number)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%u", number);
	add(plan, kind, digits);
}

/* A listening socket at an address that the kernel chooses, which is left in @name. */
static int listen_at(struct sockaddr_storage *name, socklen_t len, int *ret)
{
	auto_close int fd = socket(name->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t full = sizeof(*name);

	if (fd < 0 || bind(fd, (struct sockaddr *)name, len) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)name, &full) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return (int)full;
}

static int open_tcp(struct bait *bait, struct plan *plan)
{
	struct sockaddr_storage name = { .ss_family = AF_INET };
	struct sockaddr_in *v4 = (void *)&name;

	v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int r = listen_at(&name, sizeof(*v4), &bait->fds[BAIT_TCP]);

	if (r >= 0)
		add_number(plan, WIRE_BAIT_TCP, ntohs(v4->sin_port));
	return r;
}

/* The host may have no IPv6, or no ::1. */
static int open_tcp6(struct bait *bait, struct plan *plan)
{
	struct sockaddr_storage name = { .ss_family = AF_INET6 };
	struct sockaddr_in6 *v6 = (void *)&name;

	v6->sin6_addr = in6addr_loopback;
	int r = listen_at(&name, sizeof(*v6), &bait->fds[BAIT_TCP6]);

	if (r >= 0)
		add_number(plan, WIRE_BAIT_TCP6, ntohs(v6->sin6_port));
	return r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL ? 0 : r;
}

/* unix(7), autobind: the kernel chooses five characters. */
static int open_abstract(struct bait *bait, struct plan *plan)
{
	struct sockaddr_storage name = { .ss_family = AF_UNIX };
	const struct sockaddr_un *local = (const void *)&name;
	int r = listen_at(&name, sizeof(sa_family_t), &bait->fds[BAIT_ABSTRACT]);
	size_t before = offsetof(struct sockaddr_un, sun_path) + 1;
	char text[sizeof(local->sun_path)] = "";

	if (r < 0 || (size_t)r <= before)
		return r < 0 ? r : -EPROTO;
	memcpy(text, local->sun_path + 1, (size_t)r - before);
	add(plan, WIRE_BAIT_ABSTRACT, text);
	return 0;
}

/* A folder that this user may write and the command may only read. */
static void add_folder(struct plan *plan)
{
	const char *const places[] = { getenv("HOME"), "/var/tmp", "/tmp", "/" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		auto_free char *path = NULL;
		struct stat what;

		if (!places[i] || places[i][0] != '/' ||
		    paths_resolve(places[i], NULL, &path, NULL) < 0 ||
		    mounts_access(plan, path) != EXEC_READ || stat(path, &what) < 0 ||
		    !S_ISDIR(what.st_mode) || access(path, W_OK) < 0)
			continue;
		add(plan, WIRE_BAIT_FOLDER, path);
		return;
	}
}

int bait_open(struct bait *bait, struct plan *plan, const char *control, struct err *why)
{
	bool has_network = (plan->flags & WIRE_HOST_NETWORK) == 0;
	int r = has_network ? open_tcp(bait, plan) : 0;

	if (r >= 0 && has_network)
		r = open_tcp6(bait, plan);
	if (r >= 0)
		r = open_abstract(bait, plan);
	if (r < 0)
		return err_errno(why, -r,
				 "cannot open a socket for the probe of the sandbox (--no-probe "
				 "starts without it)");
	add_number(plan, WIRE_BAIT_GATE, (unsigned int)getpid());
	if (control && control[0])
		add(plan, WIRE_BAIT_CONTROL, control);
	add_folder(plan);
	plan->flags |= WIRE_PROBE;
	return 0;
}

void bait_close(struct bait *bait)
{
	for (int i = 0; i < BAITS; i++)
		fd_close(bait->fds[i]);
	*bait = (struct bait)BAIT_NONE;
}
