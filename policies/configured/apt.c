#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/configured/configured_impl.h"

#define APT_STANZA_MAX 64 /* URIs of one stanza */

/* The places of the URIs of a deb822 stanza, kept until it is known whether the stanza is enabled.
 */
struct apt_stanza {
	struct reading *reading;
	struct {
		const char *text;
		size_t len, line;
	} uris[APT_STANZA_MAX];
	size_t count;
	bool is_disabled, is_in_uris;
};

static size_t apt_word(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && text[at] != ' ' && text[at] != '\t')
		at++;
	return at;
}

/* With "mirror+https://" the list of mirrors comes from the host; "cdrom:", "file:" and similar
 * schemes need no network. */
static int apt_uri(struct reading *reading, const char *where, const char *uri, size_t len)
{
	static const char mirror[] = "mirror+";
	size_t skip = sizeof(mirror) - 1;

	if (len > skip && memcmp(uri, mirror, skip) == 0) {
		reading_remark(reading,
			       "%s: this is a list of mirrors, whose content is not known here",
			       where);
		uri += skip;
		len -= skip;
	}
	if (len >= 5 && (text_equal_nocase(uri, 5, "http:") || text_equal_nocase(uri, 5, "https")))
		return reading_url(reading, where, uri, len);
	if (!memchr(uri, ':', len))
		return reading_refuse(reading, where, "this is not a URI");
	if (!text_equal_nocase(uri, 5, "cdrom") && !text_equal_nocase(uri, 5, "file:") &&
	    !text_equal_nocase(uri, 5, "copy:"))
		reading_remark(reading, "%s: left out, because it is neither http nor https",
			       where);
	return 0;
}

/* deb [option=value ...] URI suite [component ...] */
static int apt_list_line(struct reading *reading, const struct lines *lines)
{
	const char *at = lines->text, *end = memchr(lines->text, '#', lines->len);
	size_t left = end ? (size_t)(end - at) : lines->len;
	const char *where = reading_where(reading, lines->number);

	lines_trim(&at, &left);
	if (left == 0)
		return 0;
	size_t type = apt_word(at, left);

	if (!lines_is(at, type, "deb") && !lines_is(at, type, "deb-src"))
		return reading_refuse(reading, where,
				      "the line begins with neither deb nor deb-src");
	at += type;
	left -= type;
	lines_trim(&at, &left);
	if (left > 0 && at[0] == '[') {
		const char *close = memchr(at, ']', left);

		if (!close)
			return reading_refuse(reading, where, "the options have no closing ]");
		left -= (size_t)(close + 1 - at);
		at = close + 1;
		lines_trim(&at, &left);
	}
	size_t uri = apt_word(at, left);

	if (uri == 0 || uri == left)
		return reading_refuse(reading, where, "the line has no URI and no suite");
	return apt_uri(reading, where, at, uri);
}

static int apt_parse_list(struct reading *reading, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };
	int r = 0;

	while (r == 0 && lines_next(&lines))
		r = apt_list_line(reading, &lines);
	return r;
}

static int apt_add_uris(struct apt_stanza *stanza, const char *text, size_t len, size_t line)
{
	lines_trim(&text, &len);
	while (len > 0) {
		size_t word = apt_word(text, len);

		if (stanza->count == APT_STANZA_MAX)
			return reading_refuse(stanza->reading, reading_where(stanza->reading, line),
					      "the stanza has more than %d URIs", APT_STANZA_MAX);
		stanza->uris[stanza->count].text = text;
		stanza->uris[stanza->count].len = word;
		stanza->uris[stanza->count++].line = line;
		text += word;
		len -= word;
		lines_trim(&text, &len);
	}
	return 0;
}

static int apt_end_stanza(struct apt_stanza *stanza)
{
	struct reading *reading = stanza->reading;
	int r = 0;

	for (size_t i = 0; r == 0 && !stanza->is_disabled && i < stanza->count; i++)
		r = apt_uri(reading, reading_where(reading, stanza->uris[i].line),
			    stanza->uris[i].text, stanza->uris[i].len);
	*stanza = (struct apt_stanza){ .reading = reading };
	return r;
}

static int apt_field(struct apt_stanza *stanza, const struct lines *lines)
{
	static const char *const off[] = { "no", "false", "without", "off", "disable", "0" };
	struct lines_pair pair;

	if (lines->len == 0)
		return apt_end_stanza(stanza);
	if (lines->text[0] == '#')
		return 0;
	if (lines->is_indented)
		return stanza->is_in_uris
			       ? apt_add_uris(stanza, lines->text, lines->len, lines->number)
			       : 0;
	if (!lines_pair(lines, ":", &pair) || pair.key_len == 0 ||
	    apt_word(pair.key, pair.key_len) != pair.key_len)
		return reading_refuse(stanza->reading,
				      reading_where(stanza->reading, lines->number),
				      "the line is not \"Field: value\"");
	stanza->is_in_uris = text_equal_nocase(pair.key, pair.key_len, "URIs");
	if (stanza->is_in_uris)
		return apt_add_uris(stanza, pair.value, pair.value_len, lines->number);
	if (!text_equal_nocase(pair.key, pair.key_len, "Enabled"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(off); i++) {
		if (text_equal_nocase(pair.value, pair.value_len, off[i]))
			stanza->is_disabled = true;
	}
	return 0;
}

static int apt_parse_sources(struct reading *reading, const char *text, size_t len)
{
	struct lines lines = { .at = text, .left = len };
	struct apt_stanza stanza = { .reading = reading };
	int r = 0;

	while (r == 0 && lines_next(&lines))
		r = apt_field(&stanza, &lines);
	return r == 0 ? apt_end_stanza(&stanza) : r;
}

static bool apt_ends_in(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail && strcmp(name + len - tail, suffix) == 0;
}

/* apt ignores files whose names have other characters: sources.list(5). */
static bool apt_is_source_name(const char *name)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.";

	return name[strspn(name, plain)] == '\0';
}

static int apt_read(struct reading *reading)
{
	static const char folder[] = "/etc/apt/sources.list.d";
	auto_free_list char **names = NULL;
	int r = reading_file(reading, "/etc/apt/sources.list", apt_parse_list);

	if (r >= 0)
		r = reading_folder(reading, folder, &names);
	for (size_t i = 0; r >= 0 && names[i]; i++) {
		auto_free char *path = mem_printf("%s/%s", folder, names[i]);

		if (!apt_is_source_name(names[i]))
			continue;
		if (apt_ends_in(names[i], ".list"))
			r = reading_file(reading, path, apt_parse_list);
		else if (apt_ends_in(names[i], ".sources"))
			r = reading_file(reading, path, apt_parse_sources);
	}
	if (r >= 0 && reading->found_count == 0)
		reading_remark(reading, "apt's sources name no http or https host");
	return r < 0 ? r : 0;
}

const struct configured_ops apt_ops = { .name = "apt", .read = apt_read };
