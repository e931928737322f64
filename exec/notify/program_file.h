/* program_file: opens files that are executed, by their names inside. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "exec/notify/inside.h"

struct plan;

/* As inside_open(), but /proc/self/exe, /proc/self/fd/N, /dev/fd/N and similar refer to @task of
 * @process. */
int program_file_open(const struct inside *inside, pid_t task, pid_t process, const char *path,
		      bool follows);
/* The #! line of the file @fd (O_PATH), as the kernel reads it: 1 with owned *@ret_interpreter and
 * *@ret_argument (NULL: none); 0: not a script, or one that we may not read; -ENOEXEC:
 * malformed. */
int program_file_script(int fd, char **ret_interpreter, char **ret_argument);
/* Will @named (see struct program) still be the script @path when its interpreter opens it? False
 * if the command can change the path to it. If the command may write the script itself, the check
 * adds nothing: true. */
bool program_file_is_steady(const struct plan *plan, const struct inside *inside, const char *named,
			    const char *path);
/* Parses the line, for program_file_script(): @head is the start of the file. */
int program_file_parse(const char *head, size_t len, char **ret_interpreter, char **ret_argument);
