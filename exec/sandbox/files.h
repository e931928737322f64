/* files: the files that the gate writes into the command's fresh directories, and the variables
 * that make programs read them. */
#pragma once

#include <stddef.h>

struct plan;

/* Fills @plan's files, and adds the variables that name them to its env. Call it when its paths and
 * env are complete. */
void files_plan(struct plan *plan);

/* The "NAME=VALUE" that names @path, without a value from elsewhere, returned owned; NULL: not one
 * of our files. */
char *files_variable(const char *path);
