/* egress: what each program of the commands was allowed to reach, for a limited number of them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/gateway_tools.h"

#define EGRESS_PROGRAMS_MAX 256

struct egress;
struct egress *egress_new(void);
void egress_free(struct egress *egress); /* NULL is fine */
/* @program (NULL or "": not known) was allowed @dst by a verdict with @reason, or has sent and
 * received these bytes. What stays inside the sandbox is not counted. */
void egress_count(struct egress *egress, const struct policy_destination *dst, const char *program,
		  enum policy_reason reason, const uint64_t bytes[GATEWAY_WAYS]);
const struct gateway_egress *egress_at(const struct egress *egress, size_t i); /* NULL: the end */
/* False: something was not counted, because there was too much. */
bool egress_is_whole(const struct egress *egress);
