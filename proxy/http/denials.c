#include "proxy/http/denials.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

/* The page keeps room for its head. */
#define PAGE_MAX (LIMITS_PAGE_BYTES - 4096)

static void denial_clear(struct denial *denial)
{
	free(denial->text);
	free(denial->json);
	*denial = (struct denial){ 0 };
}

static char *buffer_to_text(struct buffer *buffer)
{
	char *text = mem_strndup(buffer->len ? buffer_at(buffer) : "", buffer->len);

	buffer_clear(buffer);
	return text;
}

void denials_add(struct denials *denials, const struct refusal *refusal, int64_t wall_us)
{
	struct denial *denial = &denials->last[denials->next];
	struct buffer text = { 0 }, json = { 0 };

	denial_clear(denial);
	if (refusal_text(refusal, &text) == 0 && refusal_json(refusal, &json) == 0 && json.len)
		json.len--; /* the line end */
	*denial = (struct denial){ .wall_us = wall_us,
				   .text = buffer_to_text(&text),
				   .json = buffer_to_text(&json) };
	denials->next = (denials->next + 1) % LIMITS_DENIALS_MAX;
	if (denials->count < LIMITS_DENIALS_MAX)
		denials->count++;
}

void denials_done(struct denials *denials)
{
	for (size_t i = 0; i < LIMITS_DENIALS_MAX; i++)
		denial_clear(&denials->last[i]);
	denials->count = denials->next = 0;
}

/* RFC 3339, UTC, whole seconds. */
static void wall_text(int64_t wall_us, char out[32])
{
	time_t seconds = (time_t)(wall_us / 1000000);
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || !strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", &utc))
		out[0] = '\0';
}

static const struct denial *denial_back(const struct denials *denials, size_t back)
{
	return &denials->last[(denials->next + LIMITS_DENIALS_MAX - 1 - back) % LIMITS_DENIALS_MAX];
}

int denials_text(const struct denials *denials, struct buffer *out)
{
	int r = 0;

	if (!denials->count)
		return buffer_printf(out, PAGE_MAX, "Nothing was denied.\n");
	for (size_t i = 0; !r && i < denials->count; i++) {
		const struct denial *denial = denial_back(denials, i);
		char when[32];

		wall_text(denial->wall_us, when);
		r = buffer_printf(out, PAGE_MAX, "%s%s\n", i ? "\n" : "", when);
		r = r ? r : buffer_append(out, denial->text, strlen(denial->text), PAGE_MAX);
	}
	return r;
}

int denials_json(const struct denials *denials, struct buffer *out)
{
	int r = buffer_printf(out, PAGE_MAX, "{\"denials\":[");

	for (size_t i = 0; !r && i < denials->count; i++) {
		const struct denial *denial = denial_back(denials, i);
		size_t before = out->len, len = strlen(denial->json);
		char when[32];

		if (len < 2)
			continue; /* it exceeded its limit */
		wall_text(denial->wall_us, when);
		r = buffer_printf(out, PAGE_MAX, "%s{\"time\":\"%s\",", i ? "," : "", when);
		r = r ? r : buffer_append(out, denial->json + 1, len - 1, PAGE_MAX);
		if (r)
			out->len = (uint32_t)before; /* complete members only */
	}
	return buffer_append(out, "]}\n", 3, LIMITS_PAGE_BYTES);
}
