#include "gateway/approvers/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "gateway/approvers/table.h"
#include "gateway/approvers/wire.h"

#define CONTROL_BACKLOG 64
#define CONTROL_RUN_MAX 16 /* leaves room for "-NUMBER" in an id */

static bool control_has_watcher(const struct approver *self)
{
	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher && !self->clients[i]->is_closed)
			return true;
	}
	return false;
}

/* None of the awaited watchers connected: the gateway calls is_attached() again. */
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

static void control_admit(int fd, uint16_t peer_port, void *arg)
{
	struct approver *self = arg;
	struct peer peer;

	if (self->client_count == CONTROL_CLIENTS_MAX || peer_check(fd, &peer) < 0)
		return fd_close(fd);

	struct control_client *client = control_client_new(self, fd, &peer);
	self->clients[self->client_count++] = client;
	control_greet(self, client);
}

static int control_open_dir(struct approver *self, const char *path, struct err *why)
{
	struct stat st;

	self->dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (self->dir_fd < 0)
		return err_errno(why, errno, "cannot open the control directory %s", path);
	if (fstat(self->dir_fd, &st) < 0)
		return err_errno(why, errno, "cannot read the attributes of %s", path);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return err_set(why, -EPERM, "%s must belong to you and have mode 0700", path);
	self->watchers.dir_fd = self->dir_fd;
	return 0;
}

/* A socket that refuses connections belongs to a dead run, and is replaced. */
static int control_listen(struct approver *self, struct err *why)
{
	auto_free char *name = mem_printf("%s.sock", self->run);
	int fd = local_listen(self->dir_fd, name, SOCK_STREAM, CONTROL_BACKLOG, true);

	if (fd < 0)
		return err_errno(why, -fd, "cannot create the control socket at %s", name);
	self->name = take(name);
	int r = listener_open(&self->listener, self->loop, fd, control_admit, self);

	return r < 0 ? err_errno(why, -r, "cannot watch the control socket") : 0;
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
		(void)unlinkat(self->dir_fd, self->name, 0); /* it may be gone already */
	for (size_t i = 0; i < self->client_count; i++)
		control_client_free(self->clients[i]);
	loop_timer_stop(&self->grace);
	loop_timer_stop(&self->sweep);
	listener_close(&self->listener);
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
		(void)err_set(why, -EINVAL, "the run's id cannot be used as the name of a socket");
		return NULL;
	}

	__attribute__((cleanup(control_close_local))) struct approver *self =
		mem_new(sizeof(*self));
	self->gw = gw;
	self->loop = loop;
	self->dir_fd = -1;
	self->run = mem_strdup(config->run);
	self->session = mem_strdup(config->session ? config->session : "");
	if (control_open_dir(self, config->control_dir, why) < 0 || control_listen(self, why) < 0)
		return NULL;
	return take(self);
}

/* A watcher that holds its lock file counts as attached until it has had CONTROL_GRACE_MS to
 * connect: it may notice this run's socket only after the first question. */
static bool control_is_attached(const struct approver *self)
{
	return control_has_watcher(self) || control_watchers_are_awaited(&self->watchers);
}

static void control_await(struct approver *self)
{
	if (!control_has_watcher(self) && !self->grace.is_armed &&
	    control_watchers_are_awaited(&self->watchers))
		loop_timer_start(self->loop, &self->grace, CONTROL_GRACE_MS, control_grace_over,
				 self);
}

static void control_agent_asked(struct approver *self,
				const struct approver_agent_question *question)
{
	control_await(self);
	for (size_t i = 0; i < self->client_count; i++) {
		if (self->clients[i]->is_watcher)
			control_questions_agent_asked(self->clients[i], question);
	}
}

static void control_ask(struct approver *self, const struct approver_question *question)
{
	control_await(self);
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
	.agent_asked = control_agent_asked,
	.close = control_close,
};
