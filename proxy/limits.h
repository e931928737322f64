/* limits: every number the data path is held to, in one place. Each has an entry in sallyport(1).
 */
#pragma once

#define LIMITS_CONNECTIONS_MAX 4096 /* of clients, per exec; one more is told "overloaded" */
#define LIMITS_ACCEPT_BATCH    64   /* connections accepted before the others get their turn */
#define LIMITS_ACCEPT_PAUSE_MS 1000 /* after EMFILE, ENFILE, ENOBUFS, ENOMEM */

#define LIMITS_HEAD_MS       30000   /* from the first moment a head may come to its last byte */
#define LIMITS_KEEP_ALIVE_MS 75000   /* between two requests */
#define LIMITS_HELLO_MS      5000    /* for a TLS hello, once the tunnel stands */
#define LIMITS_WATCH_MS      1000    /* how often a held client is looked at */
#define LIMITS_EXCHANGE_MS   300000  /* without a byte, while an HTTP exchange is under way */
#define LIMITS_TUNNEL_MS     3600000 /* without a byte, in a tunnel */
#define LIMITS_LEASE_MS      5000    /* for the gateway to say what may be moved */
#define LIMITS_LINGER_MS     2000    /* for the client to take a last answer */
#define LIMITS_DRAIN_MS      5000    /* for the body of a refused request */
#define LIMITS_DRAIN_BYTES   65536

#define LIMITS_LEASE_AHEAD 1048576 /* less left of a lease: the next is asked for */
#define LIMITS_INPUT_BYTES 65536   /* read ahead of a client: a head, a hello, pipelined requests */
#define LIMITS_OUTPUT_BYTES                                                                        \
	524288 /* not yet taken by one side: one read, its head, our own answers */
#define LIMITS_READ_BYTES    262144      /* one read, at most */
#define LIMITS_READ_MIN      16384       /* one read, where the other side is slow, and the first */
#define LIMITS_SPILLED_BYTES (64U << 20) /* not yet taken, all sides: beyond it reads are small */
#define LIMITS_LINGER_BYTES  262144      /* thrown away meanwhile */
#define LIMITS_PAGE_BYTES    262144      /* an answer of our own, head and body */

#define LIMITS_POOL_MAX      256 /* idle upstream connections, all execs */
#define LIMITS_POOL_PER_HOST 16
#define LIMITS_POOL_IDLE_MS  30000

#define LIMITS_DENIALS_MAX 50 /* remembered per exec, for http://sallyport.internal/denials */
