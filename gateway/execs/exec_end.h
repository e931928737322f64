/* exec_end: ends an exec and everything that ends with it: see gateway_exec_end(). */
#pragma once

#include "gateway/state.h"

/* Frees the ended execs without open requests. */
void exec_end_forget(struct gateway *gw);
/* Calls on_abort for every exec that a person aborted. From the loop. */
void exec_end_tell_aborted(struct gateway *gw);
/* Ends them all, without writing records. */
void exec_end_all(struct gateway *gw);
