/* dns_stub: a DNS server on 127.0.0.1 inside the test's own loop, UDP and TCP. It says what a table
 * tells it to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dns_stub;
struct loop;

struct dns_name {
	const char *name;
	const char *v4, *v6; /* addresses with a space between; NULL: none of that type */
	const char *v4_then; /* instead of @v4 from the second question on */
	const char *alias;   /* a CNAME in front: the addresses are this name's */
	uint16_t ttl_s, alias_ttl_s;
	uint8_t code;      /* RCODE for both types */
	uint8_t v6_code;   /* for AAAA alone */
	bool is_silent;    /* never answers */
	bool is_v6_silent; /* never answers AAAA */
	bool is_truncated; /* over UDP; whole over TCP */
};

struct dns_stub *dns_stub_new(struct loop *loop, const struct dns_name *names, size_t count);
void dns_stub_free(struct dns_stub *stub);
uint16_t dns_stub_port(const struct dns_stub *stub);
/* Questions seen for @name, any type; for NULL: all there were. */
unsigned int dns_stub_asked(const struct dns_stub *stub, const char *name);
unsigned int dns_stub_asked_by_tcp(const struct dns_stub *stub);
