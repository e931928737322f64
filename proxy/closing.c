#include "proxy/closing.h"

#include <errno.h>

#include "proxy/exchange.h"
#include "proxy/session.h"

void closing_linger(struct session *session)
{
	session_end_request(session);
	session_drop_upstream(session);
	buffer_clear(&session->in);
	session_enter(session, SESSION_LINGER);
	session_set_deadline(session, LIMITS_LINGER_MS);
	session->discard = LIMITS_LINGER_BYTES;
	leg_shut(&session->client);
	leg_want_read(&session->client, true);
	closing_on_client_drained(session);
}

void closing_finish(struct session *session)
{
	/* A close with nothing unread is a clean end, and costs no further turn of the loop. */
	if (!session->in.len && !leg_is_blocked(&session->client) &&
	    !leg_has_unread(&session->client))
		session_close(session, POLICY_DONE);
	else
		closing_linger(session);
}

/* Both ends are done with it. */
void closing_on_client_drained(struct session *session)
{
	if (session->client.is_eof && !leg_is_blocked(&session->client))
		session_close(session, POLICY_DONE);
}

static void discard_body(struct session *session, char *bytes, size_t len)
{
	struct body *body = &session->exchange->up;
	struct iovec parts[BODY_PARTS];
	int count;
	size_t used = 0;
	int r = body_feed(body, bytes, len, &used, parts, &count);

	if (r < 0 || used > session->discard) {
		closing_linger(session);
		return;
	}
	session->discard -= used;
	if (!body->is_done)
		return;
	(void)buffer_append(&session->in, bytes + used, len - used, LIMITS_INPUT_BYTES);
	session_next(session);
}

void closing_drain(struct session *session)
{
	struct buffer bytes = session->in;

	session->in = (struct buffer){ 0 };
	session_enter(session, SESSION_DRAIN);
	session_set_deadline(session, LIMITS_DRAIN_MS);
	session->discard = LIMITS_DRAIN_BYTES;
	leg_want_read(&session->client, true);
	if (bytes.len)
		discard_body(session, buffer_at(&bytes), bytes.len);
	buffer_clear(&bytes);
}

/* The rest of @session->in cannot grow beyond one read, which is no more than may be discarded. */
void closing_on_client(struct session *session)
{
	char *bytes = session->proxy->shared.bytes;
	ssize_t got = leg_read(&session->client, bytes, LIMITS_READ_MIN);

	if (got == -EAGAIN)
		return;
	if (got < 0 || (got == 0 && session->state == SESSION_DRAIN)) {
		session_close(session, got ? POLICY_RESET : POLICY_CLIENT_CLOSED);
		return;
	}
	if (session->state == SESSION_DRAIN) {
		discard_body(session, bytes, (size_t)got);
		return;
	}
	if ((size_t)got > session->discard) {
		session_close(session, POLICY_DONE);
		return;
	}
	session->discard -= (size_t)got;
	closing_on_client_drained(session);
}

void closing_on_deadline(struct session *session)
{
	session_close(session, POLICY_IDLE);
}
