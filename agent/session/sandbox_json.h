/* sandbox_json: says a sandbox in the form in which a client asks for one. */
#pragma once

#include <jansson.h>

struct exec_sandbox;

/* What confine_new() would make @sandbox from. Only "sockets", which an approval has granted,
 * cannot be asked for. Owned. */
json_t *sandbox_json(const struct exec_sandbox *sandbox);
