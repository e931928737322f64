#include "cli/approve.h"

#include <errno.h>
#include <event2/buffer.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"

#define LINK_VERSION       1
#define LINK_READ_BYTES    65536
#define LINK_QUESTIONS_MAX 65536 /* more is no gate of ours */

int approve_link_check_greeting(const json_t *greeting, struct err *why)
{
	const json_t *version = json_object_get(greeting, "sallyport");

	if (!json_is_integer(version))
		return err_set(why, -EPROTO, "what answers there is no gate");
	if (json_integer_value(version) != LINK_VERSION)
		return err_set(why, -EPROTO, "that gate speaks version %lld, this program %d",
			       (long long)json_integer_value(version), LINK_VERSION);
	return 0;
}

static int link_read(struct approve_link *link, json_t **ret_message, struct err *why)
{
	for (;;) {
		size_t len;
		auto_free char *line = evbuffer_readln(link->in, &len, EVBUFFER_EOL_LF);

		if (line) {
			*ret_message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
			return *ret_message ? 0 : err_set(why, -EPROTO, "the gate sent no JSON");
		}
		if (evbuffer_get_length(link->in) > APPROVE_LINE_MAX_BYTES)
			return err_set(why, -E2BIG, "the gate sent a line without end");
		int got = evbuffer_read(link->in, link->fd, LINK_READ_BYTES);
		if (got == 0)
			return err_set(why, -ECONNRESET, "the gate hung up");
		if (got < 0 && errno == EAGAIN)
			return err_set(why, -ETIMEDOUT, "the gate does not answer");
		if (got < 0 && errno != EINTR)
			return err_errno(why, errno, "cannot read from the gate");
	}
}

int approve_link_open(int dir_fd, const char *run, struct approve_link *ret, struct err *why)
{
	struct approve_link link = { .fd = approve_dir_connect(dir_fd, run, true, why) };
	json_t *greeting = NULL;
	int r;

	if (link.fd < 0)
		return link.fd;
	link.in = evbuffer_new();
	if (!link.in)
		abort(); /* out of memory, as in base/mem */
	r = link_read(&link, &greeting, why);
	if (r == -ECONNRESET)
		r = err_set(why, -EACCES,
			    "the gate of run %s hung up: it takes answers from its own user and "
			    "namespaces only, and has room for a limited number of clients",
			    run);
	if (r == 0)
		r = approve_link_check_greeting(greeting, why);
	json_decref(greeting);
	if (r < 0) {
		approve_link_done(&link);
		return r;
	}
	*ret = link;
	return 0;
}

void approve_link_done(struct approve_link *link)
{
	fd_close(link->fd);
	link->fd = -1;
	if (link->in)
		evbuffer_free(link->in);
	link->in = NULL;
}

static int link_send(struct approve_link *link, const json_t *message, struct err *why)
{
	auto_free char *text = json_dumps(message, JSON_COMPACT | JSON_ENSURE_ASCII);
	auto_free char *line = mem_printf("%s\n", text ? text : "");
	size_t len = strlen(line), sent = 0;

	while (sent < len) {
		ssize_t n = send(link->fd, line + sent, len - sent, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(why, errno == EAGAIN ? ETIMEDOUT : errno,
					 "cannot write to the gate");
		sent += (size_t)n;
	}
	return 0;
}

int approve_link_request(struct approve_link *link, json_t *request, json_t **ret_reply,
			 struct err *why)
{
	json_t *reply = NULL;
	int r = json_object_set_new(request, "id", json_integer(++link->last_id));

	r = r < 0 ? -ENOMEM : link_send(link, request, why);
	json_decref(request);
	if (r == 0)
		r = link_read(link, &reply, why);
	if (r < 0)
		return r;
	if (json_integer_value(json_object_get(reply, "id")) != link->last_id) {
		json_decref(reply);
		return err_set(why, -EPROTO, "the gate answered something else");
	}
	*ret_reply = reply;
	return 0;
}

int approve_link_questions(struct approve_link *link, json_t *all, struct err *why)
{
	json_int_t after = 0, next = 0;
	bool has_more = true;
	int r = 0;

	while (r == 0 && has_more) {
		json_t *request = json_pack("{s:s}", "op", "list"), *reply = NULL;

		if (after > 0)
			(void)json_object_set_new(request, "after", json_integer(after)); /* OOM */
		r = approve_link_request(link, request, &reply, why);
		next = json_integer_value(json_object_get(reply, "after"));
		has_more = json_integer_value(json_object_get(reply, "more")) > 0;
		if (r == 0 && (json_array_extend(all, json_object_get(reply, "questions")) < 0 ||
			       (has_more && next <= after)))
			r = err_set(why, -EPROTO, "the gate sent no list");
		if (r == 0 && json_array_size(all) > LINK_QUESTIONS_MAX)
			r = err_set(why, -E2BIG, "the gate asks too much");
		after = next;
		json_decref(reply);
	}
	return r;
}
