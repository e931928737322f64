/* formats: strict parsers for the text of configuration files: URLs, lines, XML. They know nothing
 * about tools. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* url: the host and the protocol of a URL. */
enum url_scheme { URL_ELSE, URL_HTTP, URL_HTTPS, URL_SSH, URL_GIT };
#define URL_HOST_MAX        254
#define URL_DESTINATION_MAX (URL_HOST_MAX + 24)
struct url {
	enum url_scheme scheme;
	char host[URL_HOST_MAX]; /* lower case; IPv6 in brackets */
	uint16_t port;
};
/* -EBADMSG with a message that never repeats the text. URL_ELSE: a scheme without a host that the
 * gate can reach. */
int url_parse(const char *text, size_t len, struct url *ret, struct err *why);
const char *url_destination(const struct url *url, char out[URL_DESTINATION_MAX]);

/* lines: text, line by line, without line ends and surrounding blanks. */
struct lines {
	const char *at;
	size_t left;
	size_t number; /* of the line below, from 1 */
	const char *text;
	size_t len;
	bool is_indented;
};
bool lines_next(struct lines *lines);
/* "key = value" of the line, split at the first of @separators; false: there is none. Surrounding
 * blanks are removed from both. */
struct lines_pair {
	const char *key, *value;
	size_t key_len, value_len;
};
bool lines_pair(const struct lines *lines, const char *separators, struct lines_pair *ret);
void lines_trim(const char **text, size_t *len);
/* Is @text exactly @word? */
bool lines_is(const char *text, size_t len, const char *word);

/* xml: the elements of a document, each reported at its end, with its own text. */
#define XML_DEPTH_MAX 32
#define XML_NAME_MAX  64 /* bytes */
struct xml_element {
	const char *const *names; /* from the root to this one */
	size_t depth;
	const char *text; /* without surrounding blanks */
	size_t len, line;
};
typedef int (*xml_element_fn)(const struct xml_element *element, void *arg);
int xml_read(const char *text, size_t len, xml_element_fn each, void *arg, size_t *ret_line,
	     struct err *why);
