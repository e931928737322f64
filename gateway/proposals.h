/* proposals: questions that no connection waits for: gateway_propose(). */
#pragma once

#include "gateway/core.h"

/* Forgets them all; nobody is told. */
void proposals_done(struct gateway *gw);
