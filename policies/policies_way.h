/* policies_way: how a request reached the gate. Never part of the key. */
#pragma once

enum policy_way {
	POLICY_WAY_NONE,
	POLICY_WAY_HTTP,
	POLICY_WAY_CONNECT,
	POLICY_WAY_SOCKS5,
	POLICY_WAY_CAPTURED,      /* the client did not use the proxy: a tunnel, */
	POLICY_WAY_CAPTURED_HTTP, /* or a request */
	POLICY_WAY_PUBLISHED,     /* a client on the host, of a server of the command */
	POLICY_WAYS
};

/* Static: "connect". */
const char *policy_way_name(enum policy_way way);
