/* exec_platform: what programs need of the system to start at all, where reading is restricted to
 * named roots: compilers, shells and interpreters with their libraries, certificates, time zones
 * and the names of users. Nothing of anybody's home, of /var, of /etc but these files. */
#pragma once

/* NULL-terminated, static. Not every system has all of them. */
const char *const *exec_platform(void);
