/* copies: reads the remembered answers of another session. */
#pragma once

#include "gateway/state.h"
#include "gateway/gateway_copies.h"

/* Reads @copies into @ret (initialised, empty; call grants_done() in every case), as of @now_s. 0,
 * or -EBADMSG or -ENOSPC with words. */
int copies_read(const struct gateway_copies *copies, int64_t now_s, struct grants *ret,
		struct gateway_copied *ret_count, struct err *why);
