/* limits: every limit of the data path, in one place. Each has an entry in sallyport(1). */
#pragma once

#define LIMITS_CONNECTION_FDS 2   /* the client's and the server's */
#define LIMITS_BRIDGED_FDS    4   /* the same where an upstream proxy has TLS: a pair of sockets */
#define LIMITS_OTHER_FDS      256 /* that are kept for everything else */
#define LIMITS_PUBLISHED_MAX  128 /* of clients of published ports, per exec; the next is closed */

#define LIMITS_HEAD_MS       30000 /* from the earliest possible start of a head to its last byte */
#define LIMITS_KEEP_ALIVE_MS 75000 /* between two requests */
#define LIMITS_HELLO_MS      5000  /* for a ClientHello, after the tunnel is connected */
#define LIMITS_PROXY_MS      30000 /* for an upstream proxy, until the server is connected */
#define LIMITS_WATCH_MS      1000  /* how often a waiting client is checked */
#define LIMITS_EXCHANGE_MS   300000  /* without a byte, while an HTTP exchange is under way */
#define LIMITS_TUNNEL_MS     3600000 /* without a byte, in a tunnel */
#define LIMITS_FLOW_MS       60000 /* without a datagram, in a flow; and how long one stays refused */
#define LIMITS_LEASE_MS      5000 /* for the gateway to grant more bytes */
#define LIMITS_LINGER_MS     2000 /* for the client to read a last response */
#define LIMITS_DRAIN_MS      5000 /* for the body of a refused request */
#define LIMITS_DRAIN_BYTES   65536

#define LIMITS_LEASE_AHEAD   1048576 /* when less of a lease is left, the next one is requested */
#define LIMITS_INPUT_BYTES   65536   /* read ahead: a head, a ClientHello, pipelined requests */
#define LIMITS_OUTPUT_BYTES  524288  /* waiting for one side: a read, its head, a page */
#define LIMITS_READ_BYTES    262144  /* one read, at most */
#define LIMITS_READ_MIN      16384   /* the first read, and reads while the other side is slow */
#define LIMITS_SPILLED_BYTES (64U << 20) /* waiting for all sides; above it reads are small */
#define LIMITS_LINGER_BYTES  262144      /* discarded during that time */
#define LIMITS_PAGE_BYTES    262144      /* a response of our own, head and body */

#define LIMITS_FLOWS_MAX  256    /* of one UDP association */
#define LIMITS_FLOW_HELD  4      /* datagrams of a flow that wait for its decision */
#define LIMITS_HELD_BYTES 262144 /* of all flows of an association */

#define LIMITS_POOL_MAX      256 /* idle upstream connections, all execs */
#define LIMITS_POOL_PER_HOST 16
#define LIMITS_POOL_IDLE_MS  30000

#define LIMITS_DENIALS_MAX 50 /* kept per exec, for http://sallyport.internal/denials */
