#include "gateway/approvers/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/wire.h"

#define CONTROL_BACKLOG    64
#define CONTROL_ACCEPT_MAX 16 /* connections accepted in one turn of the loop */
#define CONTROL_RUN_MAX    16 /* leaves room for "-NUMBER" in an id */

static bool control_has_watcher(const struct approver *self)
{
	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher && !self->clients[i]->is_closed)
			return true;
	}
	return false;
}

/* None of those awaited came: the gateway asks is_attached() again. */
static void control_grace_over(void *arg)
{
	struct approver *self = arg;

	control_watchers_give_up(&self->watchers);
	gateway_approvers_changed(self->gw);
}

void control_watched(struct approver *self, const struct control_client *client)
{
	loop_timer_stop(&self->grace);
	control_watchers_join(&self->watchers, client->peer.pid);
	gateway_approvers_changed(self->gw);
}

static void control_sweep_now(void *arg)
{
	struct approver *self = arg;
	bool has_lost_watcher = false;
	size_t kept = 0;

	for (size_t i = 0; i < self->client_count; i++) {
		struct control_client *client = self->clients[i];

		if (!client->is_closed) {
			self->clients[kept++] = client;
			continue;
		}
		if (client->is_watcher) {
			control_watchers_leave(&self->watchers, client->peer.pid);
			has_lost_watcher = true;
		}
		control_client_free(client);
	}
	self->client_count = kept;
	if (has_lost_watcher)
		gateway_approvers_changed(self->gw);
}

void control_sweep(struct approver *self)
{
	loop_defer(self->loop, &self->sweep, control_sweep_now, self);
}

static void control_greet(struct approver *self, struct control_client *client)
{
	json_t *greeting =
		json_pack("{s:i, s:s, s:o}", "sallyport", CONTROL_VERSION, "run", self->run,
			  "session", wire_text(self->session, POLICY_TEXT_MAX));

	control_client_send(client, greeting);
	json_decref(greeting);
}

static void control_admit(struct approver *self, int fd)
{
	struct peer peer;

	if (self->client_count == CONTROL_CLIENTS_MAX || peer_check(fd, &peer) < 0)
		return fd_close(fd);

	struct control_client *client = control_client_new(self, fd, &peer);
	self->clients[self->client_count++] = client;
	control_greet(self, client);
}

static void control_accept_again(void *arg)
{
	struct approver *self = arg;

	event_add(self->accept_event, NULL);
}

static void control_accept(evutil_socket_t listener, short what, void *arg)
{
	struct approver *self = arg;

	for (int i = 0; i < CONTROL_ACCEPT_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			control_admit(self, fd);
			continue;
		}
		if (errno == EAGAIN)
			return;
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		/* Out of descriptors or memory: the backlog stays readable, so look away for a
		 * while. */
		event_del(self->accept_event);
		loop_timer_start(self->loop, &self->backoff, CONTROL_BACKOFF_MS,
				 control_accept_again, self);
		return;
	}
}

static int control_open_dir(struct approver *self, const char *path, struct err *why)
{
	struct stat st;

	self->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (self->dir_fd < 0)
		return err_errno(why, errno, "cannot open the control directory %s", path);
	if (fstat(self->dir_fd, &st) < 0)
		return err_errno(why, errno, "cannot look at %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return err_set(why, -EPERM,
			       "%s: must be yours, and closed to everybody else (0700)", path);
	self->watchers.dir_fd = self->dir_fd;
	return 0;
}

/* Binds under a hidden name and moves it into place once it listens: whoever sees the name may
 * connect, and a socket that refuses is a dead run's. Through the descriptor, so the path has no
 * length and cannot be swapped. */
