/* approve_bundle: `sallyport approve bundle`: reads and answers requests of another machine.
 * Private to approve_bundle*.c. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gateway/bundle/bundle.h"

struct err;

/* The answer to each request of a bundle, in its order. */
enum approve_choice { APPROVE_SKIP, APPROVE_ALLOW, APPROVE_DENY };

/* Prints one request with everything that is known about it. */
void approve_bundle_ask_show(const struct bundle_request *request, size_t number, size_t count);
/* Asks about each request on the terminal; @choices: the choices made by options. False: the person
 * left, and nothing must be written. */
bool approve_bundle_ask(const struct bundle *bundle, enum approve_choice *choices);

/* A key that signs answers: Ed25519 in PEM, or an SSH key that ssh-keygen (and its agent) can use.
 */
struct approve_key {
	const char *path;
	bool is_ssh;
	struct sign_key pem;
	uint8_t public[SIGN_KEY_BYTES];
};
int approve_bundle_sign_open(const char *path, struct approve_key *ret, struct err *why);
/* The whole file of answers, signed and verified. Returned owned. */
int approve_bundle_sign_make(const struct approve_key *key, const char *text, char **ret_file,
			     struct err *why);
