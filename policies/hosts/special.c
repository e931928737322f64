#include "policies/hosts/special_impl.h"

#include <string.h>

#include "base/mem.h"

/* One line per block, narrower before wider: the first match decides. Sources: the IANA IPv4 and
 * IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190), multicast by RFC 5771 and RFC 4291
 * §2.7, and the documents named. Where the registry says "globally reachable: N/A", or the nearest
 * device answers (anycast of the port control protocol and of relays), the class is the careful
 * one: private. */
#define V4(bits, class, ...)                                                                       \
	{                                                                                          \
		{ { AF_INET, { __VA_ARGS__ } }, bits }, SPECIAL_##class                            \
	}
#define V6(bits, class, ...)                                                                       \
	{                                                                                          \
		{ { AF_INET6, { __VA_ARGS__ } }, bits }, SPECIAL_##class                           \
	}
static const struct special_row {
	struct addr_block block;
	enum special_class class;
} special_rows[] = {
	/* cloud metadata: fixed addresses that give credentials to any process on the machine */
	V4(24, METADATA, 169, 254, 169), /* .254 everywhere; .250, .253 of some clouds */
	V4(24, METADATA, 169, 254, 170), /* container and pod credentials: .2, .23 */
	V4(32, METADATA, 169, 254, 0, 23), V4(32, METADATA, 169, 254, 42, 42),
	V4(32, METADATA, 100, 100, 100, 200), V4(32, METADATA, 168, 63, 129, 16),
	V4(32, METADATA, 192, 0, 0, 192),
	V6(32, METADATA, 0xfd, 0x00, 0x0e, 0xc2), /* ::254, ::23 */
	V6(128, METADATA, 0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54),
	V6(128, METADATA, 0xfd, 0, 0, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42),
	V6(128, METADATA, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe),

	/* IPv4 */
	V4(32, NEVER, 0, 0, 0, 0),         /* RFC 1122 §3.2.1.3: connects to the machine itself */
	V4(8, PRIVATE, 0),                 /* this network: RFC 791 §3.2 */
	V4(8, PRIVATE, 10),                /* RFC 1918 */
	V4(10, PRIVATE, 100, 64),          /* shared address space: RFC 6598 */
	V4(8, PRIVATE, 127),               /* loopback, all of it: RFC 1122 §3.2.1.3 */
	V4(16, PRIVATE, 169, 254),         /* link local: RFC 3927 */
	V4(12, PRIVATE, 172, 16),          /* RFC 1918 */
	V4(24, PRIVATE, 192, 0, 0),        /* protocol assignments: RFC 6890 §2.1 */
	V4(24, PRIVATE, 192, 0, 2),        /* documentation: RFC 5737 */
	V4(24, GLOBAL, 192, 31, 196),      /* AS112: RFC 7535 */
	V4(24, GLOBAL, 192, 52, 193),      /* AMT: RFC 7450 */
	V4(24, PRIVATE, 192, 88, 99),      /* 6to4 relays, deprecated: RFC 7526 */
	V4(16, PRIVATE, 192, 168),         /* RFC 1918 */
	V4(24, GLOBAL, 192, 175, 48),      /* AS112: RFC 7534 */
	V4(15, PRIVATE, 198, 18),          /* benchmarking: RFC 2544 */
	V4(24, PRIVATE, 198, 51, 100),     /* documentation: RFC 5737 */
	V4(24, PRIVATE, 203, 0, 113),      /* documentation: RFC 5737 */
	V4(4, NEVER, 224),                 /* multicast: RFC 5771 */
	V4(32, NEVER, 255, 255, 255, 255), /* limited broadcast: RFC 919 §7 */
	V4(4, PRIVATE, 240),               /* reserved: RFC 1112 §4 */
	V4(0, GLOBAL, 0),

	/* IPv6 */
	V6(128, NEVER, 0),                   /* unspecified: RFC 4291 §2.5.2 */
	V6(96, PRIVATE, 0),                  /* ::1 loopback; IPv4-compatible: RFC 4291 §2.5.5.1 */
	V6(96, GLOBAL, 0, 0x64, 0xff, 0x9b), /* NAT64, judged by what is embedded: RFC 6052 */
	V6(48, PRIVATE, 0, 0x64, 0xff, 0x9b, 0, 1), /* NAT64, local use: RFC 8215 */
	V6(64, PRIVATE, 1),                         /* discard only: RFC 6666 */
	V6(64, PRIVATE, 1, 0, 0, 0, 0, 0, 0, 1),    /* dummy prefix: RFC 9780 */
	V6(32, PRIVATE, 0x20, 0x01),                /* Teredo: RFC 4380 */
	V6(48, PRIVATE, 0x20, 0x01, 0, 2),          /* benchmarking: RFC 5180 */
	V6(32, GLOBAL, 0x20, 0x01, 0, 3),           /* AMT: RFC 7450 */
	V6(48, GLOBAL, 0x20, 0x01, 0, 4, 1, 0x12),  /* AS112: RFC 7535 */
	V6(23, PRIVATE, 0x20,
	   0x01), /* protocol assignments, ORCHID, ORCHIDv2: RFC 2928, 4843, 7343 */
	V6(32, PRIVATE, 0x20, 0x01, 0x0d, 0xb8),   /* documentation: RFC 3849 */
	V6(16, PRIVATE, 0x20, 0x02),               /* 6to4: RFC 3056 */
	V6(48, GLOBAL, 0x26, 0x20, 0, 0x4f, 0x80), /* AS112: RFC 7534 */
	V6(20, PRIVATE, 0x3f, 0xff),               /* documentation: RFC 9637 */
	V6(3, GLOBAL, 0x20),                       /* the whole global unicast space */
	V6(16, PRIVATE, 0x5f),                     /* segment routing: RFC 9602 */
	V6(7, PRIVATE, 0xfc),                      /* unique local: RFC 4193 */
	V6(10, PRIVATE, 0xfe, 0x80),               /* link local: RFC 4291 §2.5.6 */
	V6(10, PRIVATE, 0xfe, 0xc0),               /* site local, deprecated: RFC 3879 */
	V6(8, NEVER, 0xff),                        /* multicast: RFC 4291 §2.7 */
	V6(0, PRIVATE, 0),                         /* not assigned */
};

