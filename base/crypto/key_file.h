/* key_file: the Ed25519 key of this user on this machine, in a file of the state folder. It signs
 * requests that are answered elsewhere, and checkpoints of the audit log. */
#pragma once

#include <stdbool.h>

#include "base/crypto/sign.h"

struct err;

#define KEY_FILE_NAME "bundle.key"

/* Reads the key from the folder @state. If it is missing and @is_needed, makes a new one, and
 * writes it to the disk; otherwise returns -ENOENT. -EPERM: other users may read it; -EINVAL: it
 * is not a key. */
int key_file_read(const char *state, bool is_needed, struct sign_key *ret, struct err *why);
