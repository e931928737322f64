#include "cli/session/session_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/memfd.h"
#include "base/mem.h"
#include "base/text.h"

#define LIST_MAX_BYTES (8U << 20) /* includes an argv of the kernel's default maximum */
#define WORDS_MAX      ERR_MAX_BYTES

void session_wire_hello(struct frame *frame)
{
	frame_begin(frame, SESSION_HELLO);
	frame_put_u32(frame, SESSION_VERSION);
	frame_put_text(frame, SALLYPORT_VERSION);
}

int session_wire_check_hello(struct frame *frame, struct err *why)
{
	char version[64];
	uint32_t number = frame->type == SESSION_HELLO ? frame_get_u32(frame) : 0;

	frame_get_text(frame, version, sizeof(version));
	if (number == 0 || !frame_is_whole(frame))
		return err_set(why, -EBADMSG, "the process that listens there is not a session");
	auto_free char *shown = text_visible_dup(version);

	if (number != SESSION_VERSION || strcmp(version, SALLYPORT_VERSION) != 0)
		return err_set(why, -EPROTO,
			       "the session runs another version of this program (%s, this is %s); "
			       "end it and start it again",
			       shown, SALLYPORT_VERSION);
	return 0;
}

int session_wire_pack(const char *const *list, struct err *why)
{
	auto_free char *bytes = NULL;
	size_t len = 0, room = 0;

	for (size_t i = 0; list && list[i]; i++) {
		size_t more = strlen(list[i]) + 1;

		if (more > LIST_MAX_BYTES - len)
			return err_set(why, -E2BIG, "the command's arguments are too long");
		bytes = mem_reserve(bytes, &room, len + more, 1);
		memcpy(bytes + len, list[i], more);
		len += more;
	}
	return memfd_sealed("sallyport-list", MEMFD_DATA, bytes ? bytes : "", len, why);
}

/* The memory file must be sealed, so that it cannot block or change after it was checked. */
static int read_list(int fd, char **ret, size_t *ret_len)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat info;

	if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_WRITE)) != (F_SEAL_SHRINK | F_SEAL_WRITE))
		return -EPERM;
	if (fstat(fd, &info) < 0 || info.st_size < 0 || info.st_size > LIST_MAX_BYTES)
		return -E2BIG;
	size_t len = (size_t)info.st_size, at = 0;
	auto_free char *bytes = mem_new(len + 1);

	while (at < len) {
		ssize_t got = pread(fd, bytes + at, len - at, (off_t)at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		at += (size_t)got;
	}
	if (len > 0 && bytes[len - 1] != '\0')
		return -EBADMSG;
	*ret = take(bytes);
	*ret_len = len;
	return 0;
}

int session_wire_unpack(int fd, char ***ret, struct err *why)
{
	auto_close int own = fd;
	auto_free char *bytes = NULL;
	size_t len = 0, count = 0, at = 0;
	int r = read_list(own, &bytes, &len);

	if (r < 0)
		return err_errno(why, -r, "a list of the session cannot be read");
	for (size_t i = 0; i < len; i++)
		count += bytes[i] == '\0';
	char **list = mem_new_array(count + 1, sizeof(*list));

	for (size_t i = 0; i < count; i++) {
		list[i] = mem_strdup(bytes + at);
		at += strlen(bytes + at) + 1;
	}
	*ret = list;
	return 0;
}

/* One descriptor for each of @lists; on failure none. */
static int pack_all(char **const *lists, size_t count, int *ret_fds, struct err *why)
{
	for (size_t i = 0; i < count; i++) {
		ret_fds[i] = session_wire_pack((const char *const *)lists[i], why);
		if (ret_fds[i] >= 0)
			continue;
		int r = ret_fds[i];

		while (i-- > 0)
			fd_close(ret_fds[i]);
		return r;
	}
	return 0;
}

