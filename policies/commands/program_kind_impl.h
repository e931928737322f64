/* program_kind: classifies programs by name. */
#pragma once

#include <stdbool.h>

bool program_kind_is_downloader(const char *program);
/* It reads a program from standard input. */
bool program_kind_is_language(const char *program);
/* Its words or its input are a program. */
bool program_kind_is_interpreter(const char *program);
/* It runs or changes something outside this command. */
bool program_kind_is_runner(const char *program);
