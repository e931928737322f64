/* kin: all processes that descend from init, for a sandbox without a pid namespace, which would end
 * them. */
#pragma once

struct init;

/* From now on a process whose parent has ended becomes init's child. 0 or -errno: some of them
 * could not be found. */
int kin_adopt(struct init *init);
/* Kills them and waits until they have ended. A process with other rights (sudo) cannot be killed
 * by us, and is ignored after a while. */
void kin_end(void);