/* Takes @fds; there must be exactly @wanted of them. */
static int unpack_all(int *fds, size_t count, char ***lists, size_t wanted, struct err *why)
{
	int r = count == wanted ? 0
				: err_set(why, -EBADMSG, "malformed frame: its lists are missing");

	for (size_t i = 0; i < count; i++) {
		if (r == 0)
			r = session_wire_unpack(fd_take(&fds[i]), &lists[i], why);
		else
			fd_close(fd_take(&fds[i]));
	}
	return r;
}

int session_wire_put_begin(struct frame *frame, const struct session_begin *begin, int *ret_fds,
			   struct err *why)
{
	char **const lists[SESSION_BEGIN_LISTS] = { begin->argv, begin->writable };

	frame_begin(frame, SESSION_BEGIN);
	frame_put_text(frame, begin->command);
	frame_put_u8(frame, begin->wants_bundle);
	frame_put_u8(frame, begin->is_impatient);
	return pack_all(lists, SESSION_BEGIN_LISTS, ret_fds, why);
}

int session_wire_get_begin(struct frame *frame, int *fds, size_t count, struct session_begin *ret,
			   struct err *why)
{
	char **lists[SESSION_BEGIN_LISTS] = { 0 };
	uint8_t wants_bundle, is_impatient;

	*ret = (struct session_begin){ 0 };
	frame_get_text(frame, ret->command, sizeof(ret->command));
	wants_bundle = frame_get_u8(frame);
	is_impatient = frame_get_u8(frame);
	int r = unpack_all(fds, count, lists, SESSION_BEGIN_LISTS, why);

	ret->argv = lists[0];
	ret->writable = lists[1];
	ret->wants_bundle = wants_bundle;
	ret->is_impatient = is_impatient;
	if (r == 0 && (!frame_is_whole(frame) || wants_bundle > 1 || is_impatient > 1))
		r = err_set(why, -EBADMSG, "malformed frame: it does not begin a command");
	return r;
}

void session_wire_free_begin(struct session_begin *begin)
{
	mem_free_list(begin->argv);
	mem_free_list(begin->writable);
	*begin = (struct session_begin){ 0 };
}

int session_wire_put_terms(struct frame *frame, const struct session_terms *terms, int *ret_fds,
			   struct err *why)
{
	frame_begin(frame, SESSION_TERMS);
	frame_put_u64(frame, terms->exec);
	frame_put_u16(frame, terms->web_port);
	frame_put_u8(frame, terms->has_default);
	frame_put_u8(frame, terms->default_action);
	frame_put_u64(frame, (uint64_t)terms->start);
	frame_put_u16(frame, terms->metrics_port);
	return pack_all(terms->lists, SESSION_LISTS, ret_fds, why);
}

int session_wire_get_terms(struct frame *frame, int *fds, size_t count, struct session_terms *ret,
			   struct err *why)
{
	size_t facts = 0;

	*ret = (struct session_terms){ .exec = frame_get_u64(frame),
				       .web_port = frame_get_u16(frame),
				       .has_default = frame_get_u8(frame) != 0,
				       .default_action = frame_get_u8(frame) };
	ret->start = (int64_t)frame_get_u64(frame);
	ret->metrics_port = frame_get_u16(frame);
	int r = unpack_all(fds, count, ret->lists, SESSION_LISTS, why);

	if (r < 0)
		return r;
	while (ret->facts && ret->facts[facts])
		facts++;
	if (!frame_is_whole(frame) || facts != SESSION_FACTS || ret->exec == 0 ||
	    ret->default_action > POLICY_ALLOW)
		return err_set(why, -EBADMSG,
			       "malformed frame from the session: it does not contain its terms");
	return 0;
}

void session_wire_free_terms(struct session_terms *terms)
{
	for (size_t i = 0; i < SESSION_LISTS; i++)
		mem_free_list(terms->lists[i]);
	*terms = (struct session_terms){ 0 };
}

