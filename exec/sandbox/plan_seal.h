/* plan_seal: writes a plan in the form that init reads. */
#pragma once

struct err;
struct plan;

/* The plan in its wire format in a sealed memfd, returned owned; -errno with @why. */
int plan_seal(const struct plan *plan, struct err *why);
