#include "base/http1/http1_path.h"

#include <string.h>

#include "base/http1/http1_chars.h"

/* Reads one byte of @rest as a decoding server does. Negative: an invalid escape. */
static int next_byte(struct http1_span *rest)
{
	char c = rest->at[0];
	size_t len = c == '%' ? 3 : 1;
	int high, low;

	if (rest->len < len)
		return -1;
	high = len == 3 ? http1_chars_hex(rest->at[1]) : 0;
	low = len == 3 ? http1_chars_hex(rest->at[2]) : 0;
	rest->at += len;
	rest->len -= len;
	if (len == 1)
		return (unsigned char)c;
	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* One path segment, by every separator that some server uses, and the depth so far. Only what every
 * server treats as a folder adds to the depth: a literal "/" behind something other than dots. */
struct depth {
	long folders;
	size_t bytes, dots; /* of the segment, before a ';' */
	bool is_named;      /* the segment, or one joined to it by "%2F", contains a name */
	bool is_parameter;
};

static void end_segment(struct depth *depth, bool is_plain_slash)
{
	if (depth->bytes == 2 && depth->dots == 2)
		depth->folders--;
	else if (depth->bytes > 0 && depth->dots != depth->bytes)
		depth->is_named = true;
	if (is_plain_slash && depth->is_named) {
		depth->folders++;
		depth->is_named = false;
	}
	depth->bytes = 0;
	depth->dots = 0;
	depth->is_parameter = false;
}

const char *http1_path_flaw(struct http1_span target)
{
	const char *mark = memchr(target.at, '?', target.len);
	struct http1_span rest = { target.at, mark ? (size_t)(mark - target.at) : target.len };
	struct depth depth = { 0 };

	while (rest.len > 0) {
		bool is_plain = rest.at[0] == '/';
		int byte = next_byte(&rest);

		if (byte < 0)
			return "the path has a % without two hexadecimal digits after it";
		if (byte == 0)
			return "the path has a percent-encoded NUL byte";
		if (byte == '/' || byte == '\\') {
			end_segment(&depth, is_plain);
		} else if (byte == ';') {
			depth.is_parameter = true;
		} else if (!depth.is_parameter) {
			depth.bytes++;
			depth.dots += byte == '.';
		}
		if (depth.folders < 0)
			return "the path leads above the root";
	}
	end_segment(&depth, false);
	return depth.folders < 0 ? "the path leads above the root" : NULL;
}
