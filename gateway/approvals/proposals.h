/* proposals: questions without a waiting connection: gateway_propose(). */
#pragma once

#include "gateway/state.h"

/* Frees them all without calling back. */
void proposals_done(struct gateway *gw);