/* Prefixes that carry IPv4 addresses: byte offsets of the four octets, and the byte they are XORed
 * with (Teredo hides the client). */
static const struct special_carrier {
	struct addr_block block;
	uint8_t octets[4];
	uint8_t xor ;
	bool is_guess; /* one of several layouts; only the network's owner knows it */
} special_carriers[] = {
	{ { { AF_INET6, { 0 } }, 96 }, { 12, 13, 14, 15 }, 0, false },
	{ { { AF_INET6, { 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff } }, 96 },
	  { 12, 13, 14, 15 },
	  0,
	  false },
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b } }, 96 }, { 12, 13, 14, 15 }, 0, false },
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 12, 13, 14, 15 }, 0, true },
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 },
	  { 6, 7, 9, 10 },
	  0,
	  true }, /* RFC 6052 §2.2 */
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 7, 9, 10, 11 }, 0, true },
	{ { { AF_INET6, { 0, 0x64, 0xff, 0x9b, 0, 1 } }, 48 }, { 9, 10, 11, 12 }, 0, true },
	{ { { AF_INET6, { 0x20, 0x02 } }, 16 }, { 2, 3, 4, 5 }, 0, false },
	{ { { AF_INET6, { 0x20, 0x01 } }, 32 },
	  { 4, 5, 6, 7 },
	  0,
	  false }, /* server: RFC 4380 §4 */
	{ { { AF_INET6, { 0x20, 0x01 } }, 32 }, { 12, 13, 14, 15 }, 0xff, false }, /* client */
};

static enum special_class special_row_class(const struct addr *addr)
{
	for (size_t i = 0; i < ARRAY_SIZE(special_rows); i++) {
		if (addr_block_has(&special_rows[i].block, addr))
			return special_rows[i].class;
	}
	return SPECIAL_NEVER; /* no family: an address that cannot be dialled */
}

