#include "policies/hosts/host_impl.h"

#include <errno.h>
#include <idn2.h>
#include <libpsl.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/policies_tools.h"
#include "policies/hosts/special_impl.h"

#define HOST_INPUT_MAX                                                                             \
	1024 /* longer than any name: the conversion can shrink text, but input needs a limit */
#define HOST_LABEL_MAX 63 /* RFC 1035 §2.3.4 */

static const char host_advice[] = "letters, digits, hyphens and dots, as in www.example.org";

/* Names below these never exist in the public DNS (RFC 2606, RFC 6761, RFC 6762, RFC 9476, and
 * ICANN for internal), so a wildcard on them only matches private machines. */
static const char *const host_own_domains[] = {
	"test", "localhost", "local", "internal", "example", "invalid", "alt", "onion", "home.arpa",
};

/* Domains that are not public suffixes, but have some below them: amazonaws.com has
 * s3.amazonaws.com. */
static const char *const host_suffix_parents[] = {
#include "policies/suffix_parents.def"
};

/* Domains where anybody can have a name, although they are not on the public suffix list. */
static const char *const host_more_suffixes[] = { "cloudapp.azure.com" };

/* With their lengths, because every requested name is compared with all of them. */
static const struct host_top {
	const char *name;
	size_t len;
} host_metadata_names[] = {
#define TOP(name)                                                                                  \
	{                                                                                          \
		name, sizeof(name) - 1                                                             \
	}
	TOP("metadata"),
	TOP("metadata.google.internal"),
	TOP("metadata.goog"),
	TOP("metadata.azure.internal"),
	TOP("metadata.tencentyun.com"),
	TOP("metadata.packet.net"),
	TOP("metadata.platformequinix.com"),
	TOP("instance-data"),
	TOP("instance-data.ec2.internal"),
	TOP("rancher-metadata"),
	TOP("rancher-metadata.rancher.internal"),
#undef TOP
};

static size_t host_utf8_width(const unsigned char *at, size_t left)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t width = at[0] < 0x80   ? 1
		       : at[0] < 0xc2 ? 0
		       : at[0] < 0xe0 ? 2
		       : at[0] < 0xf0 ? 3
				      : 4;
	uint32_t value;

	if (width < 2)
		return width;
	if (at[0] > 0xf4 || width > left)
		return 0;
	value = at[0] & (0x7fU >> width);
	for (size_t i = 1; i < width; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	if (value < smallest[width] || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
		return 0;
	return width;
}

size_t host_utf8_check(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t width = host_utf8_width((const unsigned char *)text + at, len - at);

		if (width == 0)
			return at;
		at += width;
	}
	return len;
}

static bool host_may_have(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

/* Explains the meaning that an invalid byte may have elsewhere, because attackers hide hosts that
 * way. */
static int host_bad_byte(unsigned char c, size_t at, struct flaw *flaw)
{
	if (c == '\0')
		return flaw_set(flaw, at, host_advice, "the host contains a NUL byte");
	if (c < 0x20 || c == 0x7f)
		return flaw_set(flaw, at, host_advice, "the host contains a control byte (0x%02x)",
				c);
	if (c == ' ')
		return flaw_set(flaw, at, host_advice, "the host contains a space");
	if (c == '*')
		return flaw_set(flaw, at, "a whole host, or a pattern such as *.example.org",
				"a wildcard is not allowed here");
	if (c == '@')
		return flaw_set(flaw, at, "only the host, without a user",
				"a user name before the host is not allowed");
	if (c == '%')
		return flaw_set(flaw, at, host_advice,
				"the host contains '%%'; escapes and zone ids are not supported");
	if (c >= 0x80)
		return flaw_set(flaw, at, host_advice, "the host contains the byte 0x%02x", c);
	return flaw_set(flaw, at, host_advice, "the host contains '%c'", c);
}

static int host_check_bytes(const char *text, size_t len, bool is_unicode, struct flaw *flaw)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!host_may_have(c) && !(is_unicode && c >= 0x80))
			return host_bad_byte(c, i, flaw);
	}
	return 0;
}

