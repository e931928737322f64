/* http1_refuse: the one way to say no to a message: a static sentence and -EBADMSG. */
#pragma once

#include <errno.h>

static inline int http1_refuse(const char **ret_cause, const char *cause)
{
	*ret_cause = cause;
	return -EBADMSG;
}

/* Well-formed, perhaps, but more than we hold. */
static inline int http1_refuse_size(const char **ret_cause, const char *cause)
{
	*ret_cause = cause;
	return -E2BIG;
}
