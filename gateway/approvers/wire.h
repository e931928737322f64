/* wire: what the approvers that speak JSON over a descriptor share. Private to this folder. */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct evbuffer;

/* The first @max_bytes of @text (NULL is ""), returned owned, or NULL out of memory. What is no
 * UTF-8 is shown as \xNN. */
json_t *wire_text(const char *text, size_t max_bytes);
/* The names of @risk, bits of enum approver_risk, as every protocol has them: as wire_text(). */
json_t *wire_risks(unsigned int risk);
/* Back again. A name that is not known is a risk all the same. */
unsigned int wire_risks_read(const json_t *risks);
/* Sends what the socket takes now. 0: all is sent; -EAGAIN: the rest waits for it; -EIO: it is
 * gone.
 */
int wire_send(int fd, struct evbuffer *out);