/* @text contains a colon or a bracket. */
static int host_take_v6(const char *text, size_t len, struct host *ret, struct flaw *flaw)
{
	bool has_bracket = text[0] == '[';
	const char *zone = memchr(text, '%', len);
	size_t skip = has_bracket ? 1 : 0;

	if (has_bracket && (len < 2 || text[len - 1] != ']'))
		return flaw_set(flaw, 0, "[2001:db8::1]",
				"the opening bracket has no closing bracket");
	if (zone)
		return flaw_set(flaw, (size_t)(zone - text), "the address without %zone",
				"the address has a zone id");
	if (addr_parse(text + skip, len - 2 * skip, &ret->addr) < 0 || ret->addr.family != AF_INET6)
		return flaw_set(flaw, 0, "[2001:db8::1]",
				"the brackets do not contain an IPv6 address");
	return 0;
}

static void host_lower(char *text)
{
	for (; *text; text++) {
		if (*text >= 'A' && *text <= 'Z')
			*text = (char)(*text + 32);
	}
}

/* Converts U-labels to A-labels (RFC 5891, UTS 46 non-transitional). The result is checked like the
 * input: the mapping turns full-width characters into dots, digits and even slashes. */
static int host_convert(const char *text, size_t len, char **ret, struct flaw *flaw)
{
	auto_free char *copy = mem_strndup(text, len);
	uint8_t *ascii = NULL;
	int r = idn2_lookup_u8((const uint8_t *)copy, &ascii,
			       IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL);

	if (r != IDN2_OK)
		return flaw_set(flaw, 0, "the name in its ASCII form (xn--...)",
				"the internationalised host name is not valid: %s",
				idn2_strerror(r));
	*ret = mem_strdup((const char *)ascii);
	idn2_free(ascii);
	host_lower(*ret);
	return 0;
}

static int host_check_labels(const char *text, size_t len, struct flaw *flaw)
{
	size_t start = 0;

	if (text[0] == '-')
		return flaw_set(flaw, 0, host_advice, "the host begins with a hyphen");
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '.')
			continue;
		if (i == start)
			return flaw_set(flaw, i, "one dot between labels",
					"the host has an empty label");
		if (i - start > HOST_LABEL_MAX)
			return flaw_set(flaw, start, "labels of at most 63 bytes",
					"the host has a label of %zu bytes", i - start);
		start = i + 1;
	}
	return 0;
}

/* "1", "010", "0x7f": a resolver may read a name with such an end as a number. */
static bool host_ends_in_number(const char *text, size_t len)
{
	const char *dot = memrchr(text, '.', len);
	const char *last = dot ? dot + 1 : text;
	size_t left = len - (size_t)(last - text);

	if (left >= 2 && last[0] == '0' && last[1] == 'x')
		return strspn(last + 2, "0123456789abcdef") == left - 2;
	return strspn(last, "0123456789") == left;
}

/* @name: ASCII, lower case, valid bytes only. */
static int host_take_name(const char *name, struct host *ret, struct flaw *flaw)
{
	size_t len = strlen(name);

	if (len > 0 && name[len - 1] == '.')
		len--;
	if (len == 0)
		return flaw_set(flaw, 0, host_advice, "the host is empty");
	if (len > POLICY_HOST_MAX - 1)
		return flaw_set(flaw, 0, "at most 253 bytes", "the host has %zu bytes", len);
	int r = host_check_labels(name, len, flaw);

	if (r < 0)
		return r;
	if (addr_parse_loose_v4(name, len, &ret->addr) == 0)
		return 0;
	if (host_ends_in_number(name, len))
		return flaw_set(flaw, 0, "an address as four numbers from 0 to 255, or a name",
				"the host is neither a name nor an IPv4 address");
	memcpy(ret->text, name, len);
	ret->text[len] = '\0';
	return 0;
}

