/* made: finds files that a command has made and that run code outside of its sandbox later. */
#pragma once

#include "exec/exec_told.h"

struct err;
struct exec_plan_config;
struct paths;

/* As exec_made(); @before: the paths that were protected when the command started. */
int made_find(const struct exec_plan_config *config, const struct paths *before, exec_made_fn each,
	      void *arg, struct err *why);
