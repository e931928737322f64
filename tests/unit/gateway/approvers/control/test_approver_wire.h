/* test_approver_wire: a control socket, and a client of it in the same process. */
#pragma once

#include "tests/unit/gateway/approvers/test_approver.h"

/* The values that a test reads. */
struct wire {
	struct gateway gw;
	int client;         /* connected and greeted */
	char reply[524288]; /* the last line */
};
extern struct wire wire;

/* Fixture: the approver and the client. The directory is empty at the end. */
void wire_setup(void);
void wire_teardown(void);

/* Another client, or any process's. */
int wire_connect(void);
/* The next line that is there, without its end; "" for none yet, "closed" once the server hung up.
 */
const char *wire_line(int fd);
void wire_say(int fd, const char *line);
const char *wire_ask(int fd, const char *line);
