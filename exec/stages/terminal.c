#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/path.h"
#include "exec/stages/stages.h"

#include <asm/ioctls.h>

/* init leads the session, and the command gets a process group in it. If the command itself were
 * the leader, its group would be orphaned, and the kernel would ignore the stop that Ctrl-Z sends.
 * Without a pty the session has no terminal. */

static int open_pair(struct init *init)
{
	int unlock = 0;

	/* /dev/pts/ptmx of a private view is ours; we have no rights in the host's
	 * /dev/pts. */
	init->detail = init->plan.head->flags & WIRE_UNCONFINED ? "/dev/ptmx" : "/dev/pts/ptmx";
	long r = sys(openat, AT_FDCWD, init->detail, O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (r < 0)
		return (int)r;
	init->pty_far = (int)r;
	r = sys(ioctl, init->pty_far, TIOCSPTLCK, &unlock);
	if (r == 0)
		r = sys(ioctl, init->pty_far, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (r < 0)
		return (int)r;
	init->pty = (int)r;
	return 0;
}

static int send_far(struct init *init)
{
	const struct wire_message message = { .type = WIRE_PTY, .into = init->into };
	int r = init_send(&message, &init->pty_far, 1);

	(void)sys(close, init->pty_far);
	init->pty_far = -1;
	return r;
}

int terminal_add(struct init *init, uint16_t rows, uint16_t columns)
{
	const uint16_t size[4] = { rows, columns }; /* struct winsize */

	init->step = WIRE_STEP_PTY;
	int r = open_pair(init);

	if (r == 0)
		r = (int)sys(ioctl, init->pty, TIOCSWINSZ, size);
	if (r == 0)
		return send_far(init);
	if (init->pty_far >= 0)
		(void)sys(close, init->pty_far);
	return r;
}

/* The first pty of a new instance always has number 0. */
static int make_console(struct init *init)
{
	init->detail = "/dev/console";
	long at =
		sys(openat, AT_FDCWD, init->detail, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0600);

	if (at < 0)
		return (int)at;
	int source = path_open("/dev/pts/0");
	int tree = source < 0 ? source : path_clone(source);
	int r = tree < 0 ? tree : path_attach(tree, (int)at);

	if (tree >= 0)
		(void)sys(close, tree);
	if (source >= 0)
		(void)sys(close, source);
	(void)sys(close, at);
	return r;
}

int terminal_open(struct init *init)
{
	int r = (int)sys(setsid);

	init->step = WIRE_STEP_PTY;
	if (r < 0 || (init->plan.head->flags & WIRE_TERMINALS) == 0)
		return r < 0 ? r : 0;
	r = open_pair(init);
	if (r == 0)
		r = (int)sys(ioctl, init->pty, TIOCSCTTY, 0);
	if (r == 0 && (init->plan.head->flags & WIRE_UNCONFINED) == 0)
		r = make_console(init);
	return r == 0 ? send_far(init) : r;
}
