/* notify: the gate's side of the reports about the command's calls: it reports what was refused,
 * and has programs judged. A separate process inspects the calls (notify_process.h). If that is
 * late or dead, calls are answered here without inspection: programs are refused, and the kernel
 * decides the rest. docs/decisions/0037. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "exec/exec_process_result.h"

struct err;
struct exec_plan_config;
struct loop;
struct notify;
struct plan;

/* Borrows @plan for the call; the callbacks of @config get @arg. Returned owned; NULL with @why. */
struct notify *notify_new(struct loop *loop, struct plan *plan,
			  const struct exec_plan_config *config, void *arg, struct err *why);
/* Call it after the sandbox has been killed. */
void notify_free(struct notify *notify);

/* Takes @listener, from the filter, and @told, from the wall, which says which calls to answer.
 * Call it once. */
void notify_start(struct notify *notify, int listener, int told);
int notify_answer(struct notify *notify, uint64_t id, bool is_allowed);
/* The command has ended: reports what is still to be reported, and returns the number of refusals:
 * see exec_process_result.refused. */
uint64_t notify_end(struct notify *notify);
/* The process in which the failure of the command, with @status, began. */
struct exec_origin notify_origin(const struct notify *notify, int status);
/* What init's filter has to report for @config: flags of enum wire_flag. */
uint32_t notify_wishes(const struct exec_plan_config *config);
