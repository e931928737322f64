#include "proxy/relay/body.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char line_end[] = "\r\n";
static const char last_chunk[] = "0\r\n\r\n";
static const char line_end_and_last_chunk[] = "\r\n0\r\n\r\n";

void body_init(struct body *body, enum http1_body in, uint64_t length, bool is_chunked_out)
{
	*body = (struct body){ .in = in, .left = length, .is_chunked_out = is_chunked_out };
	body->is_done = in == HTTP1_NO_BODY || (in == HTTP1_LENGTH && !length);
}

static void part_add(struct iovec parts[BODY_PARTS], int *count, const void *bytes, size_t len)
{
	parts[*count] = (struct iovec){ .iov_base = (void *)bytes, .iov_len = len };
	(*count)++;
}

/* Joins the payload of many small chunks at the start of @bytes, so that one write sends it. */
static int dechunk(struct body *body, char *bytes, size_t len, size_t *ret_used, size_t *ret_data)
{
	size_t used = 0, data = 0;

	while (used < len) {
		struct http1_span span = { 0 };
		size_t step = 0;
		int r = http1_chunked_feed(&body->decoder, bytes + used, len - used, &step, &span);

		if (r < 0)
			return r;
		if (span.len)
			memmove(bytes + data, span.at, span.len);
		data += span.len;
		used += step;
		if (r == 1) {
			body->is_done = true;
			break;
		}
		if (!step)
			break;
	}
	*ret_used = used;
	*ret_data = data;
	return 0;
}

static void frame(struct body *body, const char *data, size_t len, struct iovec parts[BODY_PARTS],
		  int *count)
{
	*count = 0;
	if (len && body->is_chunked_out) {
		int line = snprintf(body->size_line, sizeof(body->size_line), "%zx\r\n", len);

		part_add(parts, count, body->size_line, (size_t)line);
	}
	if (len)
		part_add(parts, count, data, len);
	if (!body->is_chunked_out)
		return;
	if (len && body->is_done)
		part_add(parts, count, line_end_and_last_chunk,
			 sizeof(line_end_and_last_chunk) - 1);
	else if (len)
		part_add(parts, count, line_end, sizeof(line_end) - 1);
	else if (body->is_done)
		part_add(parts, count, last_chunk, sizeof(last_chunk) - 1);
}

int body_feed(struct body *body, char *bytes, size_t len, size_t *ret_used,
	      struct iovec parts[BODY_PARTS], int *ret_count)
{
	size_t used = len, data = len;

	*ret_count = 0;
	*ret_used = 0;
	if (body->is_done)
		return 0;
	if (body->in == HTTP1_CHUNKED) {
		int r = dechunk(body, bytes, len, &used, &data);

		if (r < 0)
			return r;
	} else if (body->in == HTTP1_LENGTH) {
		if (used > body->left)
			used = (size_t)body->left;
		data = used;
		body->left -= used;
		body->is_done = !body->left;
	}
	*ret_used = used;
	frame(body, bytes, data, parts, ret_count);
	return 0;
}

int body_end(struct body *body, struct iovec parts[BODY_PARTS], int *ret_count)
{
	*ret_count = 0;
	if (body->is_done)
		return 0;
	if (body->in != HTTP1_UNTIL_CLOSE)
		return -EPIPE;
	body->is_done = true;
	frame(body, NULL, 0, parts, ret_count);
	return 0;
}
