/* memfd: a memory file whose content can no longer be changed. */
#pragma once

#include <stddef.h>

struct err;

enum memfd_use { MEMFD_DATA, MEMFD_PROGRAM };

/* Returns an owned descriptor with all seals, or -errno with @why set. */
int memfd_sealed(const char *name, enum memfd_use use, const void *bytes, size_t len,
		 struct err *why);
