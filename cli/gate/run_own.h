/* run_own: a run with its own gate, in this process. */
#pragma once

struct gate;
struct run_gateway;
struct run_options;

/* As gate_prepare(), for @gate, which is kept; *@ret is returned owned in every case. */
int run_own_prepare(struct gate *gate, struct run_options *options, struct run_gateway **ret);
