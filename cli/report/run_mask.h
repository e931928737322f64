/* run_mask: hides the credentials of our environment in text that a CI service keeps and shows to
 * others. */
#pragma once

/* @text with *** in place of each value, of at least RUN_MASK_MIN bytes, of a variable that looks
 * like a credential. In any case of letters, because names of hosts are written in lower case.
 * Returned owned. */
#define RUN_MASK_MIN 8
char *run_mask(const char *text);
