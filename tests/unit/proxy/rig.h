/* rig: a real proxy between scripted clients and scripted servers on loopback, with a gateway that
 * answers as the test says. */
#pragma once

#include <check.h>
#include <stdbool.h>

#include "base/loop.h"
#include "base/mem.h"
#include "gateway/gateway.h"
#include "proxy/proxy.h"
#include "proxy/proxy_service.h"

TCase *test_association(void);
TCase *test_body(void);
TCase *test_cut(void);
TCase *test_exchange(void);
TCase *test_fixed(void);
TCase *test_flow(void);
TCase *test_held(void);
TCase *test_own(void);
TCase *test_limits(void);
TCase *test_nameserver(void);
TCase *test_published(void);
TCase *test_refusal(void);
TCase *test_refused(void);
TCase *test_rewrite(void);
TCase *test_seen(void);
TCase *test_service(void);
TCase *test_slow(void);
TCase *test_socks5(void);
TCase *test_tunnel(void);
TCase *test_upstream(void);
TCase *test_way(void);

#define RIG_EXEC        7
#define RIG_REPORTS_MAX 64
#define RIG_TEXT_MAX    131072

enum rig_way { RIG_HTTP, RIG_SOCKS, RIG_PUBLISHED, RIG_SERVICE, RIG_WAYS };

/* What the gateway says of a host: "denied.test" a rule denies, "held.test" waits for rig_answer(),
 * every other is allowed. */
struct rig {
	struct loop *loop;
	struct policy *policy;
	struct proxy_mapping mappings[4];
	struct proxy_published published; /* leads to @port */
	struct proxy_service service;     /* of rig_init_service() */
	struct proxy_config config;
	struct gateway_client *client;
	struct proxy *proxy;
	int inner;                    /* the init's end */
	uint16_t ports[RIG_WAYS];     /* of the listeners */
	int server;                   /* listens for a.test, b.test and the others */
	uint16_t port;                /* of it */
	uint16_t dead;                /* a port without a listener */
	enum policy_protocol promise; /* of every allow; none: what the facts carry */
	enum policy_reason reason;    /* of every allow; none: a rule's */
	size_t submits, withdrawals;
	struct gateway_ticket *held; /* the last that waits */
	struct gateway_ticket *live; /* the last that was allowed, unless reported */
	size_t live_count;
	gateway_cut_fn on_cut;
	bool cuts_at_once;           /* whatever was allowed */
	struct policy_limits limits; /* of every allow */
	uint64_t left[GATEWAY_WAYS]; /* of the budgets of all */
	uint64_t lease;              /* given at a time */
	bool keeps_leases;           /* does not answer requests for leases */
	size_t asks, returns;
	gateway_lease_fn on_lease;
	struct policy_facts asked; /* the last */
	struct gateway_report reports[RIG_REPORTS_MAX];
	size_t report_count;
	size_t drains; /* how often the proxy has said that nothing is open */
};

void rig_init(struct rig *rig);
/* The same with RIG_SERVICE, for clients outside of every sandbox: @service without listeners. */
void rig_init_service(struct rig *rig, const struct proxy_service *service);
/* Checks that nothing is left over. */
void rig_done(struct rig *rig);

/* "{a}" is a.test:PORT of the server, "{b}", "{denied}", "{held}" likewise, "{gone}" is a.test at
 * the dead port. Returned owned. */
char *rig_expand(const struct rig *rig, const char *text);

int rig_connect(struct rig *rig, enum rig_way way);
/* The next connection at the server. Fails the test when none comes. */
int rig_accept(struct rig *rig);
/* True when none comes. */
bool rig_is_undialled(struct rig *rig);

/* All of it; expanded. */
void rig_send(struct rig *rig, int fd, const char *text);
void rig_send_bytes(struct rig *rig, int fd, const void *bytes, size_t len);
/* Exactly these bytes come next; expanded. */
void rig_expect(struct rig *rig, int fd, const char *text);
void rig_expect_bytes(struct rig *rig, int fd, const void *bytes, size_t len);
/* What comes up to and with @end, or until the end of the stream (NULL). Returned owned. */
char *rig_read(struct rig *rig, int fd, const char *end);
/* Nothing more comes, and the stream has ended (by a reset: @is_reset). */
void rig_expect_end(struct rig *rig, int fd, bool is_reset);
/* Nothing comes, and the stream has not ended. */
void rig_expect_quiet(struct rig *rig, int fd);
void rig_shut(struct rig *rig, int fd);
void rig_close(struct rig *rig, int fd);
void rig_settle(struct rig *rig);

/* Answers rig->held. */
void rig_answer(struct rig *rig, enum policy_action action, enum policy_reason reason);
/* Recalls the unused lease of rig->live. */
void rig_recall(struct rig *rig);
/* Revokes the permission of rig->live. */
void rig_cut(struct rig *rig);
/* The only report so far, or the last of @count. */
const struct gateway_report *rig_report(struct rig *rig, size_t count);
