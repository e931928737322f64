/* run_upstream: the upstream proxies, as the policy or the environment of this program names them.
 */
#pragma once

struct policy;
struct policy_upstreams;
struct run_places;

/* Fills *@ret, returned owned; NULL: there is no proxy. An exit status, and prints what is wrong.
 */
int run_upstream_find(const struct policy *policy, const struct run_places *places,
		      struct policy_upstreams **ret);
/* The file of authorities that the environment names, borrowed; NULL: none. */
const char *run_upstream_named_authorities(void);
/* Opens the file of the authorities that this machine trusts: an owned descriptor, or -errno;
 * *@ret_path: which file, borrowed. */
int run_upstream_open_authorities(const char **ret_path);
/* "http://a.test:3128 and socks5h://b.test:1080", without logins. Returned owned; NULL: @upstreams
 * is NULL. */
char *run_upstream_text(const struct policy_upstreams *upstreams);
