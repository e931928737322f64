/* policies_credentials: which environment variables look like credentials. Pure.
 * docs/decisions/0036. */
#pragma once

#include <stdbool.h>

/* Does "NAME=VALUE" look like a credential, by its name or by its value? */
bool policy_credentials_has(const char *entry);
