/* exec_platform: the system files that programs need in order to start, for a sandbox that may read
 * named roots only: compilers, shells and interpreters with their libraries, certificates, time
 * zones and the names of users. It has nothing from a home directory or /var, and only these files
 * from /etc. */
#pragma once

/* NULL-terminated, static. Some of them do not exist on every system. */
const char *const *exec_platform(void);
