/* gateway_note: further records about a command, in addition to its decisions. */
#pragma once

#include <stdint.h>

#define GATEWAY_NOTE_MAX 512 /* of a text for the worker, with its NUL */

struct gateway;
struct gateway_client;

enum gateway_note {
	GATEWAY_WITHHELD,     /* @words: names of environment variables that it does not get */
	GATEWAY_MADE,         /* @path, a file it has made, runs code later: @words */
	GATEWAY_PROBED,       /* @words: how its sandbox was probed */
	GATEWAY_REFUSED,      /* @words: what its sandbox refused: a file, a call */
	GATEWAY_CUT_OFF,      /* @words: the same, of the network; the command can read it */
	GATEWAY_PUBLISHED,    /* @words: ports of the host on which its servers can be reached */
	GATEWAY_WORKER_ENDED, /* @words: how the proxy worker ended, and what follows */
	GATEWAY_NOTES
};
/* @exec: 0: every exec. Text may be NULL. */
void gateway_exec_note(struct gateway *gw, uint64_t exec, enum gateway_note what, const char *path,
		       const char *words);

/* For the worker: what the sandbox of @exec refused, so that the command can read it at
 * http://sallyport.internal/denials. @text is borrowed. Over a link only. */
typedef void (*gateway_note_fn)(uint64_t exec, const char *text, void *arg);
void gateway_client_on_note(struct gateway_client *client, gateway_note_fn on_note, void *arg);
