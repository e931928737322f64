#include "gateway/link/link_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Bits of a verdict. */
#define HAS_RULE     BIT(0)
#define HAS_BECAUSE  BIT(1)
#define HAS_BY       BIT(2)
#define MAY_PRIVATE  BIT(3)
#define HAS_LIMITS   BIT(4)
#define VERDICT_BITS BIT(5)

/* Bits of a lease, and of a report of spent bytes. */
#define LEASE_UP_OVER    BIT(0)
#define LEASE_DOWN_OVER  BIT(1)
#define LEASE_IS_RECALL  BIT(2)
#define LEASE_BITS       BIT(3)
#define SPENT_NEEDS_UP   BIT(0)
#define SPENT_NEEDS_DOWN BIT(1)
#define SPENT_IS_RETURN  BIT(2)
#define SPENT_BITS       BIT(3)

/* Bits of a request: the known parts. */
#define HAS_METHOD   BIT(0)
#define HAS_PATH     BIT(1)
#define HAS_QUERY    BIT(2)
#define HAS_FIELDS   BIT(3)
#define HAS_OVERRIDE BIT(4)
#define REQUEST_BITS BIT(5)

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

static void put_addr(struct frame *frame, const struct addr *addr)
{
	frame_put_u8(frame, addr->family);
	if (addr->family != 0)
		frame_put_bytes(frame, addr->bytes, sizeof(addr->bytes));
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

/* The address of the host and the key's protocol are not sent: the other end derives them, so they
 * always agree with the host and the carried protocol. */
static void put_facts(struct frame *frame, const struct policy_facts *facts)
{
	frame_put_u64(frame, facts->exec);
	frame_put_u8(frame, (uint8_t)facts->carries);
	frame_put_u8(frame, (uint8_t)facts->way);
	frame_put_u16(frame, facts->peer_port);
	put_addr(frame, &facts->reached);
	put_addr(frame, &facts->peer);
	frame_put_u16(frame, facts->dst.port);
	frame_put_text(frame, facts->dst.host);
}

/* A host is only accepted in the canonical form of the policy, because that form is shown, compared
 * and recorded. */
static bool get_facts(struct frame *frame, bool may_be_empty, struct policy_facts *ret)
{
	char host[POLICY_HOST_MAX];

	*ret = (struct policy_facts){ .exec = frame_get_u64(frame) };
	ret->carries = frame_get_u8(frame);
	ret->way = frame_get_u8(frame);
	ret->peer_port = frame_get_u16(frame);
	bool is_addr = get_addr(frame, &ret->reached) && get_addr(frame, &ret->peer);
	uint16_t port = frame_get_u16(frame);

	frame_get_text(frame, host, sizeof(host));
	if (frame->is_bad || !is_addr || ret->carries > POLICY_UDP || ret->way >= POLICY_WAYS)
		return false;
	if (host[0] == '\0')
		return may_be_empty && port == 0;
	if (policy_destination_set(&ret->dst, host, strlen(host), port, NULL) < 0 ||
	    strcmp(ret->dst.host, host) != 0)
		return false;
	if (ret->carries != POLICY_NO_PROTOCOL)
		ret->dst.protocol = ret->carries;
	return true;
}

static void put_if(struct frame *frame, const char *text)
{
	if (text)
		frame_put_text(frame, text);
}

/* Usually nothing about the request is known: one byte. */
static void put_request(struct frame *frame, const struct policy_request *request)
{
	static const struct policy_request unknown;
	const struct policy_request *it = request ? request : &unknown;
	uint8_t bits = it->has_override ? HAS_OVERRIDE : 0;

	bits |= it->method ? HAS_METHOD : 0;
	bits |= it->path ? HAS_PATH : 0;
	bits |= it->query ? HAS_QUERY : 0;
	bits |= it->fields ? HAS_FIELDS : 0;
	frame_put_u8(frame, bits);
	put_if(frame, it->method);
	put_if(frame, it->path);
	put_if(frame, it->query);
	if (!it->fields)
		return;
	frame_put_u8(frame, (uint8_t)it->field_count);
	for (size_t i = 0; i < it->field_count; i++) {
		frame_put_text(frame, it->fields[i].name);
		frame_put_text(frame, it->fields[i].value);
	}
}

static const char *get_part(struct frame *frame, bool has, char *room, size_t size)
{
	if (!has)
		return NULL;
	frame_get_text(frame, room, size);
	return room;
}

static bool get_fields(struct frame *frame, struct link_request *room)
{
	size_t count = frame_get_u8(frame), used = 0;

	if (count > POLICY_FIELDS_MAX)
		return false;
	for (size_t i = 0; i < count && !frame->is_bad; i++) {
		const char **texts[] = { &room->fields[i].name, &room->fields[i].value };

		for (size_t j = 0; j < ARRAY_SIZE(texts); j++) {
			char *at = room->texts + used;

			if (used == sizeof(room->texts))
				return false;
			frame_get_text(frame, at, sizeof(room->texts) - used);
			used += strlen(at) + 1;
			*texts[j] = at;
		}
	}
	room->request.fields = room->fields;
	room->request.field_count = count;
	return true;
}

/* Sets *@ret to NULL if nothing is known about the request. */
static bool get_request(struct frame *frame, struct link_request *room,
			const struct policy_request **ret)
{
	uint8_t bits = frame_get_u8(frame);
	struct policy_request *request = &room->request;

	*ret = NULL;
	*request = (struct policy_request){ .has_override = (bits & HAS_OVERRIDE) != 0 };
	if (bits >= REQUEST_BITS)
		return false;
	if (bits == 0)
		return true;
	request->method = get_part(frame, bits & HAS_METHOD, room->method, sizeof(room->method));
	request->path = get_part(frame, bits & HAS_PATH, room->path, sizeof(room->path));
	request->query = get_part(frame, bits & HAS_QUERY, room->query, sizeof(room->query));
	*ret = request;
	return !(bits & HAS_FIELDS) || get_fields(frame, room);
}

void link_codec_put_submit(struct frame *frame, uint64_t id, const struct policy_facts *facts)
{
	frame_begin(frame, LINK_SUBMIT);
	frame_put_u64(frame, id);
	put_facts(frame, facts);
	put_request(frame, facts->request);
	frame_put_text(frame, facts->plea ? facts->plea : "");
}

int link_codec_get_submit(struct frame *frame, uint64_t *ret_id, struct policy_facts *ret_facts,
			  struct link_request *room)
{
	uint64_t id = frame_get_u64(frame);
	struct policy_facts facts;
	bool is_valid = get_facts(frame, false, &facts) && get_request(frame, room, &facts.request);

	frame_get_text(frame, room->plea, sizeof(room->plea));
	int r = get_done(frame, is_valid && id != 0);

	if (r < 0)
		return r;
	facts.plea = room->plea[0] ? room->plea : NULL;
	*ret_id = id;
	*ret_facts = facts;
	return 0;
}

/* Ignores the account, which only the gateway uses. */
static bool has_limits(const struct policy_limits *limits)
{
	return limits->upload || limits->download || limits->connections || limits->rate_count ||
	       limits->until_s;
}

static void put_limits(struct frame *frame, const struct policy_limits *limits)
{
	frame_put_u64(frame, limits->upload);
	frame_put_u64(frame, limits->download);
	frame_put_u32(frame, limits->connections);
	frame_put_u32(frame, limits->rate_count);
	frame_put_u32(frame, limits->rate_s);
	frame_put_u64(frame, (uint64_t)limits->until_s);
}

static bool get_limits(struct frame *frame, struct policy_limits *ret)
{
	ret->upload = frame_get_u64(frame);
	ret->download = frame_get_u64(frame);
	ret->connections = frame_get_u32(frame);
	ret->rate_count = frame_get_u32(frame);
	ret->rate_s = frame_get_u32(frame);
	ret->until_s = (int64_t)frame_get_u64(frame);
	return ret->until_s >= 0 && !ret->rate_count == !ret->rate_s && has_limits(ret);
}

static void put_verdict(struct frame *frame, const struct policy_verdict *verdict)
{
	uint8_t bits = verdict->may_private ? MAY_PRIVATE : 0;

	bits |= verdict->rule[0] ? HAS_RULE : 0;
	bits |= verdict->because[0] ? HAS_BECAUSE : 0;
	bits |= verdict->by[0] ? HAS_BY : 0;
	bits |= has_limits(&verdict->limits) ? HAS_LIMITS : 0;
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
	if (bits & HAS_LIMITS)
		put_limits(frame, &verdict->limits);
}

/* Missing texts are set to "", not zeroed, which would cost a kilobyte per verdict. */
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
	ret->limits = (struct policy_limits){ 0 };
	if (bits & HAS_LIMITS && !get_limits(frame, &ret->limits))
		return false;
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

void link_codec_put_note(struct frame *frame, uint64_t exec, const char *text)
{
	char cut[GATEWAY_NOTE_MAX];

	(void)snprintf(cut, sizeof(cut), "%s", text);
	frame_begin(frame, LINK_NOTE);
	frame_put_u64(frame, exec);
	frame_put_text(frame, cut);
}

int link_codec_get_note(struct frame *frame, uint64_t *ret_exec, char text[GATEWAY_NOTE_MAX])
{
	*ret_exec = frame_get_u64(frame);
	frame_get_text(frame, text, GATEWAY_NOTE_MAX);
	return get_done(frame, true);
}

void link_codec_put_spent(struct frame *frame, uint64_t id, const struct gateway_spent *spent)
{
	uint8_t bits = spent->is_return ? SPENT_IS_RETURN : 0;

	bits |= spent->needs[GATEWAY_UP] ? SPENT_NEEDS_UP : 0;
	bits |= spent->needs[GATEWAY_DOWN] ? SPENT_NEEDS_DOWN : 0;
	frame_begin(frame, LINK_SPENT);
	frame_put_u64(frame, id);
	frame_put_u64(frame, spent->bytes[GATEWAY_UP]);
	frame_put_u64(frame, spent->bytes[GATEWAY_DOWN]);
	frame_put_u8(frame, bits);
}

int link_codec_get_spent(struct frame *frame, uint64_t *ret_id, struct gateway_spent *ret)
{
	*ret_id = frame_get_u64(frame);
	ret->bytes[GATEWAY_UP] = frame_get_u64(frame);
	ret->bytes[GATEWAY_DOWN] = frame_get_u64(frame);
	uint8_t bits = frame_get_u8(frame);

	ret->needs[GATEWAY_UP] = bits & SPENT_NEEDS_UP;
	ret->needs[GATEWAY_DOWN] = bits & SPENT_NEEDS_DOWN;
	ret->is_return = bits & SPENT_IS_RETURN;
	/* A lease that is returned needs no bytes. */
	return get_done(frame, *ret_id != 0 && bits < SPENT_BITS &&
				       (!ret->is_return || bits == SPENT_IS_RETURN));
}

void link_codec_put_lease(struct frame *frame, uint64_t id, const struct gateway_lease *lease)
{
	uint8_t bits = lease->is_recall ? LEASE_IS_RECALL : 0;

	bits |= lease->is_over[GATEWAY_UP] ? LEASE_UP_OVER : 0;
	bits |= lease->is_over[GATEWAY_DOWN] ? LEASE_DOWN_OVER : 0;
	frame_begin(frame, LINK_LEASE);
	frame_put_u64(frame, id);
	frame_put_u64(frame, lease->may[GATEWAY_UP]);
	frame_put_u64(frame, lease->may[GATEWAY_DOWN]);
	frame_put_u8(frame, bits);
}

int link_codec_get_lease(struct frame *frame, uint64_t *ret_id, struct gateway_lease *ret)
{
	*ret_id = frame_get_u64(frame);
	ret->may[GATEWAY_UP] = frame_get_u64(frame);
	ret->may[GATEWAY_DOWN] = frame_get_u64(frame);
	uint8_t bits = frame_get_u8(frame);

	ret->is_over[GATEWAY_UP] = bits & LEASE_UP_OVER;
	ret->is_over[GATEWAY_DOWN] = bits & LEASE_DOWN_OVER;
	ret->is_recall = bits & LEASE_IS_RECALL;
	return get_done(frame, *ret_id != 0 && bits < LEASE_BITS);
}

void link_codec_put_report(struct frame *frame, uint64_t id, const struct gateway_report *report)
{
	frame_begin(frame, LINK_REPORT);
	frame_put_u64(frame, id);
	put_facts(frame, &report->facts);
	put_verdict(frame, &report->verdict);
	frame_put_u16(frame, (uint16_t)report->closed);
	put_addr(frame, &report->resolved);
	frame_put_u8(frame, report->is_resolved_upstream);
	frame_put_u64(frame, report->bytes_up);
	frame_put_u64(frame, report->bytes_down);
	frame_put_u64(frame, report->duration_ms);
	frame_put_u32(frame, report->dns_ms);
	frame_put_u32(frame, report->dial_ms);
	frame_put_text(frame, report->cause);
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
	uint8_t flag = frame_get_u8(frame);

	ret->is_resolved_upstream = flag == 1;
	ret->bytes_up = frame_get_u64(frame);
	ret->bytes_down = frame_get_u64(frame);
	ret->duration_ms = frame_get_u64(frame);
	ret->dns_ms = frame_get_u32(frame);
	ret->dial_ms = frame_get_u32(frame);
	frame_get_text(frame, ret->cause, sizeof(ret->cause));
	return get_done(frame, ret->closed < POLICY_REASON_COUNT && flag <= 1);
}
