/* devices: a private /dev: the harmless nodes, private pseudo terminals, shared memory. */
#pragma once

struct init;

#define DEVICES_COUNT 6

/* Clones of the host's nodes, made while they can still be opened. */
struct devices {
	int trees[DEVICES_COUNT];
};

int devices_copy(struct init *init, struct devices *ret);
int devices_make(struct init *init, const struct devices *devices);
