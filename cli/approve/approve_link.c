#include "cli/approve/approve.h"

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
#define LINK_QUESTIONS_MAX 65536 /* a gate of this program sends no more */

static int link_check_greeting(const json_t *greeting, struct err *why)
{
	const json_t *version = json_object_get(greeting, "sallyport");

	if (!json_is_integer(version))
		return err_set(why, -EPROTO, "the peer is not a Sallyport gateway");
	if (json_integer_value(version) != LINK_VERSION)
		return err_set(why, -EPROTO,
			       "the gate speaks version %lld of the protocol, and this program "
			       "version %d; use the same program for both",
			       (long long)json_integer_value(version), LINK_VERSION);
	return 0;
}

/* The next message of the gate, owned; NULL: it is incomplete. */
static int link_take(struct evbuffer *in, json_t **ret_message, struct err *why)
{
	size_t len;
	auto_free char *line = evbuffer_readln(in, &len, EVBUFFER_EOL_LF);

	*ret_message = line ? json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	if (line && !*ret_message)
		return err_set(why, -EPROTO, "the gate sent a line that is not JSON");
	return !line && evbuffer_get_length(in) > APPROVE_LINE_MAX_BYTES
		       ? err_set(why, -E2BIG, "the gate sent a line that is too long")
		       : 0;
}

/* Takes @request; returns it with @id as a line, owned. NULL: it cannot be sent. */
static char *link_line(json_t *request, json_int_t id)
{
	bool is_whole = json_object_set_new(request, "id", json_integer(id)) == 0;
	auto_free char *text =
		is_whole ? json_dumps(request, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(request);
	return text ? mem_printf("%s\n", text) : NULL;
}

static int link_read(struct approve_link *link, json_t **ret_message, struct err *why)
{
	for (;;) {
		int r = link_take(link->in, ret_message, why);

		if (r < 0 || *ret_message)
			return r;
		int got = evbuffer_read(link->in, link->fd, LINK_READ_BYTES);
		if (got == 0)
			return err_set(why, -ECONNRESET, "the gate closed the connection");
		if (got < 0 && errno == EAGAIN)
			return err_set(
				why, -ETIMEDOUT,
				"the gate of run %s does not answer; it may be stopped (Ctrl-Z)",
				link->run);
		if (got < 0 && errno != EINTR)
			return err_errno(why, errno, "cannot read from the gate");
	}
}

int approve_link_open(int dir_fd, const char *run, int limit_ms, struct approve_link *ret,
		      struct err *why)
{
	struct approve_link link = { .fd = approve_dir_connect(dir_fd, run, limit_ms, why),
				     .run = run };
	json_t *greeting = NULL;
	int r;

	if (link.fd < 0)
		return link.fd;
	link.in = evbuffer_new();
	if (!link.in)
		abort(); /* out of memory, as in base/mem */
	r = link_read(&link, &greeting, why);
	if (r == -ECONNRESET)
		r = err_set(
			why, -EACCES,
			"the gate of run %s closed the connection; it accepts answers only from "
			"its own user and namespaces, and from a limited number of clients",
			run);
	if (r == 0)
		r = link_check_greeting(greeting, why);
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

static int link_send(struct approve_link *link, const char *line, struct err *why)
{
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
	auto_free char *line = link_line(request, ++link->last_id);
	json_t *reply = NULL;
	int r = line ? link_send(link, line, why)
		     : err_set(why, -EINVAL,
			       "the request contains bytes that cannot be sent as text");

	if (r == 0)
		r = link_read(link, &reply, why);
	if (r < 0)
		return r;
	if (json_integer_value(json_object_get(reply, "id")) != link->last_id) {
		json_decref(reply);
		return err_set(why, -EPROTO, "the gate answered another request");
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
		if (r == 0 &&
		    (json_array_extend(all, json_object_get(reply, "questions")) < 0 ||
		     (after == 0 &&
		      json_array_extend(all, json_object_get(reply, "agent_questions")) < 0) ||
		     (has_more && next <= after)))
			r = err_set(why, -EPROTO, "the gate sent a malformed list");
		if (r == 0 && json_array_size(all) > LINK_QUESTIONS_MAX)
			r = err_set(why, -E2BIG, "the gate sent too many questions");
		after = next;
		json_decref(reply);
	}
	return r;
}
