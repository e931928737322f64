#include "proxy/parse/hello.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

#define RECORD_HEADER    5
#define RECORD_MAX       16384 /* RFC 8446 §5.1 */
#define RECORD_HANDSHAKE 22
#define MESSAGE_HEADER   4
#define CLIENT_HELLO     1
#define RANDOM_BYTES     32
#define SESSION_ID_MAX   32
#define EXTENSIONS_MAX   128
#define NAME_MAX_BYTES   255

enum extension {
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ALPN = 16,
	EXTENSION_ECH = 0xfe0d,
};

/* The rest of something that has a length of its own. */
struct reader {
	const uint8_t *at;
	size_t left;
};

/* All readers return 0, or -EBADMSG when fewer bytes are left than requested. */
static int read_bytes(struct reader *from, size_t len, struct reader *ret)
{
	if (from->left < len)
		return -EBADMSG;
	*ret = (struct reader){ from->at, len };
	from->at += len;
	from->left -= len;
	return 0;
}

static int read_number(struct reader *from, size_t bytes, size_t *ret)
{
	struct reader number;
	size_t value = 0;

	if (read_bytes(from, bytes, &number) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < bytes; i++)
		value = value << 8 | number.at[i];
	*ret = value;
	return 0;
}

/* A vector of RFC 8446 §3.4: a length in @length_bytes bytes, then that many bytes, from @min to
 * @max. */
static int read_vector(struct reader *from, size_t length_bytes, size_t min, size_t max,
		       struct reader *ret)
{
	size_t len;

	if (read_number(from, length_bytes, &len) < 0 || len < min || len > max)
		return -EBADMSG;
	return read_bytes(from, len, ret);
}

/* Letters, digits, hyphen, dot, and the underscore, which some names have although it is not
 * allowed. */
static bool is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_';
}

/* RFC 6066 §3: a list, but with a single type and at most one name of each type, so exactly one
 * entry. */
static int parse_server_name(struct reader extension, struct hello *hello)
{
	struct reader list, name;
	size_t type;

	if (read_vector(&extension, 2, 1, UINT16_MAX, &list) < 0 || extension.left > 0)
		return -EBADMSG;
	if (read_number(&list, 1, &type) < 0 || type != 0)
		return -EBADMSG;
	if (read_vector(&list, 2, 1, NAME_MAX_BYTES, &name) < 0 || list.left > 0)
		return -EBADMSG;
	for (size_t i = 0; i < name.left; i++) {
		if (!is_name_byte(name.at[i]))
			return -EBADMSG;
	}
	memcpy(hello->server_name, name.at, name.left);
	hello->server_name[name.left] = '\0';
	hello->has_server_name = true;
	return 0;
}

/* RFC 7301 §3.1 */
static int parse_alpn(struct reader extension, struct hello *hello)
{
	struct reader list, name;

	if (read_vector(&extension, 2, 2, UINT16_MAX, &list) < 0 || extension.left > 0)
		return -EBADMSG;
	while (list.left > 0) {
		if (read_vector(&list, 1, 1, UINT8_MAX, &name) < 0)
			return -EBADMSG;
		if (name.left == 2 && memcmp(name.at, "h2", 2) == 0)
			hello->offers_h2 = true;
	}
	return 0;
}

static int parse_extension(size_t type, struct reader body, struct hello *hello)
{
	switch (type) {
	case EXTENSION_SERVER_NAME:
		return parse_server_name(body, hello);
	case EXTENSION_ALPN:
		return parse_alpn(body, hello);
	case EXTENSION_ECH:
		hello->has_ech = true;
		return 0;
	default:
		return 0;
	}
}

/* RFC 8446 §4.2: no type may occur twice, also among those we do not read: the two ends might use
 * different ones. */
static int parse_extensions(struct reader list, struct hello *hello)
{
	uint16_t seen[EXTENSIONS_MAX];
	size_t count = 0;

	while (list.left > 0) {
		struct reader body;
		size_t type;

		if (read_number(&list, 2, &type) < 0 ||
		    read_vector(&list, 2, 0, UINT16_MAX, &body) < 0)
			return -EBADMSG;
		if (count == EXTENSIONS_MAX)
			return -EBADMSG;
		for (size_t i = 0; i < count; i++) {
			if (seen[i] == type)
				return -EBADMSG;
		}
		seen[count++] = (uint16_t)type;
		if (parse_extension(type, body, hello) < 0)
			return -EBADMSG;
	}
	return 0;
}

