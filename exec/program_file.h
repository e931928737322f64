/* program_file: files that are executed, by their names inside. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "exec/inside.h"

struct plan;

/* As inside_open(), and /proc/self/exe, /proc/self/fd/N, /dev/fd/N and the like are @task's of
 * @process. */
int program_file_open(const struct inside *inside, pid_t task, pid_t process, const char *path,
		      bool follows);
/* The #! line of the file @fd (O_PATH), as the kernel reads it: 1 with owned *@ret_interpreter and
 * *@ret_argument (NULL: none); 0: no script, or one that we may not read; -ENOEXEC: a wrong one. */
int program_file_script(int fd, char **ret_interpreter, char **ret_argument);
/* Will @named (see struct program) still be the script @path when its interpreter opens it? Not
 * when the command can turn the way there. Where the command may write the script itself, that adds
 * nothing: true. */
bool program_file_is_steady(const struct plan *plan, const struct inside *inside, const char *named,
			    const char *path);
/* The line alone, for program_file_script(): @head as read from the file. */
int program_file_parse(const char *head, size_t len, char **ret_interpreter, char **ret_argument);
