/* http1_path: refuses paths that servers refuse or interpret in different ways. */
#pragma once

#include "base/http1/http1_head.h"

/* Describes the error in the path of @target (a path, with or without a query), or returns NULL.
 *
 * Refused are an invalid escape, an escaped NUL, and segments that lead above the root, however
 * dots, slashes and parameters are escaped. Other dot segments are passed on: apt requests "/./x",
 * and rules for paths treat them as uncertain (policies/engine/request.c). In a query these bytes
 * belong to the application: a query such as "100%" is common. */
const char *http1_path_flaw(struct http1_span target);
