/* contract_stage: one approver of the table, on a gateway that has no other. */
#pragma once

#include "tests/contract/contract.h"
#include "gateway/approvers/approver_impl.h"

struct contract_stage {
	struct contract_place place;
	struct loop *loop;
	struct policy *policy;
	struct gateway *gw;
	struct gateway_client *client;
	int screen, keys; /* the terminal's two ends */
	struct gateway_terminal terminal;
	size_t fds;
	unsigned int told;
	enum policy_reason reason;
};
extern struct contract_stage stage;

/* With the line @i of the table. */
void stage_open(int i);
void stage_close(void);
/* Runs until nothing happens any more, and reads the text on the terminal. */
void stage_settle(void);
struct gateway_ticket *stage_submit(const char *destination);
/* And settles. */
struct gateway_ticket *stage_ask(const char *destination);
/* The other end of the approver: a client of the socket, a page, bytes on the terminal. -1: it has
 * no descriptor. */
int stage_other_end(void);
/* Writes to it and settles. */
void stage_say(int fd, const char *bytes, size_t len);
/* A request of a page that was entered, as far as @body. */
void stage_say_to_page(int fd, const char *method, size_t length, const char *body);