static void put_cut(struct frame *frame, const char *text, size_t max)
{
	auto_free char *cut = mem_printf("%.*s", (int)max - 1, text ? text : "");

	frame_put_text(frame, cut);
}

void session_wire_put_trip(struct frame *frame, enum session_frame type,
			   const struct gateway_trip *trip)
{
	const uint64_t counts[] = { trip->allowed,     trip->denied,   trip->unanswered,
				    trip->connections, trip->bytes_up, trip->bytes_down,
				    trip->failed,      trip->cut,      trip->unnamed };

	frame_begin(frame, type);
	frame_put_text(frame, trip->dst.host);
	frame_put_u8(frame, (uint8_t)trip->dst.protocol);
	frame_put_u16(frame, trip->dst.port);
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		frame_put_u64(frame, counts[i]);
	frame_put_u16(frame, (uint16_t)trip->last_denial);
	frame_put_u16(frame, (uint16_t)trip->last_unnamed);
	put_cut(frame, trip->rule, POLICY_TEXT_MAX);
	put_cut(frame, trip->because, POLICY_TEXT_MAX);
	put_cut(frame, trip->program, POLICY_TEXT_MAX);
	put_cut(frame, trip->request, POLICY_TEXT_MAX);
}

int session_wire_get_trip(struct frame *frame, struct gateway_trip *ret)
{
	uint64_t *const counts[] = { &ret->allowed,     &ret->denied,   &ret->unanswered,
				     &ret->connections, &ret->bytes_up, &ret->bytes_down,
				     &ret->failed,      &ret->cut,      &ret->unnamed };
	char host[POLICY_HOST_MAX], rule[POLICY_TEXT_MAX], because[POLICY_TEXT_MAX],
		program[POLICY_TEXT_MAX], request[POLICY_TEXT_MAX];

	*ret = (struct gateway_trip){ 0 };
	frame_get_text(frame, host, sizeof(host));
	uint8_t protocol = frame_get_u8(frame);
	uint16_t port = frame_get_u16(frame);

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		*counts[i] = frame_get_u64(frame);
	uint16_t reason = frame_get_u16(frame), unnamed = frame_get_u16(frame);

	frame_get_text(frame, rule, sizeof(rule));
	frame_get_text(frame, because, sizeof(because));
	frame_get_text(frame, program, sizeof(program));
	frame_get_text(frame, request, sizeof(request));
	if (!frame_is_whole(frame) || protocol > POLICY_UDP || reason >= POLICY_REASON_COUNT ||
	    unnamed >= POLICY_REASON_COUNT)
		return -EBADMSG;
	if (host[0] != '\0' &&
	    policy_destination_set(&ret->dst, host, strlen(host), port, NULL) < 0)
		return -EBADMSG;
	ret->dst.protocol = (enum policy_protocol)protocol;
	ret->last_denial = (enum policy_reason)reason;
	ret->last_unnamed = (enum policy_reason)unnamed;
	ret->rule = rule[0] ? mem_strdup(rule) : NULL;
	ret->because = because[0] ? mem_strdup(because) : NULL;
	ret->program = program[0] ? mem_strdup(program) : NULL;
	ret->request = request[0] ? mem_strdup(request) : NULL;
	return 0;
}

void session_wire_put_refused(struct frame *frame, const struct gateway_refused *refused)
{
	frame_begin(frame, SESSION_PROGRAM);
	frame_put_u16(frame, (uint16_t)refused->reason);
	put_cut(frame, refused->path, sizeof(((struct session_refused *)NULL)->path));
	put_cut(frame, refused->command, SESSION_COMMAND_MAX);
	put_cut(frame, refused->rule, POLICY_TEXT_MAX);
	put_cut(frame, refused->because, POLICY_TEXT_MAX);
}

int session_wire_get_refused(struct frame *frame, struct session_refused *text,
			     struct gateway_refused *ret)
{
	uint16_t reason = frame_get_u16(frame);

