#include <idn2.h>
#include <stdio.h>
#include <string.h>
#include <uninorm.h>
#include <unictype.h>

#include "base/mem.h"
#include "policies/policies_tools.h"

#define HOMOGRAPH_SCRIPTS_MAX 8 /* scripts distinguished in one label; more are always "mixed" */

/* Letters that look like others. Only those that IDNA2008 allows in a name, in lower case; letters
 * with marks are decomposed first. */
static const struct homograph_twin {
	uint32_t letter;
	char ascii[3];
} homograph_twins[] = {
	{ 0x00e6, "ae" }, { 0x00f0, "d" },  { 0x00f8, "o" }, { 0x00fe, "p" },  { 0x0111, "d" },
	{ 0x0127, "h" },  { 0x0131, "i" },  { 0x0142, "l" }, { 0x0153, "oe" }, { 0x0167, "t" },
	{ 0x0180, "b" },  { 0x0183, "b" },  { 0x0185, "b" }, { 0x0192, "f" },  { 0x0199, "k" },
	{ 0x01b4, "y" },  { 0x01bd, "s" },  { 0x0237, "j" }, { 0x0251, "a" },  { 0x0253, "b" },
	{ 0x0257, "d" },  { 0x0261, "g" },  { 0x0268, "i" }, { 0x0269, "i" },  { 0x026a, "i" },
	{ 0x026b, "l" },  { 0x026f, "w" },  { 0x0274, "n" }, { 0x0275, "o" },  { 0x027e, "r" },
	{ 0x0280, "r" },  { 0x028b, "u" },  { 0x028f, "y" }, { 0x0299, "b" },  { 0x029c, "h" },
	{ 0x029f, "l" },  { 0x03b1, "a" },  { 0x03b3, "y" }, { 0x03b5, "e" },  { 0x03b7, "n" },
	{ 0x03b9, "i" },  { 0x03ba, "k" },  { 0x03bd, "v" }, { 0x03bf, "o" },  { 0x03c1, "p" },
	{ 0x03c3, "o" },  { 0x03c4, "t" },  { 0x03c5, "u" }, { 0x03c7, "x" },  { 0x03c9, "w" },
	{ 0x03f3, "j" },  { 0x0430, "a" },  { 0x0433, "r" }, { 0x0435, "e" },  { 0x043a, "k" },
	{ 0x043c, "m" },  { 0x043d, "h" },  { 0x043e, "o" }, { 0x043f, "n" },  { 0x0440, "p" },
	{ 0x0441, "c" },  { 0x0442, "t" },  { 0x0443, "y" }, { 0x0445, "x" },  { 0x044c, "b" },
	{ 0x0455, "s" },  { 0x0456, "i" },  { 0x0458, "j" }, { 0x0461, "w" },  { 0x0475, "v" },
	{ 0x04ab, "c" },  { 0x04af, "y" },  { 0x04b1, "y" }, { 0x04bb, "h" },  { 0x04bd, "e" },
	{ 0x04cf, "l" },  { 0x04d5, "ae" }, { 0x04e9, "o" }, { 0x0501, "d" },  { 0x050d, "g" },
	{ 0x051b, "q" },  { 0x051d, "w" },  { 0x0561, "w" }, { 0x0563, "q" },  { 0x0566, "q" },
	{ 0x0570, "h" },  { 0x0575, "j" },  { 0x0578, "n" }, { 0x057c, "n" },  { 0x057d, "u" },
	{ 0x0581, "g" },  { 0x0584, "f" },  { 0x0585, "o" }, { 0x05d5, "l" },  { 0x05e1, "o" },
	{ 0x0647, "o" },  { 0x0665, "o" },  { 0x0966, "o" }, { 0x0e50, "o" },  { 0x101d, "o" },
	{ 0x10e7, "y" },  { 0x10ff, "o" },  { 0x1d04, "c" }, { 0x1d0f, "o" },  { 0x13a0, "d" },
	{ 0x13a1, "r" },  { 0x13a2, "t" },  { 0x13a5, "i" }, { 0x13aa, "a" },  { 0x13ac, "e" },
	{ 0x13b3, "w" },  { 0x13b7, "m" },  { 0x13bb, "h" }, { 0x13c0, "g" },  { 0x13c3, "z" },
	{ 0x13d4, "w" },  { 0x13d9, "v" },  { 0x13da, "s" }, { 0x13de, "l" },  { 0x13df, "c" },
	{ 0x13e2, "p" },  { 0x13e6, "k" },  { 0x13f4, "b" }, { 0x1d20, "v" },  { 0x1d21, "w" },
	{ 0x1d22, "z" },  { 0x200c, "" },   { 0x200d, "" },  { 0x30fc, "-" },  { 0x4e00, "-" },
};

/* The scripts of one label, without characters that all scripts share. */
struct homograph_scripts {
	const char *names[HOMOGRAPH_SCRIPTS_MAX];
	size_t count;
};

static bool homograph_has(const struct homograph_scripts *scripts, const char *name)
{
	for (size_t i = 0; i < scripts->count; i++) {
		if (strcmp(scripts->names[i], name) == 0)
			return true;
	}
	return false;
}

static void homograph_note(struct homograph_scripts *scripts, uint32_t letter)
{
	const uc_script_t *script = uc_script(letter);
	const char *name = script ? script->name : "unknown";

	if (strcmp(name, "Common") == 0 || strcmp(name, "Inherited") == 0 ||
	    homograph_has(scripts, name) || scripts->count == HOMOGRAPH_SCRIPTS_MAX)
		return;
	scripts->names[scripts->count++] = name;
}

