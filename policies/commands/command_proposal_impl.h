/* command_proposal: what kind of program a name stands for. */
#pragma once

#include <stdbool.h>

bool command_proposal_is_downloader(const char *program);
/* Runs a program that it reads from standard input. */
bool command_proposal_is_language(const char *program);
