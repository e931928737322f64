#include <errno.h>
#include <string.h>

#include "proxy/parse/socks5.h"
#include "tests/fuzz/fuzz.h"

/* The three messages, called alike. */
static int parse_greeting(const uint8_t *bytes, size_t len)
{
	uint8_t method = 1;
	int r = socks5_parse_greeting(bytes, len, &method);

	fuzz_must(r < 0 || method == 0 || method == 2 || method == SOCKS5_NO_METHOD);
	fuzz_must(r >= 0 || method == 1);
	return r;
}

static int parse_request(const uint8_t *bytes, size_t len)
{
	struct socks5_request request = { .host_len = 4096 };
	int r = socks5_parse_request(bytes, len, &request);

	if (r < 0) {
		fuzz_must(request.host_len == 4096);
		return r;
	}
	fuzz_must(request.host_len > 0 && request.host_len < sizeof(request.host));
	fuzz_must(request.host[request.host_len] == '\0');
	fuzz_must(request.port > 0 || request.command != SOCKS5_CONNECT);
	/* Of addresses we made the text; of names, every byte is as sent. */
	if (request.address_type == 3)
		fuzz_must(memcmp(request.host, bytes + 5, request.host_len) == 0);
	else
		fuzz_must(strlen(request.host) == request.host_len);
	return r;
}

/* It is whole, or of no use. */
static void check_datagram(const uint8_t *bytes, size_t len)
{
	struct socks5_request dst = { .host_len = 4096 };
	int r = socks5_parse_datagram(bytes, len, &dst);

	fuzz_must(r == -EBADMSG || r == -EOPNOTSUPP || r == -EAFNOSUPPORT || r >= 8);
	fuzz_must(r <= SOCKS5_MESSAGE_MAX && (r < 0 || (size_t)r <= len));
	if (r < 0) {
		fuzz_must(dst.host_len == 4096);
		return;
	}
	fuzz_must(bytes[0] == 0 && bytes[1] == 0 && bytes[2] == 0);
	fuzz_must(dst.port > 0 && dst.host_len > 0 && dst.host_len < sizeof(dst.host));
	fuzz_must(dst.host[dst.host_len] == '\0');
	/* The head alone says the same. */
	fuzz_must(socks5_parse_datagram(bytes, (size_t)r, &dst) == r);
	fuzz_must(socks5_parse_datagram(bytes, (size_t)r - 1, &dst) == -EBADMSG);
}

static void check(int (*parse)(const uint8_t *bytes, size_t len), const uint8_t *bytes, size_t len)
{
	int want = parse(bytes, len);
	int r = -EAGAIN;

	fuzz_must(want == -EAGAIN || want == -EBADMSG || want == -EAFNOSUPPORT || want > 0);
	fuzz_must(want <= (int)SOCKS5_MESSAGE_MAX * 2 && (want < 0 || (size_t)want <= len));
	/* The first answer, byte by byte, is the answer; and it takes every byte it needs. */
	for (size_t at = 0; at <= len && r == -EAGAIN; at++) {
		r = parse(bytes, at);
		fuzz_must(r < 0 || (size_t)r == at);
	}
	fuzz_must(r == want);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	check(parse_greeting, bytes, len);
	check(socks5_parse_login, bytes, len);
	check(parse_request, bytes, len);
	check_datagram(bytes, len);
	return 0;
}
