/* link_server: the gateway's end of the links to its workers. A worker reads hostile bytes, so
 * nothing it sends is believed: what is not exactly a frame of gateway/link_impl.h closes its link,
 * withdraws its tickets, and the way out is gone. */
#pragma once

#include "gateway/core.h"

/* Every worker will be told, in the next turn, that @exec has ended. */
void link_server_close_way(struct gateway *gw, uint64_t exec);
/* Tells every worker that @image (borrowed) is the policy now. */
void link_server_policy(struct gateway *gw, int image);
/* In every turn, after the verdicts: what else the workers are to be told. */
void link_server_turn(struct gateway *gw);
/* The worker of @client cannot be trusted any more: its link is cut, and the way out is gone. */
void link_server_drop(struct gateway *gw, const struct gateway_client *client);
void link_server_free_all(struct gateway *gw);