/* The allowed combinations are those of UTS 39 §5.2, "highly restrictive": for Japanese, Chinese
 * and Korean. */
static bool homograph_is_mixed(const struct homograph_scripts *scripts)
{
	static const char *const together[][4] = {
		{ "Latin", "Han", "Hiragana", "Katakana" },
		{ "Latin", "Han", "Bopomofo", "" },
		{ "Latin", "Han", "Hangul", "" },
	};

	if (scripts->count < 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(together); i++) {
		size_t known = 0;

		for (size_t j = 0; j < ARRAY_SIZE(together[i]); j++)
			known += homograph_has(scripts, together[i][j]);
		if (known == scripts->count)
			return false;
	}
	return true;
}

/* What @letter looks like; NULL: like nothing in ASCII. "": it is invisible. */
static const char *homograph_twin(uint32_t letter)
{
	for (size_t i = 0; i < ARRAY_SIZE(homograph_twins); i++) {
		if (homograph_twins[i].letter == letter)
			return homograph_twins[i].ascii;
	}
	return NULL;
}

/* Appends what @letter looks like. False: it looks like nothing in ASCII, or there is no room. */
static bool homograph_add_twin(uint32_t letter, char out[POLICY_HOST_MAX])
{
	char plain[2] = { (char)letter, '\0' };
	size_t used = strlen(out);
	const char *twin = letter < 0x80 ? plain : homograph_twin(letter);

	/* é is e and a mark; ỗ needs two steps. */
	for (int step = 0; !twin && step < 4; step++) {
		ucs4_t parts[UC_DECOMPOSITION_MAX_LENGTH];

		if (uc_canonical_decomposition(letter, parts) < 1)
			return false;
		letter = parts[0];
		plain[0] = (char)letter;
		twin = letter < 0x80 ? plain : homograph_twin(letter);
	}
	if (!twin || used + strlen(twin) >= POLICY_HOST_MAX)
		return false;
	memcpy(out + used, twin, strlen(twin) + 1);
	return true;
}

/* Examines one label of the host, from @letters to its dot or the end. Returns its length. */
static size_t homograph_label(const uint32_t *letters, struct homograph_scripts *all,
			      struct policy_host_warning *ret)
{
	struct homograph_scripts own = { .count = 0 };
	bool is_ascii = true;
	size_t len = 0;

	for (; letters[len] != 0 && letters[len] != '.'; len++) {
		is_ascii &= letters[len] < 0x80;
		homograph_note(&own, letters[len]);
	}
	ret->is_mixed |= homograph_is_mixed(&own);
	for (size_t i = 0; i < len && !is_ascii; i++)
		homograph_note(all, letters[i]);
	return len;
}

static void homograph_look(const uint32_t *letters, struct homograph_scripts *all,
			   struct policy_host_warning *ret)
{
	bool has_twin = true;

	for (const uint32_t *at = letters; *at != 0;) {
		at += homograph_label(at, all, ret);
		at += *at == '.';
	}
	for (const uint32_t *at = letters; *at != 0 && has_twin; at++)
		has_twin = homograph_add_twin(*at, ret->looks_like);
	if (!has_twin)
		ret->looks_like[0] = '\0';
}

/* "Cyrillic and Latin" */
static void homograph_names(const struct homograph_scripts *scripts, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < scripts->count && used < size; i++) {
		const char *between = i == 0 ? "" : i + 1 == scripts->count ? " and " : ", ";

		used += (size_t)snprintf(out + used, size - used, "%s%s", between,
					 scripts->names[i]);
	}
}

static void homograph_words(const char *host, struct policy_host_warning *ret)
{
	const char *scripts = ret->scripts[0] ? ret->scripts : "other";
	const char *looks = ret->looks_like[0] ? ": looks like " : "";

	if (!ret->unicode[0])
		(void)snprintf(ret->text, sizeof(ret->text), "its letters cannot be decoded: is %s",
			       host);
	else
		(void)snprintf(ret->text, sizeof(ret->text), "international name (%s%s)%s%s, is %s",
			       scripts, ret->is_mixed ? " mixed" : " letters", looks,
			       ret->looks_like, host);
}

static bool homograph_is_punycode(const char *host)
{
	for (const char *at = host; at; at = strchr(at, '.')) {
		at += *at == '.';
		if (strncmp(at, "xn--", 4) == 0)
			return true;
	}
	return false;
}

bool policy_host_warning(const char *host, struct policy_host_warning *ret)
{
	struct homograph_scripts all = { .count = 0 };
	uint32_t *letters = NULL;
	char *unicode = NULL;

	memset(ret, 0, sizeof(*ret));
	ret->is_punycode = homograph_is_punycode(host);
	if (!ret->is_punycode)
		return false;
	if (idn2_to_unicode_8z4z(host, &letters, 0) == IDN2_OK &&
	    idn2_to_unicode_8z8z(host, &unicode, 0) == IDN2_OK &&
	    strlen(unicode) < sizeof(ret->unicode)) {
		memcpy(ret->unicode, unicode, strlen(unicode) + 1);
		homograph_look(letters, &all, ret);
		homograph_names(&all, ret->scripts, sizeof(ret->scripts));
	}
	homograph_words(host, ret);
	idn2_free(letters);
	idn2_free(unicode);
	return true;
}
