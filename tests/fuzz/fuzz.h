/* fuzz: the interface of the targets and their drivers (libFuzzer, replay.c). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0; a broken promise ends the process. Borrows @bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* An invariant of the code under test: unlike assert() it is there in every build. */
#define fuzz_must(condition)                                                                       \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition);    \
			abort();                                                                   \
		}                                                                                  \
	} while (0)
