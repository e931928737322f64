/* verify: reads an audit log from the first line to the last and reports where its chain breaks. */
#pragma once

#include <stdint.h>

struct err;

/* Also checks the segments in @dir that are not merged yet; NULL: there are none. 0: unbroken; @why
 * may hold a note. -EBADMSG: @why names FILE:LINE. Another -errno: it cannot be read. */
int verify_file(const char *path, const char *dir, uint64_t *ret_records, struct err *why);
