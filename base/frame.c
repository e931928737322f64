#include "base/frame.h"

#include <string.h>

void frame_begin(struct frame *frame, uint16_t type)
{
	frame->type = type;
	frame->len = 0;
	frame->at = 0;
	frame->is_bad = false;
}

static void frame_put(struct frame *frame, const void *bytes, size_t len)
{
	if (frame->is_bad || len > sizeof(frame->bytes) - frame->len) {
		frame->is_bad = true;
		return;
	}
	memcpy(frame->bytes + frame->len, bytes, len);
	frame->len += (uint32_t)len;
}

/* Both ends are the same program on the same machine, so the byte order is the native one. */
void frame_put_u8(struct frame *frame, uint8_t value)
{
	frame_put(frame, &value, sizeof(value));
}

void frame_put_u16(struct frame *frame, uint16_t value)
{
	frame_put(frame, &value, sizeof(value));
}

void frame_put_u32(struct frame *frame, uint32_t value)
{
	frame_put(frame, &value, sizeof(value));
}

void frame_put_u64(struct frame *frame, uint64_t value)
{
	frame_put(frame, &value, sizeof(value));
}

void frame_put_bytes(struct frame *frame, const void *bytes, uint32_t len)
{
	frame_put_u32(frame, len);
	if (len > 0)
		frame_put(frame, bytes, len);
}

void frame_put_text(struct frame *frame, const char *text)
{
	frame_put_bytes(frame, text, text ? (uint32_t)strlen(text) : 0);
}

static void frame_get(struct frame *frame, void *out, size_t len)
{
	if (frame->is_bad || len > frame->len - frame->at) {
		frame->is_bad = true;
		memset(out, 0, len);
		return;
	}
	memcpy(out, frame->bytes + frame->at, len);
	frame->at += (uint32_t)len;
}

uint8_t frame_get_u8(struct frame *frame)
{
	uint8_t value;

	frame_get(frame, &value, sizeof(value));
	return value;
}

uint16_t frame_get_u16(struct frame *frame)
{
	uint16_t value;

	frame_get(frame, &value, sizeof(value));
	return value;
}

uint32_t frame_get_u32(struct frame *frame)
{
	uint32_t value;

	frame_get(frame, &value, sizeof(value));
	return value;
}

uint64_t frame_get_u64(struct frame *frame)
{
	uint64_t value;

	frame_get(frame, &value, sizeof(value));
	return value;
}

uint32_t frame_get_bytes(struct frame *frame, void *out, uint32_t max)
{
	uint32_t len = frame_get_u32(frame);

	if (len > max) {
		frame->is_bad = true;
		return 0;
	}
	if (len > 0)
		frame_get(frame, out, len);
	return frame->is_bad ? 0 : len;
}

void frame_get_text(struct frame *frame, char *out, size_t size)
{
	uint32_t len = frame_get_bytes(frame, out, (uint32_t)size - 1);

	if (len > 0 && memchr(out, '\0', len)) {
		frame->is_bad = true;
		len = 0;
	}
	out[len] = '\0';
}

bool frame_is_whole(const struct frame *frame)
{
	return !frame->is_bad && frame->at == frame->len;
}
