/* devices: a /dev of its own: the harmless nodes, its own pseudo terminals, shared memory. */
#pragma once

struct init;

#define DEVICES_COUNT 6

/* Copies of the host's nodes, taken while they can still be opened. */
struct devices {
	int trees[DEVICES_COUNT];
};

int devices_copy(struct init *init, struct devices *ret);
int devices_make(struct init *init, const struct devices *devices);
