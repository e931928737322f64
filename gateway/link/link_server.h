/* link_server: the gateway's end of the links to its workers. A worker reads hostile bytes, so
 * nothing it sends is trusted: after anything except a valid frame of gateway/link/link_impl.h, its
 * link is closed and its tickets are withdrawn, and its execs have no network. */
#pragma once

#include "gateway/state.h"

/* Schedules a message to every worker that @exec has ended. */
void link_server_close_way(struct gateway *gw, uint64_t exec);
/* Tells the worker of @exec what its sandbox refused. */
void link_server_note(struct gateway *gw, uint64_t exec, const char *text);
/* Tells every worker that @image (borrowed) is the policy in force. */
void link_server_policy(struct gateway *gw, int image);
/* journal_reached() has risen: sends the verdicts that waited for it. */
void link_server_stored(struct gateway *gw);
/* What they wait for does not come: they are denials. */
void link_server_deny_held(struct gateway *gw);
/* Call it in every turn, after the verdicts: sends the other messages to the workers. */
void link_server_turn(struct gateway *gw);
/* The worker of @client is not trusted any more: closes its link. */
void link_server_drop(struct gateway *gw, const struct gateway_client *client);
void link_server_free_all(struct gateway *gw);
size_t link_server_count(const struct gateway *gw); /* the workers */
