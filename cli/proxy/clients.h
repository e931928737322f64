/* clients: who may use `sallyport proxy`: --client, --credentials-file, --open. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "proxy/proxy_service.h"

struct options;

#define CLIENTS_MAX 256

struct clients {
	char *names[CLIENTS_MAX]; /* owned; of exec 1, 2, … */
	size_t count;
	struct proxy_source *sources; /* owned */
	size_t source_count;
	struct proxy_user *users; /* owned */
	size_t user_count;
	struct proxy_login *logins; /* owned, with their texts */
	size_t login_count;
	bool is_open;
};

/* Returns an exit status and prints what is wrong. Must be freed in every case. */
int clients_take(struct clients *clients, const struct options *given);
/* Is nobody served whom the operator has not named, or has the operator said that? */
bool clients_are_bounded(const struct clients *clients);
/* Fills all but the listeners; @clients must outlive it. */
void clients_fill(const struct clients *clients, struct proxy_service *ret);
void clients_free(struct clients *clients);