/* RFC 8446 §4.1.2, RFC 5246 §7.4.1.2. @body: the complete body of the message. */
static int parse_body(struct reader body, struct hello *hello)
{
	struct reader skipped, suites, extensions;
	size_t version;

	if (read_number(&body, 2, &version) < 0 || version >> 8 != 3)
		return -EBADMSG;
	if (read_bytes(&body, RANDOM_BYTES, &skipped) < 0 ||
	    read_vector(&body, 1, 0, SESSION_ID_MAX, &skipped) < 0 ||
	    read_vector(&body, 2, 2, UINT16_MAX, &suites) < 0 || suites.left % 2 != 0 ||
	    read_vector(&body, 1, 1, UINT8_MAX, &skipped) < 0)
		return -EBADMSG;
	if (body.left == 0)
		return 0; /* a TLS 1.2 hello may have no extensions */
	if (read_vector(&body, 2, 0, UINT16_MAX, &extensions) < 0 || body.left > 0)
		return -EBADMSG;
	return parse_extensions(extensions, hello);
}

/* A message that is assembled from records. */
struct message {
	uint8_t bytes[HELLO_MAX_BYTES];
	size_t have;
};

static size_t message_bytes(const struct message *message)
{
	return MESSAGE_HEADER +
	       ((size_t)message->bytes[1] << 16 | message->bytes[2] << 8 | message->bytes[3]);
}

/* Adds the available bytes of a record of @record bytes. 1: the message is complete, 0: continue. A
 * hello must be alone in its record: bytes behind it are another message, which one end may read
 * and the other ignore. */
static int message_add(struct message *message, struct reader part, size_t record)
{
	size_t room = sizeof(message->bytes) - message->have;

	if (record > room)
		return -EBADMSG;
	memcpy(message->bytes + message->have, part.at, part.left);

	size_t end = message->have + record;

	message->have += part.left;
	if (message->have >= 1 && message->bytes[0] != CLIENT_HELLO)
		return -EBADMSG;
	if (message->have < MESSAGE_HEADER)
		return 0;
	if (message_bytes(message) > HELLO_MAX_BYTES || end > message_bytes(message))
		return -EBADMSG;
	return message->have == message_bytes(message);
}

/* RFC 8446 §5.1. An error in the first bytes means that this is not TLS (-EPROTO); later it is
 * malformed TLS. */
static int read_record_header(struct reader *from, bool is_first, size_t *ret_len)
{
	static const uint8_t want[] = { RECORD_HANDSHAKE, 3 };
	int wrong = is_first ? -EPROTO : -EBADMSG;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(want) && i < from->left; i++) {
		if (from->at[i] != want[i])
			return wrong;
	}
	if (from->left > 2 && (from->at[2] < 1 || from->at[2] > 3))
		return wrong;
	if (from->left < RECORD_HEADER)
		return -EAGAIN;
	len = (size_t)from->at[3] << 8 | from->at[4];
	if (len == 0 || len > RECORD_MAX)
		return -EBADMSG;
	from->at += RECORD_HEADER;
	from->left -= RECORD_HEADER;
	*ret_len = len;
	return 0;
}

/* Validates from left to right, so that the result does not depend on how the bytes were split. */
static int collect(const uint8_t *bytes, size_t len, struct message *message, size_t *ret_bytes)
{
	struct reader from = { bytes, len };

	for (size_t records = 0; records < HELLO_MAX_RECORDS; records++) {
		struct reader part;
		size_t record = 0;
		int r = read_record_header(&from, records == 0, &record);

		if (r < 0)
			return r;
		read_bytes(&from, record < from.left ? record : from.left, &part);
		r = message_add(message, part, record);
		*ret_bytes = len - from.left;
		if (r != 0)
			return r < 0 ? r : 0;
		if (part.left < record)
			return -EAGAIN;
	}
	return -EBADMSG;
}

int hello_parse(const uint8_t *bytes, size_t len, struct hello *ret)
{
	struct message message;
	struct hello hello = { 0 };
	int r;

	message.have = 0;
	r = collect(bytes, len, &message, &hello.bytes);
	if (r < 0)
		return r;
	r = parse_body(
		(struct reader){ message.bytes + MESSAGE_HEADER, message.have - MESSAGE_HEADER },
		&hello);
	if (r < 0)
		return r;
	*ret = hello;
	return 0;
}
