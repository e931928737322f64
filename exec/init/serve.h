/* serve: what pid 1 does while the command runs: buries the dead, passes on signals, hands out
 * sockets. */
#pragma once

struct init;

/* Returns never: ends, and the kernel ends everything else in the sandbox, when the command ends or
 * the gate does. */
_Noreturn void serve_run(struct init *init);
