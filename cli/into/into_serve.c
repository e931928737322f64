#include "cli/into/into_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/net/listener.h"
#include "base/net/local.h"
#include "base/peer.h"
#include "cli/approve/approve.h"
#include "cli/cli.h"
#include "cli/into/into_wire.h"
#include "cli/session/session_wire.h"
#include "exec/exec_into.h"

#define BACKLOG     16
#define CLIENTS_MAX (2 * EXEC_INTO_MAX) /* also those that begin or end */

struct client {
	struct into_serve *serve;
	struct frame_link *link;
	uint64_t number; /* of its command; 0: not started, or over */
	bool has_begun;
	struct loop_timer timer;
	LIST_ENTRY(client) entry;
};

struct into_serve {
	struct into_serve_config config;
	int dir_fd;
	char *name; /* of the socket; NULL: not there yet */
	struct listener listener;
	size_t client_count;
	LIST_HEAD(, client) clients;
};

static void client_free(struct client *client)
{
	const struct into_serve_config *config = &client->serve->config;

	loop_timer_stop(&client->timer);
	LIST_REMOVE(client, entry);
	client->serve->client_count--;
	if (client->number != 0)
		config->drop(client->number, config->arg);
	frame_link_free(client->link);
	free(client);
}

static void on_closed(void *arg)
{
	client_free(arg);
}

static void client_wait(struct client *client)
{
	loop_timer_start(client->serve->config.loop, &client->timer, INTO_TALK_MS, on_closed,
			 client);
}

static void client_over(struct client *client, enum exec_process_end end, int status,
			const char *why)
{
	struct frame frame;

	frame_begin(&frame, INTO_OVER);
	frame_put_u8(&frame, (uint8_t)end);
	frame_put_u8(&frame, (uint8_t)status);
	frame_put_text(&frame, why);
	(void)frame_link_send(client->link, &frame, NULL, 0); /* a dead link reports itself */
	client_wait(client);
}

static void on_pty(int master, void *arg)
{
	const struct client *client = arg;
	struct frame frame;

	frame_begin(&frame, INTO_PTY);
	(void)frame_link_send(client->link, &frame, &master, 1);
}

static void on_done(const struct exec_process_result *result, void *arg)
{
	struct client *client = arg;
	const struct into_serve_config *config = &client->serve->config;
	uint64_t number = client->number;

	client->number = 0;
	config->ended(number, result, config->arg);
	client_over(client, result->end, result->status, result->why);
}

/* A name of a terminal, and no text that a program could take for something else. */
static bool is_term(const char *term)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._";

	return term[strspn(term, safe)] == '\0';
}

static void begin(struct client *client, struct exec_into_config *command)
{
	const struct into_serve_config *config = &client->serve->config;
	struct err why = { 0 };

	command->on_pty = on_pty;
	command->done = on_done;
	command->arg = client;
	int status = config->start(command, (command->terminals & 1) != 0, &client->number, &why,
				   config->arg);

	if (status != CLI_OK)
		return client_over(client, EXEC_PROCESS_NOT_STARTED, status, why.text);
	struct frame frame;

	frame_begin(&frame, INTO_BEGUN);
	(void)frame_link_send(client->link, &frame, NULL, 0); /* a dead link reports itself */
}

static bool handle_begin(struct client *client, struct frame *frame, const int *fds)
{
	char version[64], term[INTO_TERM_MAX];
	auto_free_list char **argv = NULL;
	struct err why = { 0 };

	frame_get_text(frame, version, sizeof(version));
	struct exec_into_config command = { .terminals = frame_get_u8(frame),
					    .stdio = fds + INTO_STDIO };

	command.size.rows = frame_get_u16(frame);
	command.size.columns = frame_get_u16(frame);
	frame_get_text(frame, term, sizeof(term));
	if (!frame_is_whole(frame) || strcmp(version, SALLYPORT_VERSION) != 0 ||
	    command.terminals > 7 || !is_term(term))
		return false;
	int list = fcntl(fds[INTO_ARGV], F_DUPFD_CLOEXEC, 3); /* it is taken */

	if (list < 0 || session_wire_unpack(list, &argv, &why) < 0 || !argv[0])
		return false;
	command.argv = (const char *const *)argv;
	command.term = term[0] ? term : NULL;
	client->has_begun = true;
	loop_timer_stop(&client->timer);
	begin(client, &command);
	return true;
}

static bool handle_signal(const struct client *client, struct frame *frame)
{
	const struct into_serve_config *config = &client->serve->config;
	uint8_t signal = frame_get_u8(frame);

	if (!frame_is_whole(frame) || signal < 1 || signal > 64)
		return false;
	if (client->number != 0)
		config->signal(client->number, signal, config->arg);
	return true;
}

static void on_frame(struct frame *frame, int *fds, size_t count, void *arg)
{
	struct client *client = arg;
	bool is_good = false;

	if (frame->type == INTO_BEGIN && !client->has_begun && count == INTO_FDS)
		is_good = handle_begin(client, frame, fds);
	else if (frame->type == INTO_SIGNAL && client->has_begun && count == 0)
		is_good = handle_signal(client, frame);
	fd_close_all(fds, count);
	if (!is_good)
		loop_defer(client->serve->config.loop, &client->timer, on_closed, client);
}

static void on_accepted(int fd, uint16_t peer_port, void *arg)
{
	struct into_serve *serve = arg;
	struct peer peer;

	if (serve->client_count == CLIENTS_MAX || peer_check(fd, &peer) < 0)
		return fd_close(fd);
	struct client *client = mem_new(sizeof(*client));

	client->serve = serve;
	LIST_INSERT_HEAD(&serve->clients, client, entry);
	serve->client_count++;
	client->link = frame_link_new(serve->config.loop, fd, on_frame, on_closed, client);
	client_wait(client);
}

static int serve_open(struct into_serve *serve, struct err *why)
{
	const struct into_serve_config *config = &serve->config;

	serve->dir_fd = open(config->control_dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (serve->dir_fd < 0)
		return err_errno(why, errno, "cannot open the control directory %s",
				 config->control_dir);
	auto_free char *name = mem_printf("%s" APPROVE_INTO_SUFFIX, config->run);
	int fd = local_listen(serve->dir_fd, name, SOCK_SEQPACKET, BACKLOG, true);

	if (fd < 0)
		return err_errno(why, -fd, "cannot create the socket %s", name);
	serve->name = take(name);
	int r = listener_open(&serve->listener, config->loop, fd, on_accepted, serve);

	return r < 0 ? err_errno(why, -r, "cannot watch the socket %s", serve->name) : 0;
}

struct into_serve *into_serve_new(const struct into_serve_config *config, struct err *why)
{
	struct into_serve *serve = mem_new(sizeof(*serve));

	serve->config = *config;
	LIST_INIT(&serve->clients);
	if (serve_open(serve, why) == 0)
		return serve;
	into_serve_free(serve);
	return NULL;
}

void into_serve_free(struct into_serve *serve)
{
	if (!serve)
		return;
	while (!LIST_EMPTY(&serve->clients))
		client_free(LIST_FIRST(&serve->clients));
	if (serve->listener.is_open)
		listener_close(&serve->listener);
	if (serve->name)
		(void)unlinkat(serve->dir_fd, serve->name, 0); /* it may be gone already */
	free(serve->name);
	fd_close(serve->dir_fd);
	free(serve);
}