static int host_take_text(const char *text, size_t len, struct host *ret, struct flaw *flaw)
{
	auto_free char *name = NULL;
	bool is_unicode = false;
	int r;

	for (size_t i = 0; i < len && !is_unicode; i++)
		is_unicode = (unsigned char)text[i] >= 0x80;
	if (is_unicode && host_utf8_check(text, len) < len)
		return flaw_set(flaw, host_utf8_check(text, len), host_advice,
				"the host is not valid UTF-8");
	r = host_check_bytes(text, len, is_unicode, flaw);
	if (r < 0)
		return r;
	if (!is_unicode) {
		name = mem_strndup(text, len);
		host_lower(name);
		return host_take_name(name, ret, flaw);
	}
	r = host_convert(text, len, &name, flaw);
	if (r < 0)
		return r;
	/* Offsets into the converted name do not apply to the text. */
	r = host_check_bytes(name, strlen(name), false, flaw);
	if (r == 0)
		r = host_take_name(name, ret, flaw);
	if (r < 0 && flaw)
		flaw->at = 0;
	return r;
}

int host_canonical(const char *text, size_t len, struct host *ret, struct flaw *flaw)
{
	struct host out = { 0 };
	int r;

	if (len == 0)
		return flaw_set(flaw, 0, host_advice, "the host is empty");
	if (len > HOST_INPUT_MAX)
		return flaw_set(flaw, 0, "at most 253 bytes", "the host has %zu bytes", len);
	if (memchr(text, '\0', len))
		return host_bad_byte('\0', (size_t)((const char *)memchr(text, '\0', len) - text),
				     flaw);
	if (text[0] == '[' || memchr(text, ':', len))
		r = host_take_v6(text, len, &out, flaw);
	else
		r = host_take_text(text, len, &out, flaw);
	if (r < 0)
		return r;
	if (out.addr.family != 0) {
		char canonical[ADDR_TEXT_MAX];

		addr_unmap(&out.addr);
		(void)addr_text(&out.addr, canonical);
		memcpy(out.text, canonical, sizeof(canonical));
	}
	out.len = strlen(out.text);
	*ret = out;
	return 0;
}

/* Is @name equal to @top, or a subdomain? On a label boundary, so that "notmetadata" does not match
 * "metadata". */
static bool host_is_within(const char *name, size_t len, const struct host_top *top)
{
	if (len < top->len || name[len - 1] != top->name[top->len - 1] ||
	    memcmp(name + len - top->len, top->name, top->len) != 0)
		return false;
	return len == top->len || name[len - top->len - 1] == '.';
}

bool host_is_localhost(const char *name)
{
	static const struct host_top localhost = { "localhost", sizeof("localhost") - 1 };

	return host_is_within(name, strlen(name), &localhost);
}

bool host_is_metadata(const char *name)
{
	size_t len = strlen(name);

	for (size_t i = 0; i < ARRAY_SIZE(host_metadata_names); i++) {
		if (host_is_within(name, len, &host_metadata_names[i]))
			return true;
	}
	return false;
}

static int host_compare(const void *left, const void *right)
{
	return strcmp(left, *(const char *const *)right);
}

/* Is @name above a public suffix? A wildcard on it would match everything below that suffix. */
static bool host_has_suffixes(const char *name)
{
	struct host_top top = { name, strlen(name) };

	for (size_t i = 0; i < ARRAY_SIZE(host_more_suffixes); i++) {
		if (host_is_within(host_more_suffixes[i], strlen(host_more_suffixes[i]), &top))
			return true;
	}
	return bsearch(name, host_suffix_parents, ARRAY_SIZE(host_suffix_parents),
		       sizeof(host_suffix_parents[0]), host_compare) != NULL;
}

bool host_is_public_suffix(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(host_own_domains); i++) {
		if (strcmp(name, host_own_domains[i]) == 0)
			return false;
	}
	return psl_is_public_suffix2(psl_builtin(), name, PSL_TYPE_ANY) != 0 ||
	       host_has_suffixes(name);
}

const char *policy_host_domain(const char *host)
{
	return psl_registrable_domain(psl_builtin(), host);
}
