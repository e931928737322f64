/* gateway_names: passes the host's resolv.conf and hosts files to the workers, which cannot open
 * files. */
#pragma once

struct gateway;
struct gateway_client;

/* The files have changed. They are opened here for every worker, which reads them. */
void gateway_send_names(struct gateway *gw, const char *resolv_conf, const char *hosts);
/* Takes both; -1: there is no such file. Over a link only. */
typedef void (*gateway_names_fn)(int resolv_conf, int hosts, void *arg);
void gateway_client_on_names(struct gateway_client *client, gateway_names_fn on_names, void *arg);
