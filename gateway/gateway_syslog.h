/* gateway_syslog: where records are sent by the syslog protocol, besides the audit log. */
#pragma once

#include <sys/socket.h>

/* A plain value. */
struct gateway_syslog {
	const char *name; /* as it was given, for messages; borrowed until gateway_free() */
	int type;         /* SOCK_DGRAM: one record in a datagram; SOCK_STREAM: with its length */
	struct sockaddr_storage address;
	socklen_t address_len;
};
