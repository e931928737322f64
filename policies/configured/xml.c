#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured_impl.h"

/* Elements, attributes (read over), text, CDATA, comments, processing instructions, the five
 * predefined entities (XML 1.0 §4.6). A document type is refused: what it can do (entities that
 * grow, files that are fetched) no settings file needs. */
struct xml {
	const char *at, *end;
	size_t line;
	char *names[XML_DEPTH_MAX];
	size_t lines[XML_DEPTH_MAX];
	size_t texts[XML_DEPTH_MAX]; /* where in @text the element's own begins */
	size_t depth;
	bool has_root;
	char *text; /* as long as the whole document */
	size_t len;
	xml_element_fn each;
	void *arg;
	struct err *why;
};

static int xml_refuse(const struct xml *xml, const char *words)
{
	return err_set(xml->why, -EBADMSG, "%s", words);
}

static bool xml_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool xml_begins(const struct xml *xml, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(xml->end - xml->at) >= len && memcmp(xml->at, text, len) == 0;
}

static void xml_step(struct xml *xml, size_t count)
{
	for (; count > 0; count--, xml->at++)
		xml->line += *xml->at == '\n';
}

static void xml_skip_blanks(struct xml *xml)
{
	while (xml->at < xml->end && xml_is_blank(*xml->at))
		xml_step(xml, 1);
}

/* To behind @close; what is passed over is kept as text when @is_text. */
static int xml_until(struct xml *xml, const char *close, bool is_text)
{
	const char *end = memmem(xml->at, (size_t)(xml->end - xml->at), close, strlen(close));

	if (!end)
		return xml_refuse(xml, "a comment or the like that is not closed");
	if (is_text) {
		memcpy(xml->text + xml->len, xml->at, (size_t)(end - xml->at));
		xml->len += (size_t)(end - xml->at);
	}
	xml_step(xml, (size_t)(end - xml->at) + strlen(close));
	return 0;
}

static int xml_entity(struct xml *xml)
{
	static const struct {
		const char *name;
		char value;
	} known[] = { { "&lt;", '<' },
		      { "&gt;", '>' },
		      { "&amp;", '&' },
		      { "&quot;", '"' },
		      { "&apos;", '\'' } };

	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (!xml_begins(xml, known[i].name))
			continue;
		xml->text[xml->len++] = known[i].value;
		xml->at += strlen(known[i].name);
		return 0;
	}
	return xml_refuse(xml, "an entity that is none of the five of XML itself");
}

static size_t xml_name_len(const struct xml *xml)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-.:";
	size_t len = 0;

	while (xml->at + len < xml->end && xml->at[len] &&
	       (strchr(plain, xml->at[len]) || (unsigned char)xml->at[len] >= 0x80))
		len++;
	return len;
}

/* The element that ends here; its text, and that of all within, is given up. */
static int xml_end(struct xml *xml)
{
	size_t top = xml->depth - 1;
	struct xml_element element = {
		.names = (const char *const *)xml->names,
		.depth = xml->depth,
		.text = xml->text + xml->texts[top],
		.len = xml->len - xml->texts[top],
		.line = xml->lines[top],
	};

	while (element.len > 0 && xml_is_blank(element.text[0])) {
		element.text++;
		element.len--;
	}
	while (element.len > 0 && xml_is_blank(element.text[element.len - 1]))
		element.len--;
	int r = xml->each(&element, xml->arg);

	xml->len = xml->texts[top];
	free(xml->names[top]);
	xml->depth--;
	return r;
}

static int xml_attributes(struct xml *xml)
{
	for (;;) {
		xml_skip_blanks(xml);
		size_t len = xml_name_len(xml);

		if (len == 0)
			return 0;
		xml->at += len;
		xml_skip_blanks(xml);
		if (!xml_begins(xml, "="))
			return xml_refuse(xml, "an attribute without a value");
		xml->at++;
		xml_skip_blanks(xml);
		if (!xml_begins(xml, "\"") && !xml_begins(xml, "'"))
			return xml_refuse(xml, "an attribute without quotes");
		const char close[] = { *xml->at++, '\0' };
		int r = xml_until(xml, close, false);

		if (r < 0)
			return r;
	}
}

/* Behind "<". */
static int xml_start(struct xml *xml)
{
	size_t len = xml_name_len(xml);

	if (len == 0 || len > XML_NAME_MAX)
		return xml_refuse(xml, "not an element's name");
	if (xml->depth == XML_DEPTH_MAX)
		return xml_refuse(xml, "elements more than 32 deep");
	if (xml->depth == 0 && xml->has_root)
		return xml_refuse(xml, "a second document behind the first");
	xml->has_root = true;
	xml->names[xml->depth] = mem_strndup(xml->at, len);
	xml->lines[xml->depth] = xml->line;
	xml->texts[xml->depth++] = xml->len;
	xml->at += len;
	int r = xml_attributes(xml);

	if (r < 0)
		return r;
	if (xml_begins(xml, "/>")) {
		xml->at += 2;
		return xml_end(xml);
	}
	if (!xml_begins(xml, ">"))
		return xml_refuse(xml, "a tag that is not closed");
	xml->at++;
	return 0;
}

/* Behind "</". */
static int xml_close(struct xml *xml)
{
	size_t len = xml_name_len(xml);

	if (xml->depth == 0 || !lines_is(xml->at, len, xml->names[xml->depth - 1]))
		return xml_refuse(xml, "the end of an element that is not open");
	xml->at += len;
	xml_skip_blanks(xml);
	if (!xml_begins(xml, ">"))
		return xml_refuse(xml, "a tag that is not closed");
	xml->at++;
	return xml_end(xml);
}

static int xml_markup(struct xml *xml)
{
	if (xml_begins(xml, "<!--"))
		return xml_until(xml, "-->", false);
	if (xml_begins(xml, "<?"))
		return xml_until(xml, "?>", false);
	if (xml_begins(xml, "<![CDATA[") && xml->depth > 0) {
		xml->at += strlen("<![CDATA[");
		return xml_until(xml, "]]>", true);
	}
	if (xml_begins(xml, "<!"))
		return xml_refuse(xml, "a document type or declaration: not read here");
	if (xml_begins(xml, "</")) {
		xml->at += 2;
		return xml_close(xml);
	}
	xml->at++;
	return xml_start(xml);
}

static int xml_document(struct xml *xml)
{
	int r = 0;

	while (r == 0 && xml->at < xml->end) {
		if (*xml->at == '<')
			r = xml_markup(xml);
		else if (xml->depth == 0 && !xml_is_blank(*xml->at))
			r = xml_refuse(xml, "text outside of the document");
		else if (*xml->at == '&')
			r = xml_entity(xml);
		else {
			xml->text[xml->len++] = *xml->at;
			xml_step(xml, 1);
		}
	}
	if (r == 0 && (xml->depth > 0 || !xml->has_root))
		r = xml_refuse(xml, "the document ends too early");
	return r;
}

int xml_read(const char *text, size_t len, xml_element_fn each, void *arg, size_t *ret_line,
	     struct err *why)
{
	static const char mark[] = "\xef\xbb\xbf";
	auto_free char *room = mem_new(len + 1);
	struct xml xml = {
		.at = text,
		.end = text + len,
		.line = 1,
		.text = room,
		.each = each,
		.arg = arg,
		.why = why,
	};

	if (xml_begins(&xml, mark))
		xml.at += strlen(mark);
	int r = xml_document(&xml);

	while (xml.depth > 0)
		free(xml.names[--xml.depth]);
	*ret_line = xml.line;
	return r;
}
