/* The reply of a session to a run that joins it: a frame, and then the bytes of its lists. After
 * reading and writing, the contents are the same. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/memfd.h"
#include "base/mem.h"
#include "cli/session/session_wire.h"
#include "gateway/bundle/bundle.h"
#include "tests/fuzz/fuzz.h"

static int sealed(const uint8_t *bytes, size_t len)
{
	int fd = memfd_sealed("fuzz", MEMFD_DATA, bytes, len, NULL);

	fuzz_must(fd >= 0);
	return fd;
}

static void must_say_the_same(const struct frame *before, const struct frame *after)
{
	fuzz_must(!after->is_bad && before->type == after->type && before->len == after->len &&
		  memcmp(before->bytes, after->bytes, before->len) == 0);
}

/* The first list is the facts; the others have what is left. */
static void read_terms(struct frame *frame, const uint8_t *rest, size_t len)
{
	struct session_terms terms;
	struct frame again;
	struct err why = { 0 };
	int fds[SESSION_LISTS];
	size_t first = len < 64 ? len : 64;

	for (size_t i = 0; i < SESSION_LISTS; i++)
		fds[i] = i == 0 ? sealed(rest, first) : sealed(rest + first, len - first);
	int r = session_wire_get_terms(frame, fds, SESSION_LISTS, &terms, &why);

	fuzz_must((r == 0) == (why.text[0] == '\0'));
	if (r == 0) {
		uint8_t has_default = frame->bytes[10];

		fuzz_must(terms.exec != 0 && terms.facts[SESSION_FACTS - 1] &&
			  !terms.facts[SESSION_FACTS]);
		fuzz_must(session_wire_put_terms(&again, &terms, fds, &why) == 0);
		for (size_t i = 0; i < SESSION_LISTS; i++)
			fd_close(fds[i]);
		if (has_default <= 1)
			must_say_the_same(frame, &again);
	}
	session_wire_free_terms(&terms);
}

static void read_begin(struct frame *frame, const uint8_t *rest, size_t len)
{
	struct session_begin begin;
	struct frame again;
	struct err why = { 0 };
	int fds[SESSION_BEGIN_LISTS] = { sealed(rest, len), sealed(rest, len / 2) };

	if (session_wire_get_begin(frame, fds, SESSION_BEGIN_LISTS, &begin, &why) == 0) {
		fuzz_must(session_wire_put_begin(&again, &begin, fds, &why) == 0);
		fd_close(fds[0]);
		fd_close(fds[1]);
		must_say_the_same(frame, &again);
	}
	session_wire_free_begin(&begin);
}

static void read_over(struct frame *frame, const uint8_t *rest, size_t len)
{
	struct bundle *bundle = bundle_new();
	struct gateway_trip trip;
	struct err why = { 0 };
	struct frame again;

	if (session_wire_get_trip(frame, &trip) == 0) {
		session_wire_put_trip(&again, (enum session_frame)frame->type, &trip);
		fuzz_must(!again.is_bad && session_wire_get_trip(&again, &trip) == 0);
	}
	int r = session_bundle_unpack(sealed(rest, len), bundle, &why);

	fuzz_must((r == 0) == (why.text[0] == '\0') && (r == 0 || bundle_count(bundle) == 0));
	bundle_free(bundle);
}

static void read_state(struct frame *frame)
{
	struct session_state state;
	struct frame again;

	if (session_wire_get_state(frame, &state) < 0)
		return;
	session_wire_put_state(&again, &state);
	must_say_the_same(frame, &again);
}

/* As it comes, where words or a greeting may be in its place. */
static void expect(const struct frame *frame)
{
	struct timeval soon = { .tv_usec = 1000 };
	struct frame got;
	struct err why = { 0 };
	int pair[2], fds[FD_PASS_MAX];
	size_t count = 0;

	fuzz_must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	(void)setsockopt(pair[1], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon));
	fuzz_must(frame_link_send_on(pair[0], frame, NULL, 0) == 0);
	int r = session_wire_expect(pair[1], SESSION_HELLO, &got, fds, &count, &why);

	fuzz_must((r == 0) == (why.text[0] == '\0') && count == 0);
	for (const char *at = why.text; *at; at++)
		fuzz_must(*at >= 0x20 && *at < 0x7f);
	if (r == 0)
		(void)session_wire_check_hello(&got, &why);
	fd_close(pair[0]);
	fd_close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct frame frame = { 0 };
	size_t size = len < 4 ? 0 : bytes[2] | (size_t)bytes[3] << 8;

	if (len < 4 || size > len - 4 || size > FRAME_MAX_BYTES)
		return 0;
	memcpy(&frame.type, bytes, 2);
	frame.len = (uint32_t)size;
	memcpy(frame.bytes, bytes + 4, size);
	const uint8_t *rest = bytes + 4 + size;

	len -= 4 + size;
	expect(&frame);
	if (frame.type == SESSION_TERMS)
		read_terms(&frame, rest, len);
	else if (frame.type == SESSION_BEGIN)
		read_begin(&frame, rest, len);
	else if (frame.type == SESSION_OVER || frame.type == SESSION_TRIP)
		read_over(&frame, rest, len);
	else if (frame.type == SESSION_STATE)
		read_state(&frame);
	return 0;
}
