#include "proxy/inside/names.h"

#include <string.h>
#include <sys/random.h>

#include "base/hash.h"
#include "base/inside_net.h"
#include "base/mem.h"

#define SLOTS_MIN 64

static const uint8_t names_4[4] = INSIDE_NET_NAMES_4;
static const uint8_t names_6[16] = INSIDE_NET_NAMES_6;

static uint64_t hash_of(const struct names *names, const char *host)
{
	uint64_t hash = names->seed;

	for (; *host; host++)
		hash = hash_mix(hash, (uint8_t)*host);
	return hash;
}

/* The slot with @host, or the empty one where it belongs. */
static uint32_t *slot_of(const struct names *names, const char *host)
{
	size_t at = hash_of(names, host) & (names->slot_count - 1);

	while (names->slots[at] != 0 && strcmp(names->hosts[names->slots[at] - 1], host) != 0)
		at = (at + 1) & (names->slot_count - 1);
	return &names->slots[at];
}

/* At most half of the slots are used. */
static void make_room(struct names *names)
{
	if (2 * (names->count + 1) <= names->slot_count)
		return;
	/* Blocks only until the kernel has its first random bytes, long before any user program. */
	if (names->slot_count == 0)
		(void)!getrandom(&names->seed, sizeof(names->seed), 0);
	names->slot_count = names->slot_count ? 2 * names->slot_count : SLOTS_MIN;
	free(names->slots);
	names->slots = mem_new_array(names->slot_count, sizeof(*names->slots));
	for (size_t i = 0; i < names->count; i++)
		*slot_of(names, names->hosts[i]) = (uint32_t)i + 1;
}

void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->hosts[i]);
	free(names->hosts);
	free(names->slots);
	*names = (struct names){ 0 };
}

uint32_t names_add(struct names *names, const char *host)
{
	uint32_t *slot;

	make_room(names);
	slot = slot_of(names, host);
	if (*slot != 0)
		return names->first + *slot;
	if (names->first + names->count >= INSIDE_NET_NAMES)
		return 0;
	names->hosts = mem_grow(names->hosts, names->count + 1, sizeof(*names->hosts));
	names->hosts[names->count++] = mem_strdup(host);
	*slot = (uint32_t)names->count;
	return names->first + *slot;
}

/* Adds @number to the last four bytes, which are big-endian. */
static void add_to(uint8_t *last, uint32_t number)
{
	for (int i = 3; i >= 0; i--) {
		number += last[i];
		last[i] = (uint8_t)number;
		number >>= 8;
	}
}

struct addr names_address(uint32_t number, int family)
{
	struct addr addr = { .family = (uint8_t)family };

	if (family == AF_INET) {
		memcpy(addr.bytes, names_4, sizeof(names_4));
		add_to(addr.bytes, number);
	} else {
		memcpy(addr.bytes, names_6, sizeof(names_6));
		add_to(addr.bytes + 12, number);
	}
	return addr;
}

static uint32_t last_four(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

const char *names_host(const struct names *names, const struct addr *addr)
{
	uint32_t number = 0;

	if (addr->family == AF_INET)
		number = last_four(addr->bytes) - last_four(names_4);
	else if (addr->family == AF_INET6 && memcmp(addr->bytes, names_6, 12) == 0)
		number = last_four(addr->bytes + 12) - last_four(names_6 + 12);
	if (number <= names->first || number - names->first > names->count)
		return NULL;
	return names->hosts[number - names->first - 1];
}
