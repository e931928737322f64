/* kin: every process that descends from init, where no pid namespace ends them with it. */
#pragma once

struct init;

/* From now on a process whose parent is gone becomes init's child. 0 or -errno: they could not all
 * be found. */
int kin_adopt(struct init *init);
/* Ends them and waits for that. What got other rights (sudo) cannot be killed by us, and is left
 * alone after a while. */
void kin_end(void);
