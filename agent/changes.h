/* changes: what a patch does to its files, as the client describes it; shown with its question. */
#pragma once

#include <jansson.h>

struct err;

#define CHANGES_BYTES_MAX (256U << 10) /* of all descriptions together, as text */

/* Checks @list. 0; the files that it names in @ret_files, NULL-terminated, and the list as JSON in
 * @ret_text, both owned. -EINVAL with @why. */
int changes_read(const json_t *list, char ***ret_files, char **ret_text, struct err *why);
