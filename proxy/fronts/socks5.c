/* The SOCKS5 front: RFC 1928 CONNECT with names and addresses; no authentication, or a user name
 * that is accepted and forgotten: who asks is known by the listener. */
#include <errno.h>

#include "base/err.h"
#include "proxy/admit.h"
#include "proxy/closing.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/parse/socks5.h"
#include "proxy/session.h"
#include "proxy/tunnel.h"

enum socks5_step { STEP_GREETING, STEP_LOGIN, STEP_REQUEST };

#define METHOD_LOGIN 2

/* The reply codes of RFC 1928 §6 are few: what a person said no to and what policy refuses are "not
 * allowed by ruleset". */
static enum socks5_reply reply_of(enum policy_reason reason)
{
	switch ((int)reason) {
	case POLICY_DNS_FAILED:
	case POLICY_DNS_TIMEOUT:
	case POLICY_CONNECT_TIMEOUT:
		return SOCKS5_HOST_UNREACHABLE;
	case POLICY_CONNECT_UNREACHABLE:
		return SOCKS5_NETWORK_UNREACHABLE;
	case POLICY_CONNECT_REFUSED:
		return SOCKS5_REFUSED;
	case POLICY_RATE_LIMITED:
		return SOCKS5_NOT_ALLOWED;
	default:
		return policy_reason_status(reason) == 403 ? SOCKS5_NOT_ALLOWED : SOCKS5_FAILURE;
	}
}

static void say_and_close(struct session *session, enum socks5_reply reply)
{
	uint8_t words[SOCKS5_REPLY_BYTES];

	socks5_write_reply(reply, words);
	session_drop_upstream(session);
	if (leg_write_bytes(&session->client, words, sizeof(words)) < 0)
		session_close(session, POLICY_CLIENT_CLOSED);
	else
		closing_linger(session);
}

static void on_refused(struct session *session, const struct refusal *refusal)
{
	/* Before the request there is no reply to give: the client is not speaking SOCKS5, or not
	 * in time. */
	if (session->front_step != STEP_REQUEST)
		session_close(session, refusal->reason);
	else
		say_and_close(session, reply_of(refusal->reason));
}

static void on_connected(struct session *session)
{
	uint8_t words[SOCKS5_REPLY_BYTES];

	socks5_write_reply(SOCKS5_OK, words);
	if (leg_write_bytes(&session->client, words, sizeof(words)) < 0)
		session_close(session, POLICY_CLIENT_LEFT);
	else
		tunnel_begin(session);
}

static int say_step(struct session *session, uint8_t version, uint8_t value, enum socks5_step next)
{
	uint8_t words[2] = { version, value };

	session->front_step = next;
	if (leg_write_bytes(&session->client, words, sizeof(words)) < 0)
		session_close(session, POLICY_CLIENT_CLOSED);
	return 0;
}

static int take_greeting(struct session *session, const uint8_t *bytes)
{
	uint8_t method = SOCKS5_NO_METHOD;
	int used = socks5_parse_greeting(bytes, session->in.len, &method);

	if (used < 0)
		return used;
	buffer_consume(&session->in, (size_t)used);
	if (method == SOCKS5_NO_METHOD) {
		(void)say_step(session, 5, method, STEP_GREETING);
		if (session->state == SESSION_HEAD)
			admit_record(session, POLICY_UNSUPPORTED, "no common SOCKS5 method");
		if (session->state == SESSION_HEAD)
			closing_linger(session);
		return 0;
	}
	return say_step(session, 5, method, method == METHOD_LOGIN ? STEP_LOGIN : STEP_REQUEST);
}

static int take_login(struct session *session, const uint8_t *bytes)
{
	int used = socks5_parse_login(bytes, session->in.len);

	if (used < 0)
		return used;
	buffer_consume(&session->in, (size_t)used);
	return say_step(session, 1, 0, STEP_REQUEST);
}

static void submit(struct session *session, const struct socks5_request *request)
{
	struct policy_facts facts = { .way = POLICY_WAY_SOCKS5, .exec = session->way->exec };
	struct err why = { 0 };

	if (request->command != SOCKS5_CONNECT) {
		admit_record(session, POLICY_UNSUPPORTED, "of SOCKS5 only CONNECT is carried");
		say_and_close(session, SOCKS5_COMMAND_UNSUPPORTED);
		return;
	}
	if (policy_destination_set(&facts.dst, request->host, request->host_len, request->port,
				   &why) < 0) {
		admit_refuse(session, POLICY_BAD_HOST, why.text);
		return;
	}
	facts.carries = policy_protocol_of_port(facts.dst.port);
	admit_begin(session, &facts);
	if (way_is_own(session->way, &facts.dst))
		admit_refuse(session, POLICY_OWN_LISTENER, NULL);
	else
		admit_submit(session, NULL);
}

static int take_request(struct session *session, const uint8_t *bytes)
{
	struct socks5_request request;
	int used = socks5_parse_request(bytes, session->in.len, &request);

	if (used == -EAFNOSUPPORT) {
		admit_record(session, POLICY_UNSUPPORTED, "unknown SOCKS5 address type");
		say_and_close(session, SOCKS5_ADDRESS_UNSUPPORTED);
		return 0;
	}
	if (used < 0)
		return used;
	buffer_consume(&session->in, (size_t)used);
	submit(session, &request);
	return 0;
}

static int on_input(struct session *session)
{
	static int (*const steps[])(struct session * session, const uint8_t *bytes) = {
		[STEP_GREETING] = take_greeting,
		[STEP_LOGIN] = take_login,
		[STEP_REQUEST] = take_request,
	};
	int r = steps[session->front_step](session, (const uint8_t *)buffer_at(&session->in));

	if (r >= 0 || r == -EAGAIN)
		return r;
	admit_refuse(session, POLICY_MALFORMED, "that is not SOCKS5");
	return 0;
}

const struct front *socks5_front(void)
{
	static const struct front front = {
		.name = "socks5",
		.way = POLICY_WAY_SOCKS5,
		.on_input = on_input,
		.on_refused = on_refused,
		.on_connected = on_connected,
	};

	return &front;
}
