/* dates: points in time in policies: UTC only, so that a file means the same on every machine. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATES_TEXT_MAX 32

/* "2026-12-31" (its first moment), "2026-12-31T20:13Z", "2026-12-31T20:13:05Z", from 1970 to 9999.
 * False: neither. */
bool dates_parse(const char *text, size_t len, int64_t *ret);
