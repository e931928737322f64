/* world: the cases of cli/agent/command_world.c. */
#pragma once

#include <check.h>

TCase *world_cases(void);
