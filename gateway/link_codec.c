#include "gateway/link_impl.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"

/* Bits of a verdict. */
#define HAS_RULE     BIT(0)
#define HAS_BECAUSE  BIT(1)
#define HAS_BY       BIT(2)
#define MAY_PRIVATE  BIT(3)
#define VERDICT_BITS BIT(4)

static int get_done(const struct frame *frame, bool is_valid)
{
	return is_valid && frame_is_whole(frame) ? 0 : -EBADMSG;
}

void link_codec_put_hello(struct frame *frame)
{
	frame_begin(frame, LINK_HELLO);
	frame_put_u32(frame, LINK_VERSION);
	frame_put_u32(frame, POLICY_REASON_COUNT);
}

int link_codec_get_hello(struct frame *frame)
{
	uint32_t version = frame_get_u32(frame);
	uint32_t reasons = frame_get_u32(frame);

	return get_done(frame, frame->type == LINK_HELLO && version == LINK_VERSION &&
				       reasons == POLICY_REASON_COUNT);
}

void link_codec_put_number(struct frame *frame, enum link_type type, uint64_t number)
{
	frame_begin(frame, type);
	frame_put_u64(frame, number);
}

int link_codec_get_number(struct frame *frame, uint64_t *ret_number)
{
	uint64_t number = frame_get_u64(frame);
	int r = get_done(frame, true);

	if (r == 0)
		*ret_number = number;
	return r;
}

/* The address and the key's protocol are not sent: the other end derives them, so they cannot
 * disagree with the host. */
static void put_facts(struct frame *frame, const struct policy_facts *facts)
{
	frame_put_u64(frame, facts->exec);
	frame_put_u8(frame, (uint8_t)facts->carries);
	frame_put_u8(frame, (uint8_t)facts->way);
	frame_put_u16(frame, facts->dst.port);
	frame_put_text(frame, facts->dst.host);
}

/* A host counts only in the one form that policy gives it: what is shown, compared and written down
 * is that. */
static bool get_facts(struct frame *frame, bool may_be_empty, struct policy_facts *ret)
{
	char host[POLICY_HOST_MAX];

	*ret = (struct policy_facts){ .exec = frame_get_u64(frame) };
	ret->carries = frame_get_u8(frame);
	ret->way = frame_get_u8(frame);
	uint16_t port = frame_get_u16(frame);

	frame_get_text(frame, host, sizeof(host));
	if (frame->is_bad || ret->carries > POLICY_UDP || ret->way > POLICY_WAY_SOCKS5)
		return false;
	if (host[0] == '\0')
		return may_be_empty && port == 0;
	return policy_destination_set(&ret->dst, host, strlen(host), port, NULL) == 0 &&
	       strcmp(ret->dst.host, host) == 0;
}

void link_codec_put_submit(struct frame *frame, uint64_t id, const struct policy_facts *facts)
{
	frame_begin(frame, LINK_SUBMIT);
	frame_put_u64(frame, id);
	put_facts(frame, facts);
}

int link_codec_get_submit(struct frame *frame, uint64_t *ret_id, struct policy_facts *ret_facts)
{
	uint64_t id = frame_get_u64(frame);
	struct policy_facts facts;
	int r = get_facts(frame, false, &facts) ? get_done(frame, id != 0) : -EBADMSG;

	if (r < 0)
		return r;
	*ret_id = id;
	*ret_facts = facts;
	return 0;
}

static void put_verdict(struct frame *frame, const struct policy_verdict *verdict)
{
	uint8_t bits = verdict->may_private ? MAY_PRIVATE : 0;

	bits |= verdict->rule[0] ? HAS_RULE : 0;
	bits |= verdict->because[0] ? HAS_BECAUSE : 0;
	bits |= verdict->by[0] ? HAS_BY : 0;
	frame_put_u8(frame, (uint8_t)verdict->action);
	frame_put_u8(frame, (uint8_t)verdict->promise);
	frame_put_u16(frame, (uint16_t)verdict->reason);
	frame_put_u8(frame, bits);
	if (bits & HAS_RULE)
		frame_put_text(frame, verdict->rule);
	if (bits & HAS_BECAUSE)
		frame_put_text(frame, verdict->because);
	if (bits & HAS_BY)
		frame_put_text(frame, verdict->by);
}

