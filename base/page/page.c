#include "base/page/page.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/fd.h"

#define PAGE_BACKLOG 32

int page_draw(char out[PAGE_SECRET_MAX])
{
	uint8_t bytes[PAGE_SECRET_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

static void page_admit(int fd, uint16_t peer_port, void *arg)
{
	struct page *self = arg;

	if (self->clients.count == SERVED_MAX || !page_peer_is_ours(fd))
		fd_close(fd);
	else
		self->config->admit(self, fd);
}

static int page_listen(struct page *self, struct loop *loop, uint16_t port, struct err *why)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int on = 1;

	auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_errno(why, errno, "cannot make a socket for the page");
	/* A fixed port can be used again at once; no other process can be listening on it. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(fd, PAGE_BACKLOG) < 0 || getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return err_errno(why, errno, "cannot serve the page on port %u of 127.0.0.1", port);
	self->port = ntohs(address.sin_port);
	int r = listener_open(&self->listener, loop, fd_take(&fd), page_admit, self);

	return r < 0 ? err_errno(why, -r, "cannot watch the socket of the page") : 0;
}

int page_open(struct page *self, struct loop *loop, const struct page_config *config, uint16_t port,
	      void *owner, struct err *why)
{
	self->config = config;
	self->owner = owner;
	self->clients.loop = loop;
	if (page_draw(self->capability) < 0 || page_draw(self->cookie) < 0 ||
	    page_draw(self->key) < 0)
		return err_set(why, -EIO, "no random numbers for the page");
	int r = page_listen(self, loop, port, why);

	if (r < 0)
		return r;
	/* The port is part of the cookie's name, because a browser sends cookies to every port of a
	 * host. */
	(void)snprintf(self->cookie_name, sizeof(self->cookie_name), "sallyport-%u", self->port);
	(void)snprintf(self->url, sizeof(self->url), "http://127.0.0.1:%u/#%s", self->port,
		       self->capability);
	return 0;
}

void page_close(struct page *self)
{
	served_all_done(&self->clients);
	listener_close(&self->listener);
}

void page_client_init(struct page_client *client, const struct served_calls *calls,
		      struct page *page, int fd)
{
	client->page = page;
	served_init(&client->served, calls, &page->clients, fd, client->in, sizeof(client->in));
}