static int control_bind(struct approver *self, struct err *why)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_free char *hidden = mem_printf(".%s.new", self->run);
	auto_free char *name = mem_printf("%s.sock", self->run);
	int r = 0;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
		       self->dir_fd, hidden); /* fits: the run's name is short */
	self->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (self->listen_fd < 0)
		return err_errno(why, errno, "cannot make the control socket");
	/* The mode of the socket becomes the mode of its name. */
	if (fchmod(self->listen_fd, 0600) < 0 ||
	    bind(self->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return err_errno(why, errno, "cannot bind the control socket %s", name);
	if (listen(self->listen_fd, CONTROL_BACKLOG) < 0 ||
	    renameat2(self->dir_fd, hidden, self->dir_fd, name, RENAME_NOREPLACE) < 0) {
		r = err_errno(why, errno, "cannot put the control socket at %s", name);
		(void)unlinkat(self->dir_fd, hidden, 0); /* already failing */
		return r;
	}
	self->name = take(name);
	return 0;
}

static bool control_is_name(const char *run)
{
	static const char safe[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

	return run && run[0] != '\0' && strlen(run) <= CONTROL_RUN_MAX &&
	       run[strspn(run, safe)] == '\0';
}

static void control_close(struct approver *self)
{
	if (!self)
		return;
	if (self->name)
		(void)unlinkat(self->dir_fd, self->name, 0); /* gone already is as good */
	for (size_t i = 0; i < self->client_count; i++)
		control_client_free(self->clients[i]);
	loop_timer_stop(&self->backoff);
	loop_timer_stop(&self->grace);
	loop_timer_stop(&self->sweep);
	if (self->accept_event)
		event_free(self->accept_event);
	fd_close(self->listen_fd);
	fd_close(self->dir_fd);
	free(self->run);
	free(self->session);
	free(self->name);
	free(self);
}

static void control_close_local(struct approver **self)
{
	control_close(*self);
}

static struct approver *control_open(struct gateway *gw, struct loop *loop,
				     const struct gateway_config *config, struct err *why)
{
	if (!config->control_dir)
		return NULL;
	if (!control_is_name(config->run)) {
		(void)err_set(why, -EINVAL, "the run's id cannot name a socket");
		return NULL;
	}

	__attribute__((cleanup(control_close_local))) struct approver *self =
		mem_new(sizeof(*self));
	self->gw = gw;
	self->loop = loop;
	self->dir_fd = self->listen_fd = -1;
	self->run = mem_strdup(config->run);
	self->session = mem_strdup(config->session ? config->session : "");
	if (control_open_dir(self, config->control_dir, why) < 0 || control_bind(self, why) < 0)
		return NULL;
	self->accept_event = event_new(loop_base(loop), self->listen_fd, EV_READ | EV_PERSIST,
				       control_accept, self);
	if (!self->accept_event || event_add(self->accept_event, NULL) < 0) {
		(void)err_set(why, -ENOMEM, "cannot watch the control socket");
		return NULL;
	}
	return take(self);
}

/* A watcher that holds its lock file counts until it has had CONTROL_GRACE_MS to connect: it may
 * have seen this run's socket a moment after the first question. */
static bool control_is_attached(const struct approver *self)
{
	return control_has_watcher(self) || control_watchers_are_awaited(&self->watchers);
}

static void control_ask(struct approver *self, const struct approver_question *question)
{
	if (!control_has_watcher(self) && !self->grace.is_armed &&
	    control_watchers_are_awaited(&self->watchers))
		loop_timer_start(self->loop, &self->grace, CONTROL_GRACE_MS, control_grace_over,
				 self);
	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher)
			control_questions_asked(self->clients[i], question);
	}
}

static void control_changed(struct approver *self, const struct approver_question *question)
{
	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher)
			control_questions_changed(self->clients[i], question);
	}
}

static void control_retract(struct approver *self, const struct approver_end *end)
{
	json_t *event =
		json_pack("{s:s, s:{s:s}, s:o}", "event", "retracted", "question", "id", end->id,
			  "how", wire_text(end->how ? end->how : "", ERR_MAX_BYTES));

	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher)
			control_client_send(self->clients[i], event);
	}
	json_decref(event);
}

const struct approver_ops control_approver = {
	.name = "control",
	.open = control_open,
	.is_attached = control_is_attached,
	.ask = control_ask,
	.changed = control_changed,
	.retract = control_retract,
	.close = control_close,
};