enum special_class special_class_of_block(const struct addr_block *block)
{
	for (size_t i = 0; i < ARRAY_SIZE(special_rows); i++) {
		const struct special_row *row = &special_rows[i];

		if (row->block.bits <= block->bits && addr_block_has(&row->block, &block->base))
			return row->class;
		if (addr_block_has(block, &row->block.base))
			break; /* the block contains some, and they have another class */
	}
	return SPECIAL_GLOBAL;
}

static struct addr special_extract(const struct addr *addr, const uint8_t octets[4], uint8_t xor)
{
	struct addr inner = { .family = AF_INET };

	for (size_t i = 0; i < 4; i++)
		inner.bytes[i] = addr->bytes[octets[i]] ^ xor;
	return inner;
}

/* RFC 5214 §6.1: any prefix, then 0000:5efe or 0200:5efe, then the address. */
static bool special_is_isatap(const struct addr *addr)
{
	return (addr->bytes[8] & ~0x02U) == 0 && addr->bytes[9] == 0 && addr->bytes[10] == 0x5e &&
	       addr->bytes[11] == 0xfe;
}

/* As special_embedded(); also returns whether the result is a guess. */
static size_t special_find(const struct addr *addr, struct addr ret[SPECIAL_EMBEDDED_MAX],
			   bool *ret_is_guess)
{
	static const uint8_t last[4] = { 12, 13, 14, 15 };
	size_t count = 0;

	*ret_is_guess = false;
	if (addr->family != AF_INET6)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(special_carriers); i++) {
		const struct special_carrier *carrier = &special_carriers[i];

		if (!addr_block_has(&carrier->block, addr))
			continue;
		ret[count++] = special_extract(addr, carrier->octets, carrier->xor);
		*ret_is_guess |= carrier->is_guess;
	}
	if (special_is_isatap(addr))
		ret[count++] = special_extract(addr, last, 0);
	return count;
}

size_t special_embedded(const struct addr *addr, struct addr ret[SPECIAL_EMBEDDED_MAX])
{
	bool is_guess;

	return special_find(addr, ret, &is_guess);
}

enum special_class special_class(const struct addr *addr)
{
	struct addr plain = *addr;
	struct addr embedded[SPECIAL_EMBEDDED_MAX];
	bool is_guess;

	addr_unmap(&plain);
	enum special_class class = special_row_class(&plain);

	/* ::1 is not the IPv4-compatible form of 0.0.0.1, nor :: that of 0.0.0.0; they have rows of
	 * their own. */
	size_t count = special_find(&plain, embedded, &is_guess);

	for (size_t i = 0; i < count; i++) {
		enum special_class inner = special_row_class(&embedded[i]);

		if (inner == SPECIAL_NEVER && is_guess)
			inner = SPECIAL_PRIVATE; /* a wrong guess must not make a rule useless */
		if (inner > class)
			class = inner;
	}
	return class;
}

const struct addr_block *special_block(size_t number)
{
	return number < ARRAY_SIZE(special_rows) ? &special_rows[number].block : NULL;
}

/* ISATAP comes behind the table: its identifier has two forms. */
#define SPECIAL_ISATAP ARRAY_SIZE(special_carriers)

const struct addr_block *special_carrier(size_t number)
{
	static const struct addr_block all = { { AF_INET6, { 0 } }, 0 };

	if (number < SPECIAL_ISATAP)
		return &special_carriers[number].block;
	return number < SPECIAL_ISATAP + 2 ? &all : NULL;
}

bool special_embed(size_t carrier, const struct addr *v4, struct addr *addr)
{
	static const uint8_t last[4] = { 12, 13, 14, 15 };
	bool is_isatap = carrier >= SPECIAL_ISATAP;
	const uint8_t *octets = is_isatap ? last : special_carriers[carrier].octets;
	unsigned int hidden = is_isatap ? 0 : special_carriers[carrier].xor ;

	if (is_isatap) {
		addr->bytes[8] = carrier == SPECIAL_ISATAP ? 0 : 0x02;
		addr->bytes[9] = 0;
		addr->bytes[10] = 0x5e;
		addr->bytes[11] = 0xfe;
	}
	for (size_t i = 0; i < 4; i++)
		addr->bytes[octets[i]] = (uint8_t)(v4->bytes[i] ^ hidden);
	return octets[0] == 12;
}
