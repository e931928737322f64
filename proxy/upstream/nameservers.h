/* nameservers: which DNS servers to ask, in the text form c-ares takes
 * ("1.2.3.4:53,[2001:db8::1]:53"). */
#pragma once

#include <stddef.h>

#define NAMESERVERS_MAX      3 /* as in resolv.conf(5) */
#define NAMESERVERS_TEXT_MAX 256

/* Parses the text of a resolv.conf(5). Only its servers are used: names are absolute here, so
 * search lists and ndots do not apply. Without servers: the local one, as in resolv.conf(5). */
void nameservers_parse(char *text, char out[NAMESERVERS_TEXT_MAX]);
