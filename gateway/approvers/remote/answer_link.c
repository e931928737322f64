#include "gateway/approvers/remote/answer_link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto/digest.h"
#include "base/text.h"

static int link_sign(const char *key, const char *id, int64_t until_s, char ret[DIGEST_TEXT_MAX])
{
	char text[APPROVER_ID_MAX + 64];

	(void)snprintf(text, sizeof(text), "answer %s until %" PRId64, id, until_s); /* fits */
	return digest_hmac(key, strlen(key), text, strlen(text), ret);
}

int answer_link_make(const char *key, const char *id, int64_t until_s, char ret[ANSWER_LINK_MAX])
{
	char signature[DIGEST_TEXT_MAX];

	if (link_sign(key, id, until_s, signature) < 0)
		return -EIO;
	int len = snprintf(ret, ANSWER_LINK_MAX, "%s.%" PRId64 ".%s", id, until_s, signature);

	return len > 0 && len < ANSWER_LINK_MAX ? 0 : -EIO;
}

int answer_link_read(const char *key, const char *link, int64_t now_s, char ret_id[APPROVER_ID_MAX],
		     int64_t *ret_until_s)
{
	char whole[ANSWER_LINK_MAX];
	const char *dot = strchr(link, '.');
	size_t len = dot ? (size_t)(dot - link) : 0;

	if (len == 0 || len >= APPROVER_ID_MAX)
		return -EBADMSG;
	memcpy(ret_id, link, len);
	ret_id[len] = '\0';
	*ret_until_s = strtoll(dot + 1, NULL, 10);
	/* Only one spelling is valid: the link is made again and compared. */
	if (answer_link_make(key, ret_id, *ret_until_s, whole) < 0 ||
	    !text_is_secret(whole, link, strlen(link)))
		return -EBADMSG;
	return now_s < *ret_until_s ? 0 : -ETIME;
}
