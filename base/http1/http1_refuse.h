/* http1_refuse: how the parser refuses a message: a static sentence and -EBADMSG. */
#pragma once

#include <errno.h>

static inline int http1_refuse(const char **ret_cause, const char *cause)
{
	*ret_cause = cause;
	return -EBADMSG;
}

/* Perhaps well-formed, but larger than our limit. */
static inline int http1_refuse_size(const char **ret_cause, const char *cause)
{
	*ret_cause = cause;
	return -E2BIG;
}
