/* Passes the unanswered questions of a run from the session to the run. The file is signed with a
 * key that is discarded, because the parser accepts signed files only; the run signs it again with
 * the machine's key. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/session/session_wire.h"
#include "gateway/bundle/bundle.h"

int session_bundle_pack(const struct bundle *bundle, struct err *why)
{
	struct sign_key key = { 0 };
	auto_free char *text = NULL;
	int r = sign_key_make(&key, why);

	if (r == 0)
		r = bundle_file_write(bundle, &key, &text, why);
	sign_key_forget(&key);
	return r < 0 ? r : session_wire_pack((const char *const[]){ text, NULL }, why);
}

int session_bundle_unpack(int fd, struct bundle *into, struct err *why)
{
	auto_free_list char **list = NULL;
	uint8_t signer[SIGN_KEY_BYTES];
	struct bundle *bundle = NULL;
	char digest[65];
	int r = session_wire_unpack(fd, &list, why);

	if (r == 0 && (!list[0] || list[1]))
		r = err_set(why, -EBADMSG, "the session sent a malformed list of questions");
	if (r == 0)
		r = bundle_file_read(list[0], strlen(list[0]), &bundle, signer, digest, why);
	if (r < 0)
		return r;
	bundle_merge(into, bundle);
	bundle_free(bundle);
	return 0;
}
