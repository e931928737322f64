/* manager: tells the service manager what the program does: sd_notify(3). */
#pragma once

#include <stdint.h>

/* @state: "READY=1". Does nothing without a manager that listens. */
void manager_tell(const char *state);
/* "RELOADING=1", with the time that systemd wants to know. */
void manager_tell_reloading(void);
