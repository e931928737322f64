/* netlink: packs messages for rtnetlink(7) and nf_tables into one buffer, and sends them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define NETLINK_BYTES 4096

struct netlink_batch {
	_Alignas(8) char bytes[NETLINK_BYTES];
	size_t len;
	size_t message; /* where the last message begins */
	uint32_t sent;  /* messages: their sequence numbers are 1 to @sent */
	int error;      /* -ENOBUFS: it did not fit */
};

/* Adds one message with @body, @size bytes. The kernel acknowledges it if @flags has NLM_F_ACK. */
void netlink_add(struct netlink_batch *batch, uint16_t type, uint16_t flags, const void *body,
		 size_t size);
/* Adds an attribute to the last message. */
void netlink_put(struct netlink_batch *batch, uint16_t type, const void *value, size_t size);
void netlink_put_u32(struct netlink_batch *batch, uint16_t type, uint32_t value); /* big-endian */
void netlink_put_text(struct netlink_batch *batch, uint16_t type, const char *text);
/* What is put until netlink_end() is inside this attribute. */
size_t netlink_begin(struct netlink_batch *batch, uint16_t type);
void netlink_end(struct netlink_batch *batch, size_t begun);
/* Sends all over a socket of @protocol, and waits for the answer to the last message, which must
 * ask for one. 0, or the first error, -errno. */
int netlink_send(struct netlink_batch *batch, int protocol);
