#include <errno.h>
#include <expat.h>
#include <limits.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured_impl.h"

/* Expat parses the syntax. A document type is refused, so that there are no entities except the
 * five that XML defines, and nothing is fetched. */
struct xml {
	XML_Parser parser;
	char *names[XML_DEPTH_MAX];
	size_t lines[XML_DEPTH_MAX];
	size_t texts[XML_DEPTH_MAX]; /* where in @text the element's own text begins */
	size_t depth;
	char *text;
	size_t len, room;
	xml_element_fn each;
	void *arg;
	int result; /* negative: stopped; Expat may call one more handler */
	struct err *why;
};

static int xml_refuse(struct xml *xml, const char *words)
{
	return err_set(xml->why, -EBADMSG, "column %lu: %s",
		       XML_GetCurrentColumnNumber(xml->parser) + 1, words);
}

static void xml_stop(struct xml *xml, int result)
{
	xml->result = result;
	(void)XML_StopParser(xml->parser, XML_FALSE); /* called from a handler */
}

static void xml_doctype(void *arg, const XML_Char *name, const XML_Char *system_id,
			const XML_Char *public_id, int has_internal_subset)
{
	xml_stop(arg, xml_refuse(arg, "a document type is not supported; remove it"));
}

static void xml_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
	struct xml *xml = arg;

	if (xml->result < 0)
		return;
	if (strlen(name) > XML_NAME_MAX) {
		xml_stop(xml, xml_refuse(xml, "the name of an element has more than 64 bytes"));
		return;
	}
	if (xml->depth == XML_DEPTH_MAX) {
		xml_stop(xml, xml_refuse(xml, "elements are nested more than 32 deep"));
		return;
	}
	xml->names[xml->depth] = mem_strdup(name);
	xml->lines[xml->depth] = XML_GetCurrentLineNumber(xml->parser);
	xml->texts[xml->depth++] = xml->len;
}

/* Drops the element's text, and that of all elements in it. */
static void xml_end(void *arg, const XML_Char *name)
{
	struct xml *xml = arg;

	if (xml->result < 0)
		return;
	size_t top = xml->depth - 1;
	struct xml_element element = {
		.names = (const char *const *)xml->names,
		.depth = xml->depth,
		.text = xml->text + xml->texts[top],
		.len = xml->len - xml->texts[top],
		.line = xml->lines[top],
	};

	lines_trim(&element.text, &element.len);
	int r = xml->each(&element, xml->arg);

	if (r < 0)
		xml_stop(xml, r);
	xml->len = xml->texts[top];
	free(xml->names[top]);
	xml->depth--;
}

static void xml_characters(void *arg, const XML_Char *text, int len)
{
	struct xml *xml = arg;

	if (xml->result < 0)
		return;
	if ((size_t)len > xml->room - xml->len) {
		xml_stop(xml, xml_refuse(xml, "the document has more text than bytes"));
		return;
	}
	memcpy(xml->text + xml->len, text, (size_t)len);
	xml->len += (size_t)len;
}

static void xml_done(struct xml *xml)
{
	while (xml->depth > 0)
		free(xml->names[--xml->depth]);
	free(xml->text);
	XML_ParserFree(xml->parser);
}

int xml_read(const char *text, size_t len, xml_element_fn each, void *arg, size_t *ret_line,
	     struct err *why)
{
	struct xml xml = {
		.parser = XML_ParserCreate(NULL),
		.room = 2 * len, /* ISO 8859-1 becomes up to twice as long in UTF-8 */
		.each = each,
		.arg = arg,
		.why = why,
	};

	*ret_line = 1;
	if (!xml.parser || len > INT_MAX) {
		XML_ParserFree(xml.parser);
		return err_set(why, -E2BIG, "out of memory");
	}
	xml.text = mem_new(xml.room + 1);
	XML_SetUserData(xml.parser, &xml);
	XML_SetStartDoctypeDeclHandler(xml.parser, xml_doctype);
	XML_SetElementHandler(xml.parser, xml_start, xml_end);
	XML_SetCharacterDataHandler(xml.parser, xml_characters);
	if (XML_Parse(xml.parser, text, (int)len, XML_TRUE) != XML_STATUS_OK && xml.result == 0)
		xml.result = xml_refuse(&xml, XML_ErrorString(XML_GetErrorCode(xml.parser)));
	*ret_line = XML_GetCurrentLineNumber(xml.parser);
	xml_done(&xml);
	return xml.result;
}
