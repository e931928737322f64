/* judgement: what is known of a call before anything ran: whether it has to be asked, and how it
 * is confined. */
#pragma once

#include "exec/orchestrator/core.h"

/* Judges call->request by the rules as they are now. */
void judgement_make(const struct call *call, struct judgement *ret);
/* The rules may have changed since it was judged: do they deny it now? */
bool judgement_is_denied_now(const struct call *call);
/* The lines of "always" for it: returned owned, NULL-terminated; none is an empty list. */
char **judgement_proposal(const struct call *call);
