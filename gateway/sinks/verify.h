/* verify: reads an audit log from its first line to its last and says where its chain breaks. */
#pragma once

#include <stdint.h>

struct err;

/* 0: unbroken; @why may hold a note. -EBADMSG: @why names FILE:LINE. Another -errno: it cannot be
 * read. */
int verify_file(const char *path, uint64_t *ret_records, struct err *why);
