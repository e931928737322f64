/* verify: reads an audit log from its first line to its last and says where its chain breaks. */
#pragma once

#include <stdint.h>

struct err;

/* Also what stands in @dir for it and is not merged yet; NULL: nothing does. 0: unbroken; @why may
 * hold a note. -EBADMSG: @why names FILE:LINE. Another -errno: it cannot be read. */
int verify_file(const char *path, const char *dir, uint64_t *ret_records, struct err *why);
