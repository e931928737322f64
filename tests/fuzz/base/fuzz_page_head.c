#include <errno.h>
#include <string.h>

#include "base/page/page_head.h"
#include "tests/fuzz/fuzz.h"

static void must_lie_within(const struct http1_span *span, const char *bytes, size_t len)
{
	fuzz_must(!span->at || (span->at >= bytes && span->at + span->len <= bytes + len));
	for (size_t i = 0; span->at && i < span->len; i++)
		fuzz_must((unsigned char)span->at[i] >= ' ' || span->at[i] == '\t');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	struct page_head head = { 0 };
	int r = page_head_parse(text, len, &head);

	fuzz_must(r == 0 || r == -EAGAIN || r == -EBADMSG || r == -E2BIG || r == -EMSGSIZE ||
		  r == -EPROTONOSUPPORT);
	fuzz_must(r != -EAGAIN || len < PAGE_HEAD_MAX_BYTES);
	if (r < 0)
		return 0;

	const struct http1_span *spans[] = { &head.path,       &head.host,         &head.origin,
					     &head.fetch_site, &head.content_type, &head.cookie,
					     &head.key };

	fuzz_must(head.len <= len && head.len <= PAGE_HEAD_MAX_BYTES);
	fuzz_must(head.body_len <= PAGE_BODY_MAX_BYTES);
	fuzz_must(head.host.at && head.path.len > 0 && head.path.at[0] == '/');
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
		must_lie_within(spans[i], text, head.len);
	struct http1_span found = page_head_cookie(&head, "sallyport-1");

	must_lie_within(&found, text, head.len);
	/* The end is exact: with one byte less the head is incomplete, and later bytes do not
	 * matter. */
	struct page_head again;

	fuzz_must(page_head_parse(text, head.len - 1, &again) == -EAGAIN);
	fuzz_must(page_head_parse(text, head.len, &again) == 0 && again.body_len == head.body_len);
	return 0;
}
