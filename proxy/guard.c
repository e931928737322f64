#include "proxy/guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "proxy/admit.h"
#include "proxy/closing.h"
#include "proxy/parse/handshake.h"
#include "proxy/parse/hello.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

/* RFC 8446 §6: descriptions of the fatal alerts a refused hello gets. */
enum alert { ALERT_ACCESS_DENIED = 49, ALERT_UNRECOGNIZED_NAME = 112 };

struct guard {
	struct handshake handshake;
	size_t cleared; /* of session->in: judged */
};

/* Is what the hello says what was approved? An address that was approved needs no name, and any
 * name shown instead is another host. ECH with the approved outer name passes: what it may hide
 * cannot be told from the GREASE every browser sends, and the server that terminates it is the
 * approved one by address. */
static enum policy_reason judge(const struct hello *hello, const struct policy_destination *dst)
{
	struct policy_destination shown;

	if (!hello->has_server_name || !hello->server_name[0])
		return dst->addr.family ? POLICY_DONE : POLICY_NO_SERVER_NAME;
	if (policy_destination_set(&shown, hello->server_name, strlen(hello->server_name),
				   dst->port, NULL) < 0)
		return POLICY_HOST_MISMATCH;
	return strcmp(shown.host, dst->host) ? POLICY_HOST_MISMATCH : POLICY_DONE;
}

/* Nothing of it went upstream. A TLS client understands an alert; the others get an end. */
static void refuse(struct session *session, enum policy_reason reason, const char *cause)
{
	bool is_name = reason == POLICY_HOST_MISMATCH || reason == POLICY_NO_SERVER_NAME;
	uint8_t alert[] = {
		21, 3, 3, 0, 2, 2, is_name ? ALERT_UNRECOGNIZED_NAME : ALERT_ACCESS_DENIED
	};

	admit_record(session, reason, cause);
	if (reason != POLICY_NOT_TLS && leg_write_bytes(&session->client, alert, sizeof(alert)) < 0)
		session_close(session, POLICY_RESET);
	else
		closing_linger(session);
}

/* 0, or -EACCES: it was refused. */
static int judge_hello(struct session *session, const struct hello *hello)
{
	enum policy_reason reason = judge(hello, &session->request->facts.dst);
	char visible[80], cause[128] = "";

	if (reason == POLICY_DONE)
		return 0;
	if (reason == POLICY_HOST_MISMATCH) {
		(void)text_visible(visible, sizeof(visible), hello->server_name,
				   strlen(hello->server_name));
		(void)snprintf(cause, sizeof(cause), "the TLS hello names %s", visible);
	}
	refuse(session, reason, cause[0] ? cause : NULL);
	return -EACCES;
}

void guard_begin(struct session *session)
{
	session_enter(session, SESSION_HELLO);
	session_set_deadline(session, LIMITS_HELLO_MS);
	leg_want_read(&session->client, true);
	guard_on_hello(session);
}

/* Everything that is here and was not judged. Negative: the session is over. */
static int judge_input(struct session *session)
{
	struct guard *guard = session->guard;
	int step;

	do {
		const uint8_t *at = (const uint8_t *)buffer_at(&session->in) + guard->cleared;
		struct hello hello;
		size_t used = 0;

		step = handshake_client(&guard->handshake, at, session->in.len - guard->cleared,
					&used, &hello);
		if (step < 0) {
			refuse(session, POLICY_MALFORMED,
			       "what follows the TLS hello is no TLS handshake");
			return -EACCES;
		}
		if (step == HANDSHAKE_HELLO && judge_hello(session, &hello) < 0)
			return -EACCES;
		guard->cleared += used;
	} while (step == HANDSHAKE_HELLO);
	if (step == HANDSHAKE_OVER)
		free(take(session->guard));
	if (session->client.is_eof && guard_cleared(session) < session->in.len) {
		session_abort(session, POLICY_CLIENT_CLOSED); /* in the middle of a record */
		return -EPIPE;
	}
	return 0;
}

/* Reads on, and looks at what is there: also what came with the request. */
static int read_hello(struct session *session, struct hello *ret)
{
	ssize_t got = session->client.wants_read ? session_fill(session) : -EAGAIN;
	int r = -EAGAIN;

	if (got < 0 && got != -EAGAIN)
		return (int)got;
	if (session->in.len)
		r = hello_parse((const uint8_t *)buffer_at(&session->in), session->in.len, ret);
	return r == -EAGAIN && session->client.is_eof ? -ENODATA : r;
}

void guard_on_hello(struct session *session)
{
	struct hello hello;
	int r = read_hello(session, &hello);

	if (r == -EPROTO)
		refuse(session, POLICY_NOT_TLS, "the first bytes are no TLS handshake record");
	else if (r == -EBADMSG)
		refuse(session, POLICY_MALFORMED, "the TLS hello is malformed or too large");
	else if (r < 0 && r != -EAGAIN)
		session_close(session, r == -ENODATA ? POLICY_CLIENT_CLOSED : POLICY_RESET);
	if (r != 0 || judge_hello(session, &hello) < 0)
		return;
	session->guard = mem_new(sizeof(*session->guard));
	session->guard->cleared = hello.bytes;
	if (judge_input(session) == 0)
		tunnel_carry(session);
}

void guard_on_hello_deadline(struct session *session)
{
	if (session->in.len)
		refuse(session, POLICY_NOT_TLS, "no whole TLS hello came in time");
	else
		session_close(session, POLICY_CLIENT_TIMEOUT);
}

void guard_on_client(struct session *session)
{
	ssize_t got;

	if (!session->client.wants_read) {
		leg_stop_reading(&session->client);
		return;
	}
	got = session_fill(session);
	if (got == -EAGAIN)
		return;
	if (got < 0) {
		session_abort(session, POLICY_RESET);
		return;
	}
	session_set_deadline(session, LIMITS_TUNNEL_MS);
	if (judge_input(session) == 0)
		tunnel_send(session);
}

void guard_on_server(struct session *session, const char *bytes, size_t len)
{
	handshake_server(&session->guard->handshake, (const uint8_t *)bytes, len);
}

size_t guard_cleared(const struct session *session)
{
	return session->guard ? session->guard->cleared : session->in.len;
}

void guard_sent(struct session *session, size_t len)
{
	if (session->guard)
		session->guard->cleared -= len;
}
