/* files: what the gate puts into the command's fresh directories, and the variables that make
 * programs look there. */
#pragma once

#include <stddef.h>

struct plan;

/* Fills @plan's files, and adds to its env what names them. After its paths and env are known. */
void files_plan(struct plan *plan);

/* "NAME=VALUE" that names @path, as it is without a value from elsewhere, returned owned; NULL: no
 * file of ours. */
char *files_variable(const char *path);
