#include "tests/unit/gateway/approvers/control/test_approver_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

struct wire wire = { .client = -1 };

int wire_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/7f3a.sock", wire.gw.dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

const char *wire_line(int fd)
{
	size_t len = 0, before = 0;

	fake_settle(&wire.gw);
	while (len + 1 < sizeof(wire.reply)) {
		ssize_t got = recv(fd, wire.reply + len, sizeof(wire.reply) - 1 - len,
				   MSG_DONTWAIT | MSG_PEEK);

		if (got == 0 || (got < 0 && errno == ECONNRESET))
			return len == 0 ? "closed" : "cut";
		if (got < 0 && len > before) {
			before = len; /* the rest of a long line, which is sent as it is read */
			fake_settle(&wire.gw);
			continue;
		}
		if (got < 0)
			break;
		const char *end = memchr(wire.reply + len, '\n', (size_t)got);
		size_t whole = end ? (size_t)(end - wire.reply) - len + 1 : (size_t)got;

		ck_assert_int_eq(recv(fd, wire.reply + len, whole, 0), (ssize_t)whole);
		len += end ? whole - 1 : whole;
		if (end)
			break;
	}
	wire.reply[len] = '\0';
	return wire.reply;
}

void wire_say(int fd, const char *line)
{
	ck_assert_int_eq(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
}

const char *wire_ask(int fd, const char *line)
{
	wire_say(fd, line);
	return wire_line(fd);
}

void wire_setup(void)
{
	wire.gw = (struct gateway){ .dir = "/tmp/test-approver-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(wire.gw.dir));
	wire.gw.config.control_dir = wire.gw.dir;
	fake_open(&wire.gw, &control_approver);
	wire.client = wire_connect();
	ck_assert_str_eq(wire_line(wire.client),
			 "{\"sallyport\":1,\"run\":\"7f3a\",\"session\":\"test\"}");
}

void wire_teardown(void)
{
	fd_close(wire.client);
	fake_close(&wire.gw);
	ck_assert_int_eq(rmdir(wire.gw.dir), 0); /* the socket is gone */
}