/* Texts that are not sent are cut to "", not wiped: a kilobyte a verdict. */
static bool get_verdict(struct frame *frame, struct policy_verdict *ret)
{
	ret->action = frame_get_u8(frame);
	ret->promise = frame_get_u8(frame);
	ret->reason = frame_get_u16(frame);
	uint8_t bits = frame_get_u8(frame);

	ret->may_private = (bits & MAY_PRIVATE) != 0;
	ret->rule[0] = ret->because[0] = ret->by[0] = '\0';
	if (bits & HAS_RULE)
		frame_get_text(frame, ret->rule, sizeof(ret->rule));
	if (bits & HAS_BECAUSE)
		frame_get_text(frame, ret->because, sizeof(ret->because));
	if (bits & HAS_BY)
		frame_get_text(frame, ret->by, sizeof(ret->by));
	return !frame->is_bad && bits < VERDICT_BITS && ret->promise <= POLICY_UDP &&
	       (ret->action == POLICY_ALLOW || ret->action == POLICY_DENY) &&
	       ret->reason < POLICY_REASON_COUNT;
}

void link_codec_put_verdict(struct frame *frame, uint64_t id, const struct policy_verdict *verdict)
{
	frame_begin(frame, LINK_VERDICT);
	frame_put_u64(frame, id);
	put_verdict(frame, verdict);
}

int link_codec_get_verdict(struct frame *frame, uint64_t *ret_id, struct policy_verdict *ret)
{
	*ret_id = frame_get_u64(frame);
	return get_verdict(frame, ret) ? get_done(frame, true) : -EBADMSG;
}

void link_codec_put_cut(struct frame *frame, uint64_t id, const struct policy_verdict *verdict)
{
	frame_begin(frame, LINK_CUT);
	frame_put_u64(frame, id);
	put_verdict(frame, verdict);
}

int link_codec_get_cut(struct frame *frame, uint64_t *ret_id, struct policy_verdict *ret)
{
	*ret_id = frame_get_u64(frame);
	bool is_valid = get_verdict(frame, ret);

	return get_done(frame, is_valid && *ret_id != 0 && ret->action == POLICY_DENY);
}

void link_codec_put_report(struct frame *frame, uint64_t id, const struct gateway_report *report)
{
	frame_begin(frame, LINK_REPORT);
	frame_put_u64(frame, id);
	put_facts(frame, &report->facts);
	put_verdict(frame, &report->verdict);
	frame_put_u16(frame, (uint16_t)report->closed);
	frame_put_u8(frame, report->resolved.family);
	if (report->resolved.family != 0)
		frame_put_bytes(frame, report->resolved.bytes, sizeof(report->resolved.bytes));
	frame_put_u64(frame, report->bytes_up);
	frame_put_u64(frame, report->bytes_down);
	frame_put_u64(frame, report->duration_ms);
	frame_put_text(frame, report->cause);
}

static bool get_addr(struct frame *frame, struct addr *ret)
{
	static const uint8_t zeros[sizeof(ret->bytes)];

	*ret = (struct addr){ .family = frame_get_u8(frame) };
	if (ret->family == 0)
		return true;
	if (frame_get_bytes(frame, ret->bytes, sizeof(ret->bytes)) != sizeof(ret->bytes))
		return false;
	return ret->family == AF_INET6 ||
	       (ret->family == AF_INET && memcmp(ret->bytes + 4, zeros, sizeof(zeros) - 4) == 0);
}

int link_codec_get_report(struct frame *frame, uint64_t *ret_id, struct gateway_report *ret)
{
	*ret = (struct gateway_report){ 0 };
	*ret_id = frame_get_u64(frame);
	if (!get_facts(frame, true, &ret->facts) || !get_verdict(frame, &ret->verdict))
		return -EBADMSG;
	ret->closed = frame_get_u16(frame);
	if (!get_addr(frame, &ret->resolved))
		return -EBADMSG;
	ret->bytes_up = frame_get_u64(frame);
	ret->bytes_down = frame_get_u64(frame);
	ret->duration_ms = frame_get_u64(frame);
	frame_get_text(frame, ret->cause, sizeof(ret->cause));
	return get_done(frame, ret->closed < POLICY_REASON_COUNT);
}
