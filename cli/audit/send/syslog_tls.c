/* Syslog acknowledges nothing. Each batch has a connection of its own, because a receiver that
 * confirms its end has read what came before it (RFC 5425 §4.4). The members of a record are
 * parameters with the names that --syslog gives them. */
#include "cli/audit/send/syslog_tls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto/tls.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/audit/send/event.h"
#include "cli/audit/send/spool.h"
#include "cli/audit/send/stream.h"
#include "cli/gate/run_upstream.h"

#define SYSLOG_FACILITY    10 /* authpriv, as --syslog */
#define SYSLOG_PORT        6514
#define SYSLOG_MESSAGE_MAX 8192       /* every receiver should take so much (RFC 5425 §4.3.1) */
#define SYSLOG_VALUE_MAX   512        /* of a text; what is longer is cut */
#define SYSLOG_END_ROOM    1024       /* for the sentence */
#define SYSLOG_BYTES_MAX   (4U << 20) /* of the file of authorities */

struct receiver {
	char *host;
	uint16_t port;
	struct tls_trust *trust;
};

/* RFC 5424 §6.2.1 */
static const int severities[] = {
	[EVENT_INFO] = 6,
	[EVENT_NOTICE] = 5,
	[EVENT_WARNING] = 4,
	[EVENT_ERROR] = 3,
};

/* Elsewhere in the message, or of the log's own chain. */
static bool syslog_is_left_out(const char *name)
{
	static const char *const names[] = { "time", "mono", "prev", "signature" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

/* RFC 5424 §6.3.3: printable ASCII, in which three characters are escaped. Returned owned. */
static char *syslog_escape(const char *text)
{
	auto_free char *shown = text_visible_once(text);
	char *out = mem_new((size_t)2 * SYSLOG_VALUE_MAX + 1);
	size_t len = 0;

	if (strlen(shown) > SYSLOG_VALUE_MAX)
		memcpy(shown + SYSLOG_VALUE_MAX - 3, "...", sizeof("..."));
	for (const char *c = shown; *c; c++) {
		if (*c == '"' || *c == '\\' || *c == ']')
			out[len++] = '\\';
		out[len++] = *c;
	}
	return out;
}

/* Appends a parameter; a message is never longer than its maximum. */
static void syslog_put(char **message, const char *name, const char *text)
{
	auto_free char *value = syslog_escape(text);

	if (strlen(*message) + strlen(name) + strlen(value) + SYSLOG_END_ROOM < SYSLOG_MESSAGE_MAX)
		mem_append(message, " %s=\"%s\"", name, value);
}

static void syslog_put_members(char **message, const struct spool_record *record)
{
	json_t *line = json_loads(record->line, 0, NULL), *value;
	const char *name;

	json_object_foreach(line, name, value)
	{
		if (syslog_is_left_out(name))
			continue;
		char *text = json_is_string(value)
				     ? mem_strdup(json_string_value(value))
				     : json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		if (text)
			syslog_put(message, name, text);
		free(text);
	}
	json_decref(line);
}

/* "LENGTH MESSAGE" (RFC 5425 §4.3). The time is at the beginning of the line. */
static void syslog_append(char **frames, const struct spool_record *record, const char *machine,
			  const char *log)
{
	json_t *line = json_loads(record->line, 0, NULL);
	const char *time = json_string_value(json_object_get(line, "time"));
	auto_free char *message = mem_printf(
		"<%d>1 %s %s sallyport - %.32s [sallyport@32473",
		SYSLOG_FACILITY * 8 + severities[event_severity(&record->parsed)],
		time ? time : "-", machine, record->parsed.event[0] ? record->parsed.event : "-");
	auto_free char *sentence = event_sentence(&record->parsed);

	syslog_put_members(&message, record);
	if (!json_object_get(line, "log"))
		syslog_put(&message, "log", log);
	mem_append(&message, "] %.*s", SYSLOG_END_ROOM - 64, sentence);
	mem_append(frames, "%zu %s", strlen(message), message);
	json_decref(line);
}

static int syslog_send(struct receiver *self, const struct spool_batch *batch,
		       uint64_t *ret_refused, struct err *why)
{
	char machine[EVENT_MACHINE_MAX];
	struct stream *stream = NULL;
	int r = stream_open(self->host, self->port, self->trust, loop_clock_ms() + RECEIVER_MS,
			    &stream, why);

	*ret_refused = 0;
	(void)event_machine(machine);
	for (size_t i = 0; r == 0 && i < batch->count; i++) {
		auto_free char *frame = mem_strdup("");

		syslog_append(&frame, &batch->records[i], machine, batch->end.log);
		r = stream_write(stream, frame, strlen(frame), why);
	}
	if (r == 0)
		r = stream_finish(stream, why);
	stream_close(stream);
	return r;
}

static void syslog_close(struct receiver *self)
{
	if (!self)
		return;
	free(self->host);
	tls_trust_free(self->trust);
	free(self);
}

/* HOST[:PORT]; an IPv6 address is in brackets. */
static int syslog_parse(struct receiver *self, const char *place)
{
	const char *close = place[0] == '[' ? strchr(place, ']') : NULL;
	const char *colon = place[0] != '[' ? strchr(place, ':') : close ? close + 1 : NULL;
	size_t len = close ? (size_t)(close - place) - 1 : strcspn(place, ":");
	uint64_t port = SYSLOG_PORT;

	if (len == 0 || (place[0] == '[' && !close) || strpbrk(place, "/@?#"))
		return -EINVAL;
	if (colon && *colon &&
	    (*colon != ':' || text_to_u64(colon + 1, strlen(colon + 1), UINT16_MAX, &port) < 0 ||
	     port == 0))
		return -EINVAL;
	self->host = mem_strndup(place + (close != NULL), len);
	self->port = (uint16_t)port;
	return 0;
}

/* Whom this machine trusts. */
static int syslog_trust(struct receiver *self, struct err *why)
{
	auto_free char *text = NULL;
	const char *path;
	size_t len = 0;
	auto_close int fd = run_upstream_open_authorities(&path);
	int r = fd < 0 ? err_errno(why, -fd, "cannot open it")
		       : fd_read_all(fd, SYSLOG_BYTES_MAX, &text, &len, why);

	if (r == 0)
		r = tls_trust_new(text, len, &self->trust, why);
	return r < 0 ? err_prefix(why, r,
				  "whom to trust is read from %s, or the file of SSL_CERT_FILE",
				  path)
		     : 0;
}

static int syslog_open(const struct receiver_config *config, struct receiver **ret, struct err *why)
{
	struct receiver *self;

	if (config->headers)
		return err_set(why, -EINVAL, "--headers is for otlp+http and otlp+https");
	self = mem_new(sizeof(*self));
	int r = syslog_parse(self, strstr(config->to, "://") + 3);

	if (r < 0)
		r = err_set(why, r, "%s is not syslog+tls://HOST:PORT", config->to);
	else
		r = syslog_trust(self, why);
	if (r < 0) {
		syslog_close(self);
		return r;
	}
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail for it */
	*ret = self;
	return 0;
}

const struct receiver_ops syslog_tls_ops = { "syslog+tls", syslog_open, syslog_send, syslog_close };