	frame_get_text(frame, text->path, sizeof(text->path));
	frame_get_text(frame, text->command, sizeof(text->command));
	frame_get_text(frame, text->rule, sizeof(text->rule));
	frame_get_text(frame, text->because, sizeof(text->because));
	if (!frame_is_whole(frame) || reason >= POLICY_REASON_COUNT)
		return -EBADMSG;
	*ret = (struct gateway_refused){ .path = text->path,
					 .command = text->command,
					 .reason = (enum policy_reason)reason,
					 .rule = text->rule,
					 .because = text->because };
	return 0;
}

void session_wire_put_note(struct frame *frame, enum gateway_note what, const char *path,
			   const char *words)
{
	frame_begin(frame, SESSION_NOTE);
	frame_put_u16(frame, (uint16_t)what);
	put_cut(frame, path, sizeof(((struct session_note *)NULL)->path));
	put_cut(frame, words, POLICY_TEXT_MAX);
}

int session_wire_get_note(struct frame *frame, struct session_note *ret)
{
	uint16_t what = frame_get_u16(frame);

	frame_get_text(frame, ret->path, sizeof(ret->path));
	frame_get_text(frame, ret->words, sizeof(ret->words));
	if (!frame_is_whole(frame) || what >= GATEWAY_NOTES)
		return -EBADMSG;
	ret->what = (enum gateway_note)what;
	return 0;
}

void session_wire_put_state(struct frame *frame, const struct session_state *state)
{
	frame_begin(frame, SESSION_STATE);
	frame_put_text(frame, state->id);
	frame_put_text(frame, state->cwd);
	frame_put_text(frame, state->grants_of);
	frame_put_text(frame, state->errors);
	frame_put_u64(frame, (uint64_t)state->since_s);
	frame_put_u32(frame, state->runs);
	frame_put_u32(frame, state->questions);
	frame_put_u32(frame, state->grants);
}

int session_wire_get_state(struct frame *frame, struct session_state *ret)
{
	frame_get_text(frame, ret->id, sizeof(ret->id));
	frame_get_text(frame, ret->cwd, sizeof(ret->cwd));
	frame_get_text(frame, ret->grants_of, sizeof(ret->grants_of));
	frame_get_text(frame, ret->errors, sizeof(ret->errors));
	ret->since_s = (int64_t)frame_get_u64(frame);
	ret->runs = frame_get_u32(frame);
	ret->questions = frame_get_u32(frame);
	ret->grants = frame_get_u32(frame);
	return frame_is_whole(frame) ? 0 : -EBADMSG;
}

/* Always returns -errno. */
static int read_refusal(struct frame *frame, struct err *why)
{
	char words[WORDS_MAX];

	frame_get_text(frame, words, sizeof(words));
	auto_free char *shown = text_visible_dup(
		frame_is_whole(frame) ? words : "the session refused without a reason");

	return err_set(why, -ECONNREFUSED, "%s", shown);
}

int session_wire_expect(int socket, enum session_frame type, struct frame *ret, int *ret_fds,
			size_t *ret_count, struct err *why)
{
	int r = frame_link_receive_on(socket, ret, ret_fds, ret_count);

	if (r == -EAGAIN)
		return err_set(why, -ETIMEDOUT, "the session does not answer");
	if (r < 0)
		return err_set(why, -EPIPE, "the session closed the connection");
	if (ret->type == type)
		return 0;
	fd_close_all(ret_fds, *ret_count);
	*ret_count = 0;
	if (ret->type == SESSION_REFUSED)
		return read_refusal(ret, why);
	return err_set(why, -EBADMSG, "the session sent a frame of an unexpected type");
}

int session_wire_say(int socket, enum session_frame type)
{
	struct frame frame;

	frame_begin(&frame, type);
	return frame_link_send_on(socket, &frame, NULL, 0);
}
