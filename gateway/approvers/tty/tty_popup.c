#include "gateway/approvers/tty/tty_popup.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/net/local.h"
#include "base/process/child.h"
#include "gateway/approvers/control/control.h"

#define POPUP_PTY_MAJOR 136 /* major number of Unix98 pseudo terminals, since Linux 2.6 */

struct tty_popup {
	struct loop *loop;
	tty_popup_fn done;
	void *arg;
	char *client, *tmux, *pane; /* the program tmux, the server's socket, the pane */
	char *dir, *run;
	char *program;
	unsigned int terminal, number;
	int dir_fd, listen_fd, link_fd, pidfd;
	pid_t pid; /* the client of tmux, which ends with the window */
	char name[64];
	struct event *accept_event, *link_event, *ended_event;
	struct loop_timer deadline;
};

/* tmux and a shell parse these texts, so only characters without a special meaning are accepted. */
static bool popup_is_plain(const char *text)
{
	return text[0] != '\0' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789/._+-%") == strlen(text);
}

static void popup_event(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void popup_stop_waiting(struct tty_popup *popup)
{
	loop_timer_stop(&popup->deadline);
	popup_event(&popup->accept_event);
	if (popup->listen_fd >= 0)
		(void)unlinkat(popup->dir_fd, popup->name, 0); /* it may be gone already */
	fd_close(popup->listen_fd);
	popup->listen_fd = -1;
}

/* Waits for tmux's client, which ends with the window; one that is late is killed. */
static void popup_reap(struct tty_popup *popup)
{
	popup_event(&popup->ended_event);
	fd_close(popup->pidfd);
	popup->pidfd = -1;
	if (popup->pid > 0) {
		(void)kill(popup->pid, SIGKILL);
		while (waitpid(popup->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	popup->pid = 0;
}

void tty_popup_close(struct tty_popup *popup)
{
	popup_stop_waiting(popup);
	popup_event(&popup->link_event);
	fd_close(popup->link_fd);
	popup->link_fd = -1;
}

static void popup_failed(struct tty_popup *popup)
{
	tty_popup_close(popup);
	popup_reap(popup);
	popup->done(-EIO, popup->arg);
}

static void popup_late(void *arg)
{
	popup_failed(arg);
}

/* An old tmux has no popups, and one without a client cannot show one. */
static void popup_ended(evutil_socket_t fd, short what, void *arg)
{
	struct tty_popup *popup = arg;
	int status = 0;

	popup_event(&popup->ended_event);
	if (waitpid(popup->pid, &status, WNOHANG) != popup->pid)
		return;
	popup->pid = 0;
	if (popup->listen_fd >= 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		popup_failed(popup);
}

/* Receives the one message, which holds the terminal. */
static void popup_received(evutil_socket_t fd, short what, void *arg)
{
	struct tty_popup *popup = arg;
	int fds[FD_PASS_MAX];
	size_t count = 0;
	char byte;
	ssize_t n = fd_recv(popup->link_fd, &byte, 1, fds, &count);

	popup_event(&popup->link_event);
	for (size_t i = 1; i < count; i++)
		fd_close(fds[i]);
	if (n != 1 || count == 0 || !isatty(fds[0])) {
		if (count > 0)
			fd_close(fds[0]);
		return popup_failed(popup);
	}
	popup_stop_waiting(popup);
	popup->done(fds[0], popup->arg);
}

/* Only a process of our own namespaces is accepted. */
static void popup_accept(evutil_socket_t listener, short what, void *arg)
{
	struct tty_popup *popup = arg;
	struct peer peer;

	auto_close int fd = accept4((int)listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 || popup->link_fd >= 0 || peer_check(fd, &peer) < 0)
		return;
	popup->link_fd = fd_take(&fd);
	popup->link_event =
		event_new(loop_base(popup->loop), popup->link_fd, EV_READ, popup_received, popup);
	if (popup->link_event)
		event_add(popup->link_event, NULL); /* if this fails, the deadline ends it */
}

static int popup_listen(struct tty_popup *popup)
{
	(void)snprintf(popup->name, sizeof(popup->name), ".%.32s-%u.popup", popup->run,
		       ++popup->number);
	popup->listen_fd = local_listen(popup->dir_fd, popup->name, SOCK_SEQPACKET, 1, false);
	if (popup->listen_fd < 0)
		return popup->listen_fd;
	popup->accept_event = event_new(loop_base(popup->loop), popup->listen_fd,
					EV_READ | EV_PERSIST, popup_accept, popup);
	return popup->accept_event && event_add(popup->accept_event, NULL) == 0 ? 0 : -ENOMEM;
}

/* What tmux needs to know of UTF-8. Another variable, such as LD_LIBRARY_PATH, could lead it to
 * files of the command. A NULL-terminated list, returned owned. */
static char **popup_environment(void)
{
	static const char *const passed[] = { "LANG", "LC_ALL", "LC_CTYPE" };
	char **list = mem_new_array(1, sizeof(*list));

	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);

		if (value)
			mem_append_list(&list, mem_printf("%s=%s", passed[i], value));
	}
	return list;
}

/* Starts it only if the pane is the terminal that we use: the environment may be out of date. */
static int popup_spawn(struct tty_popup *popup)
{
	auto_free_list char **environment = popup_environment();
	auto_free char *is_ours = mem_printf("#{==:#{pane_tty},/dev/pts/%u}", popup->terminal);
	auto_free char *show = mem_printf("display-popup -t %s -E -w 90%% -h 90%% "
					  "'exec %s approve popup %s/%s'",
					  popup->pane, popup->program, popup->dir, popup->name);
	char *argv[] = { (char *)"tmux", (char *)"-S", popup->tmux, (char *)"if-shell",
			 (char *)"-F",   (char *)"-t", popup->pane, is_ours,
			 show,           NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int r;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&files) != 0)
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	for (int fd = 0; fd < 3; fd++)
		(void)posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	(void)posix_spawn_file_actions_addchdir_np(&files, "/");
	/* In a process group of its own, because Ctrl-C is for the command. */
	(void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
							    POSIX_SPAWN_SETSIGDEF);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	r = posix_spawn(&popup->pid, popup->client, &files, &attributes, argv, environment);
	if (r != 0)
		popup->pid = 0;
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&files);
	return -r;
}

bool tty_popup_open(struct tty_popup *popup)
{
	tty_popup_close(popup);
	popup_reap(popup);
	if (popup_listen(popup) < 0 || popup_spawn(popup) < 0) {
		tty_popup_close(popup);
		return false;
	}
	popup->pidfd = (int)syscall(SYS_pidfd_open, popup->pid, 0);
	if (popup->pidfd >= 0)
		popup->ended_event = event_new(loop_base(popup->loop), popup->pidfd, EV_READ,
					       popup_ended, popup);
	if (popup->ended_event)
		event_add(popup->ended_event, NULL); /* if this fails, the deadline ends it */
	loop_timer_start(popup->loop, &popup->deadline, TTY_POPUP_MS, popup_late, popup);
	return true;
}

/* Identifies a pseudo terminal by its device, because the path that we opened may be /dev/tty. */
static int popup_terminal(int fd, unsigned int *ret_number)
{
	unsigned int device = 0;

	if (ioctl(fd, TIOCGDEV, &device) < 0 || major(device) != POPUP_PTY_MAJOR)
		return -ENOTTY;
	*ret_number = minor(device);
	return 0;
}

static bool popup_find(struct tty_popup *popup, const struct gateway_config *config)
{
	const char *tmux = getenv("TMUX"), *pane = getenv("TMUX_PANE");

	popup->program = child_own_path();
	if (!tmux || !pane || !config->tmux || !config->control_dir || !popup->program)
		return false;
	popup->client = mem_strdup(config->tmux);
	popup->tmux = mem_strndup(tmux, strcspn(tmux, ","));
	popup->pane = mem_strdup(pane);
	popup->dir = mem_strdup(config->control_dir);
	popup->run = mem_strdup(config->run);
	popup->dir_fd = open(popup->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return popup->dir_fd >= 0 && popup_is_plain(popup->tmux) && popup_is_plain(popup->pane) &&
	       popup_is_plain(popup->dir) && popup_is_plain(popup->run) &&
	       popup_is_plain(popup->program);
}

struct tty_popup *tty_popup_new(struct loop *loop, const struct gateway_config *config, int fd,
				tty_popup_fn done, void *arg)
{
	struct tty_popup *popup = mem_new(sizeof(*popup));

	popup->loop = loop;
	popup->done = done;
	popup->arg = arg;
	popup->dir_fd = popup->listen_fd = popup->link_fd = popup->pidfd = -1;
	if (popup_terminal(fd, &popup->terminal) < 0 || !popup_find(popup, config)) {
		tty_popup_free(popup);
		return NULL;
	}
	return popup;
}

void tty_popup_free(struct tty_popup *popup)
{
	if (!popup)
		return;
	tty_popup_close(popup);
	popup_reap(popup);
	fd_close(popup->dir_fd);
	free(popup->program);
	free(popup->client);
	free(popup->tmux);
	free(popup->pane);
	free(popup->dir);
	free(popup->run);
	free(popup);
}
