/* memfd: bytes in a memory file that nobody can change any more. */
#pragma once

#include <stddef.h>

struct err;

enum memfd_use { MEMFD_DATA, MEMFD_PROGRAM };

/* Returned owned: a descriptor with all seals, or -errno with words. */
int memfd_sealed(const char *name, enum memfd_use use, const void *bytes, size_t len,
		 struct err *why);
