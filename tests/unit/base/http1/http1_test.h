/* http1_test: the cases of one file each, and what they share: bytes that may hold NULs, and a head
 * as one line of text. */
#pragma once

#include <check.h>
#include <stddef.h>

#include "base/http1/http1.h"

TCase *chunked_cases(void);
TCase *head_cases(void);
TCase *refused_cases(void);
TCase *response_cases(void);
TCase *target_cases(void);

struct bytes {
	const char *at;
	size_t len;
};
/* Of a literal, NULs included. */
#define BYTES(literal)                                                                             \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

#define HEAD_TEXT_MAX 4096

/* Parses @input whole, then byte by byte, then in every split in two, each time from a buffer of
 * exactly the right size and with *@scanned carried along, and fails the test unless each gives the
 * same. @method: NULL for a request. Returns what the parser returned; @text is the head in words
 * or the cause. */
int head_parse_every_way(struct bytes input, const char *method, char text[HEAD_TEXT_MAX]);
