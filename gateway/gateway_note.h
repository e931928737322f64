/* gateway_note: further records about a command, in addition to its decisions. */
#pragma once

#include <stdint.h>

struct gateway;

enum gateway_note {
	GATEWAY_WITHHELD,  /* @words: names of environment variables that it does not get */
	GATEWAY_MADE,      /* @path, a file it has made, runs code later: @words */
	GATEWAY_PROBED,    /* @words: how its sandbox was probed */
	GATEWAY_REFUSED,   /* @words: what its sandbox refused */
	GATEWAY_PUBLISHED, /* @words: ports of the host on which its servers can be reached */
	GATEWAY_NOTES
};
/* @exec: 0: every exec. Text may be NULL. */
void gateway_exec_note(struct gateway *gw, uint64_t exec, enum gateway_note what, const char *path,
		       const char *words);
