/* world: the cases of cli/command_world.c. */
#pragma once

#include <check.h>

TCase *world_cases(void);
