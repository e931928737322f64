/* Messages of a run to the session that it joins, and of its worker: frames with descriptors, in
 * any order. There is no approver, so nothing may be allowed; a malformed frame ends that
 * connection, and the session continues. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/memfd.h"
#include "base/mem.h"
#include "cli/session/session_holder.h"
#include "cli/session/session_wire.h"
#include "gateway/approvers/approver_impl.h"
#include "gateway/gateway_open.h"
#include "gateway/state.h"
#include "gateway/link/link_impl.h"
#include "policies/policies_image.h"
#include "policies/policies_tools.h"
#include "tests/fuzz/fuzz.h"

/* A record of the input: a kind, a length of two bytes, and so many bytes. */
enum kind {
	KIND_FRAME,  /* alone */
	KIND_LISTS,  /* the same with two lists of texts, */
	KIND_ODD,    /* with invalid bytes, */
	KIND_SOCKET, /* with one end of a link; the other is the worker's from then on */
	KIND_WORKER, /* a frame of the worker */
	KIND_TIME,   /* it is later: so many seconds */
	KINDS
};

static const struct approver_ops *const none[] = { NULL };

static struct session_holder *the_holder;
static int run = -1, worker = -1; /* their ends */

/* The functions of the holder that session_guest.c calls. */
void session_holder_changed(struct session_holder *holder)
{
	fuzz_must(holder == the_holder);
}

int session_holder_terms(struct session_holder *holder, uint64_t exec, struct session_terms *ret,
			 struct err *why)
{
	*ret = (struct session_terms){ .exec = exec };
	for (size_t i = 0; i < SESSION_LISTS; i++)
		ret->lists[i] = mem_new_array(1, sizeof(char *));
	return exec == 3 ? err_set(why, -EINVAL, "not that one") : 0;
}

void session_holder_add_writable(struct session_holder *holder, char *const *writable)
{
	while (*writable)
		fuzz_must(**writable++ != '\0' || true); /* each is a text */
}

void session_holder_state(const struct session_holder *holder, struct session_state *ret)
{
	*ret = (struct session_state){ .since_s = 1, .runs = session_guest_runs(holder) };
}

void session_holder_stop(struct session_holder *holder)
{
	if (!holder->is_ending)
		session_guest_end_all(holder);
	holder->is_ending = true;
}

static void drain(int fd, bool is_worker)
{
	static struct frame frame;
	int fds[FD_PASS_MAX];
	size_t count = 0;

	while (fd >= 0 && frame_link_receive_on(fd, &frame, fds, &count) == 0) {
		struct policy_verdict verdict;
		uint64_t id;

		for (size_t i = 0; i < count; i++)
			fd_close(fds[i]);
		if (is_worker && frame.type == LINK_VERDICT &&
		    link_codec_get_verdict(&frame, &id, &verdict) == 0)
			fuzz_must(verdict.action == POLICY_DENY);
	}
}

static void settle(void)
{
	for (int i = 0; i < 30; i++)
		loop_step(the_holder->gate.loop);
	drain(run, false);
	drain(worker, true);
}

static int sealed(const char *bytes, size_t len)
{
	int fd = memfd_sealed("fuzz", MEMFD_DATA, bytes, len, NULL);

	fuzz_must(fd >= 0);
	return fd;
}

static void send_on(int fd, const uint8_t *bytes, size_t len, const int *fds, size_t count)
{
	struct frame frame = { 0 };

	if (fd < 0 || len < 2 || len - 2 > FRAME_MAX_BYTES)
		return;
	memcpy(&frame.type, bytes, 2);
	frame.len = (uint32_t)len - 2;
	memcpy(frame.bytes, bytes + 2, len - 2);
	(void)frame_link_send_on(fd, &frame, fds, count); /* it may have been hung up on */
}

static void send_lists(const uint8_t *bytes, size_t len)
{
	const int fds[] = { sealed("npm\0ci", 7), sealed("/tmp", 5) };

	send_on(run, bytes, len, fds, 2);
	fd_close(fds[0]);
	fd_close(fds[1]);
}

/* Texts without an end, and descriptors that are not memory. */
static void send_odd(const uint8_t *bytes, size_t len)
{
	int ends[2];

	fuzz_must(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	const int fds[] = { sealed("npm", 3), ends[0], ends[1] };

	send_on(run, bytes, len, fds, len % 3 + 1);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fd_close(fds[i]);
}

static void send_socket(const uint8_t *bytes, size_t len)
{
	int pair[2];
	struct frame hello;

	fuzz_must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	send_on(run, bytes, len, pair, 1);
	fd_close(pair[0]);
	fd_close(worker);
	worker = pair[1];
	link_codec_put_hello(&hello);
	(void)frame_link_send_on(worker, &hello, NULL, 0);
}

static void play(enum kind kind, const uint8_t *bytes, size_t len)
{
	switch (kind) {
	case KIND_FRAME:
		send_on(run, bytes, len, NULL, 0);
		break;
	case KIND_LISTS:
		send_lists(bytes, len);
		break;
	case KIND_ODD:
		send_odd(bytes, len);
		break;
	case KIND_SOCKET:
		send_socket(bytes, len);
		break;
	case KIND_WORKER:
		send_on(worker, bytes, len, NULL, 0);
		break;
	case KIND_TIME:
		loop_advance(the_holder->gate.loop, (int64_t)len * 1000);
		break;
	case KINDS:
	default:
		break;
	}
	settle();
}

static struct policy *asking(void)
{
	struct policy *policy = policy_new();

	fuzz_must(policy_load_text(policy, "<fuzz>", "version 1\ndefault ask\n") == 0 &&
		  policy_finish(policy) == 0);
	return policy;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct session_holder holder = { .gate = GATE_NONE };
	struct policy *policy = asking();
	const struct gateway_config config = { .policy = policy, .session = "fuzz", .run = "7f3a" };
	int pair[2];

	the_holder = &holder;
	LIST_INIT(&holder.guests);
	holder.gate.loop = loop_new_fake();
	holder.gate.gateway = gateway_open_with(holder.gate.loop, &config, none, NULL);
	holder.gate.loaded.image = policy_image_make(policy, NULL);
	fuzz_must(holder.gate.gateway && holder.gate.loaded.image >= 0 &&
		  socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	run = pair[1];
	session_guest_admit(&holder, pair[0]);
	for (size_t at = 0; at + 3 <= len;) {
		size_t size = bytes[at + 1] | (size_t)bytes[at + 2] << 8;
		enum kind kind = (enum kind)(bytes[at] % KINDS);

		at += 3;
		size = size < len - at ? size : len - at;
		play(kind, bytes + at, size);
		at += size;
	}
	fuzz_must(holder.guest_count <= 1 && session_guest_runs(&holder) <= holder.guest_count);
	session_guest_end_all(&holder);
	settle();
	session_guest_free_all(&holder);
	fuzz_must(holder.guest_count == 0);
	gateway_free(holder.gate.gateway);
	settle();
	fd_close(fd_take(&run));
	fd_close(fd_take(&worker));
	fd_close(holder.gate.loaded.image);
	loop_free(holder.gate.loop);
	policy_free(policy);
	return 0;
}
