/* nameservers: which DNS servers to ask, in the text form c-ares takes
 * ("1.2.3.4:53,[2001:db8::1]:53"). */
#pragma once

#include <stddef.h>

#define NAMESERVERS_MAX      3 /* as in resolv.conf(5) */
#define NAMESERVERS_TEXT_MAX 256

/* From the text of a resolv.conf(5). Only its servers count: names are absolute here, so search
 * lists and ndots have no say. None listed: the local one, as resolv.conf(5) says. */
void nameservers_parse(char *text, char out[NAMESERVERS_TEXT_MAX]);
