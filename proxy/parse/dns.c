#include "proxy/parse/dns.h"

#include <errno.h>
#include <string.h>

#define HEAD_BYTES 12
#define LABEL_MAX  63
#define OPTION     41 /* RFC 6891 §6.1.2 */
#define EXTRA      15 /* RFC 8914 §2 */
#define CLASS_IN   1
#define TTL_S      60
#define TEXT_MAX   255

#define FLAG_RESPONSE  0x80
#define FLAG_TRUNCATED 0x02
#define FLAG_WANTED    0x01 /* the client wants recursion */
#define FLAG_AVAILABLE 0x80

struct reader {
	const uint8_t *at, *end;
};

static bool has(const struct reader *reader, size_t count)
{
	return (size_t)(reader->end - reader->at) >= count;
}

static uint16_t u16_at(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static bool is_plain(uint8_t byte)
{
	return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
	       (byte >= 'A' && byte <= 'Z') || byte == '-' || byte == '_';
}

/* Reads a name without compression: nothing precedes a question that it could point to. A label
 * with a dot or another special byte would be a different name in text: then @ret is "". */
static int read_name(struct reader *reader, char ret[DNS_NAME_MAX])
{
	size_t used = 0;
	bool is_text = true;

	for (;;) {
		if (!has(reader, 1))
			return -EBADMSG;
		size_t len = *reader->at++;

		if (len == 0)
			break;
		if (len > LABEL_MAX || !has(reader, len) || used + len + 1 > DNS_NAME_MAX)
			return -EBADMSG;
		for (size_t i = 0; i < len; i++)
			is_text = is_text && is_plain(reader->at[i]);
		memcpy(ret + used, reader->at, len);
		used += len;
		ret[used++] = '.';
		reader->at += len;
	}
	ret[is_text && used > 0 ? used - 1 : 0] = '\0';
	return 0;
}

/* Skips the name of a record in a later section. */
static bool skip_name(struct reader *reader)
{
	while (has(reader, 1)) {
		uint8_t len = *reader->at++;

		if (len == 0)
			return true;
		if (len > LABEL_MAX) { /* a pointer ends the name */
			reader->at++;
			return len >= 0xc0 && reader->at <= reader->end;
		}
		if (!has(reader, len))
			return false;
		reader->at += len;
	}
	return false;
}

/* Looks for the one record that matters. */
static bool read_extra(struct reader *reader, unsigned int count, struct dns_query *ret)
{
	for (; count > 0; count--) {
		if (!skip_name(reader) || !has(reader, 10))
			return false;
		const uint8_t *at = reader->at;
		size_t len = u16_at(at + 8);

		reader->at += 10;
		if (!has(reader, len))
			return false;
		reader->at += len;
		if (u16_at(at) != OPTION)
			continue;
		ret->has_edns = true;
		ret->room = u16_at(at + 2);
	}
	return true;
}

static enum dns_code read_question(struct reader *reader, struct dns_query *ret)
{
	const uint8_t *begun = reader->at;

	if (read_name(reader, ret->name) < 0 || !has(reader, 4)) {
		ret->name[0] = '\0';
		return DNS_FORMAT_ERROR;
	}
	ret->type = u16_at(reader->at);
	uint16_t class = u16_at(reader->at + 2);

	reader->at += 4;
	ret->question = begun;
	ret->question_len = (size_t)(reader->at - begun);
	return class == CLASS_IN ? DNS_OK : DNS_REFUSED;
}

int dns_read(const uint8_t *bytes, size_t len, struct dns_query *ret)
{
	struct reader reader = { .at = bytes + HEAD_BYTES, .end = bytes + len };

	*ret = (struct dns_query){ .room = DNS_REPLY_PLAIN };
	if (len < HEAD_BYTES || (bytes[2] & FLAG_RESPONSE))
		return -EBADMSG;
	memcpy(ret->head, bytes, sizeof(ret->head));
	if (bytes[2] & 0x78) { /* the kind of query */
		ret->code = DNS_NOT_IMPLEMENTED;
		return 0;
	}
	if (u16_at(bytes + 4) != 1 || u16_at(bytes + 6) != 0 || u16_at(bytes + 8) != 0) {
		ret->code = DNS_FORMAT_ERROR;
		return 0;
	}
	ret->code = read_question(&reader, ret);
	if (ret->code == DNS_OK && !read_extra(&reader, u16_at(bytes + 10), ret))
		ret->code = DNS_FORMAT_ERROR;
	if (ret->room < DNS_REPLY_PLAIN)
		ret->room = DNS_REPLY_PLAIN;
	return 0;
}

struct writer {
	uint8_t *out;
	size_t len, max;
	bool is_full;
};

static void put(struct writer *writer, const void *bytes, size_t len)
{
	if (len > writer->max - writer->len) {
		writer->is_full = true;
		return;
	}
	memcpy(writer->out + writer->len, bytes, len);
	writer->len += len;
}

static void put_u8(struct writer *writer, uint8_t value)
{
	put(writer, &value, 1);
}

static void put_u16(struct writer *writer, uint16_t value)
{
	const uint8_t wire[2] = { (uint8_t)(value >> 8), (uint8_t)value };

	put(writer, wire, sizeof(wire));
}

static void put_name(struct writer *writer, const char *name)
{
	while (*name) {
		size_t len = strcspn(name, ".");

		put_u8(writer, (uint8_t)len);
		put(writer, name, len);
		name += len + (name[len] == '.');
	}
	put_u8(writer, 0);
}

static size_t text_len(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	return len < TEXT_MAX ? len : TEXT_MAX;
}

/* A record for the question's name, up to its data of @len bytes. */
static void put_record(struct writer *writer, uint16_t type, size_t len)
{
	put_u16(writer, 0xc000 | HEAD_BYTES);
	put_u16(writer, type);
	put_u16(writer, CLASS_IN);
	put_u16(writer, 0);
	put_u16(writer, TTL_S);
	put_u16(writer, (uint16_t)len);
}

static bool put_answer(struct writer *writer, const struct dns_answer *answer)
{
	if (answer->addr) {
		put_record(writer, answer->addr_len == 4 ? DNS_A : DNS_AAAA, answer->addr_len);
		put(writer, answer->addr, answer->addr_len);
	} else if (answer->name) {
		put_record(writer, DNS_PTR, strlen(answer->name) + 2);
		put_name(writer, answer->name);
	} else if (answer->text) {
		put_record(writer, DNS_TXT, text_len(answer->text) + 1);
		put_u8(writer, (uint8_t)text_len(answer->text));
		put(writer, answer->text, text_len(answer->text));
	}
	return answer->addr || answer->name || answer->text;
}

static void put_option(struct writer *writer, const struct dns_answer *answer)
{
	size_t len = text_len(answer->extra_text);

	put_u8(writer, 0);
	put_u16(writer, OPTION);
	put_u16(writer, DNS_REPLY_MAX);
	put_u16(writer, 0);
	put_u16(writer, 0);
	put_u16(writer, (uint16_t)(answer->extra ? len + 6 : 0));
	if (!answer->extra)
		return;
	put_u16(writer, EXTRA);
	put_u16(writer, (uint16_t)(len + 2));
	put_u16(writer, answer->extra);
	put(writer, answer->extra_text, len);
}

size_t dns_write(const struct dns_query *query, const struct dns_answer *answer, uint8_t *out,
		 size_t max)
{
	struct writer writer = { .out = out, .len = HEAD_BYTES, .max = max };
	bool has_answer = false;

	memset(out, 0, HEAD_BYTES);
	memcpy(out, query->head, 2);
	out[2] = FLAG_RESPONSE | (query->head[2] & (0x78 | FLAG_WANTED));
	out[3] = FLAG_AVAILABLE | (uint8_t)answer->code;
	if (query->question)
		put(&writer, query->question, query->question_len);
	size_t end = writer.len;

	if (query->question && answer->code == DNS_OK)
		has_answer = put_answer(&writer, answer);
	if (query->has_edns)
		put_option(&writer, answer);
	if (writer.is_full) {
		writer.len = end;
		out[2] |= FLAG_TRUNCATED;
	}
	out[5] = query->question != NULL;
	out[7] = has_answer && !writer.is_full;
	out[11] = query->has_edns && !writer.is_full;
	return writer.len;
}
