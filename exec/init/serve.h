/* serve: the work of pid 1 while the command runs: it reaps processes, passes on signals, and sends
 * sockets. */
#pragma once

struct init;

/* Never returns: it exits when the command ends or the gate does, and the kernel kills everything
 * else in the sandbox. */
_Noreturn void serve_run(struct init *init);
