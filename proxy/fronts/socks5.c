/* The SOCKS5 front: RFC 1928 CONNECT and UDP ASSOCIATE with names and addresses. In a run without
 * authentication, or with a user name that is accepted and ignored: the listener identifies the
 * command. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "policies/policies_gate.h"
#include "proxy/admit.h"
#include "proxy/association.h"
#include "proxy/config.h"
#include "proxy/relay/closing.h"
#include "proxy/fronts/front_impl.h"
#include "proxy/parse/socks5.h"
#include "proxy/connection.h"
#include "proxy/relay/tunnel.h"
#include "proxy/service.h"

enum socks5_step { STEP_GREETING, STEP_LOGIN, STEP_REQUEST };

#define METHOD_LOGIN 2

/* RFC 1928 §6 has few reply codes. A denial by policy or by a person is "not allowed by ruleset". A
 * question that nobody answered is a general failure, because a second try may be allowed. */
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
	case POLICY_NO_APPROVER:
	case POLICY_PROMPT_TIMEOUT:
	case POLICY_APPROVER_GONE:
		return SOCKS5_FAILURE;
	default:
		return policy_reason_status(reason) == 403 ? SOCKS5_NOT_ALLOWED : SOCKS5_FAILURE;
	}
}

static void say_and_close(struct connection *connection, enum socks5_reply reply)
{
	uint8_t words[SOCKS5_REPLY_BYTES];

	socks5_write_reply(reply, words);
	connection_drop_upstream(connection);
	if (leg_write_bytes(&connection->client, words, sizeof(words)) < 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	else
		closing_linger(connection);
}

static void on_refused(struct connection *connection, const struct refusal *refusal)
{
	/* Before the request no reply is defined: the client does not speak SOCKS5, or was too
	 * slow. */
	if (connection->front_step != STEP_REQUEST)
		connection_close(connection, refusal->reason);
	else
		say_and_close(connection, reply_of(refusal->reason));
}

static void on_connected(struct connection *connection)
{
	uint8_t words[SOCKS5_REPLY_BYTES];

	socks5_write_reply(SOCKS5_OK, words);
	if (leg_write_bytes(&connection->client, words, sizeof(words)) < 0)
		connection_close(connection, POLICY_CLIENT_LEFT);
	else
		tunnel_begin(connection);
}

static int say_step(struct connection *connection, uint8_t version, uint8_t value,
		    enum socks5_step next)
{
	uint8_t words[2] = { version, value };

	connection->front_step = next;
	if (leg_write_bytes(&connection->client, words, sizeof(words)) < 0)
		connection_close(connection, POLICY_CLIENT_CLOSED);
	return 0;
}

/* The last message before the request: says no, for @reason. */
static int end_step(struct connection *connection, uint8_t version, uint8_t value,
		    enum policy_reason reason)
{
	(void)say_step(connection, version, value, STEP_GREETING);
	if (connection->state == CONNECTION_HEAD)
		admit_record(connection, reason,
			     reason == POLICY_UNSUPPORTED
				     ? "the client offers no supported SOCKS5 method"
				     : NULL);
	if (connection->state == CONNECTION_HEAD)
		closing_linger(connection);
	return 0;
}

/* A client that may send a name and a secret is asked for them; one that must, and cannot, is
 * refused. Returns the reason of a refusal. */
static enum policy_reason choose_method(const struct connection *connection, const uint8_t *bytes,
					size_t len, uint8_t *method)
{
	enum policy_reason unknown = service_admit_unnamed(connection);

	if (service_has_logins(connection->proxy) && memchr(bytes + 2, METHOD_LOGIN, len - 2))
		*method = METHOD_LOGIN;
	else if (unknown != POLICY_NONE)
		*method = SOCKS5_NO_METHOD;
	return unknown != POLICY_NONE ? unknown : POLICY_UNSUPPORTED;
}

static int take_greeting(struct connection *connection, const uint8_t *bytes)
{
	enum policy_reason unknown;
	uint8_t method = SOCKS5_NO_METHOD;
	int used = socks5_parse_greeting(bytes, connection->in.len, &method);

	if (used < 0)
		return used;
	unknown = choose_method(connection, bytes, (size_t)used, &method);
	buffer_consume(&connection->in, (size_t)used);
	if (method == SOCKS5_NO_METHOD)
		return end_step(connection, 5, method, unknown);
	return say_step(connection, 5, method, method == METHOD_LOGIN ? STEP_LOGIN : STEP_REQUEST);
}

/* RFC 1929 §2: the parser has seen that everything is there. */
static enum policy_reason log_in(struct connection *connection, const uint8_t *bytes)
{
	const uint8_t *secret = bytes + 2 + bytes[1];

	if (!service_has_logins(connection->proxy))
		return POLICY_NONE;
	return service_login(connection, (const char *)bytes + 2, bytes[1], secret + 1, secret[0]);
}

static int take_login(struct connection *connection, const uint8_t *bytes)
{
	int used = socks5_parse_login(bytes, connection->in.len);

	if (used < 0)
		return used;
	enum policy_reason refused = log_in(connection, bytes);

	buffer_consume(&connection->in, (size_t)used);
	return refused == POLICY_NONE ? say_step(connection, 1, 0, STEP_REQUEST)
				      : end_step(connection, 1, 1, refused);
}

/* Why there is no association; NULL: there may be one. */
static const char *refuse_association(const struct connection *connection)
{
	if (connection->proxy->service)
		return "UDP is relayed only for a command in a sandbox";
	return policy_wants_udp(connection->proxy->config->policy)
		       ? NULL
		       : "no UDP leaves: no rule allows, or asks about, a destination of udp";
}

static void submit(struct connection *connection, const struct socks5_request *request)
{
	struct policy_facts facts = { .way = POLICY_WAY_SOCKS5, .exec = connection->way->exec };
	struct err why = { 0 };

	const char *refused = "the SOCKS5 commands are CONNECT and UDP ASSOCIATE";

	if (request->command == SOCKS5_UDP_ASSOCIATE) {
		refused = refuse_association(connection);
		if (!refused) {
			association_begin(connection, request->port);
			return;
		}
	}
	if (request->command != SOCKS5_CONNECT) {
		admit_record(connection, POLICY_UNSUPPORTED, refused);
		say_and_close(connection, SOCKS5_COMMAND_UNSUPPORTED);
		return;
	}
	if (policy_destination_set(&facts.dst, request->host, request->host_len, request->port,
				   &why) < 0) {
		admit_refuse(connection, POLICY_BAD_HOST, why.text);
		return;
	}
	way_resolve(connection->way, &facts.dst);
	facts.carries = policy_protocol_of_port(facts.dst.port);
	admit_begin(connection, &facts);
	if (way_is_own(connection->way, &facts.dst))
		admit_refuse(connection, POLICY_OWN_LISTENER, way_own_cause(connection->way));
	else
		admit_submit(connection, NULL);
}

static int take_request(struct connection *connection, const uint8_t *bytes)
{
	struct socks5_request request;
	int used = socks5_parse_request(bytes, connection->in.len, &request);

	if (used == -EAFNOSUPPORT) {
		admit_record(connection, POLICY_UNSUPPORTED, "unknown SOCKS5 address type");
		say_and_close(connection, SOCKS5_ADDRESS_UNSUPPORTED);
		return 0;
	}
	if (used < 0)
		return used;
	buffer_consume(&connection->in, (size_t)used);
	submit(connection, &request);
	return 0;
}

static int on_input(struct connection *connection)
{
	static int (*const steps[])(struct connection * connection, const uint8_t *bytes) = {
		[STEP_GREETING] = take_greeting,
		[STEP_LOGIN] = take_login,
		[STEP_REQUEST] = take_request,
	};
	int r = steps[connection->front_step](connection,
					      (const uint8_t *)buffer_at(&connection->in));

	if (r >= 0 || r == -EAGAIN)
		return r;
	admit_refuse(connection, POLICY_MALFORMED, "the client does not speak SOCKS5");
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
		.on_end = association_end,
	};

	return &front;
}
