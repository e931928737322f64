#include "cli/egress_lock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"

#define HEADER      "sallyport-egress-lock 1"
#define HEADER_NAME "sallyport-egress-lock "
#define END         "end"
#define POWER_MIN   3 /* <1K */
#define POWER_MAX   18
#define LINE_MAX_IN 4096
#define UNKNOWN     "-"

void egress_lock_init(struct tally *lines)
{
	tally_init(lines, sizeof(struct egress_line), GATEWAY_EGRESS_MAX);
}

static uint64_t power_of_ten(unsigned int power)
{
	uint64_t value = 1;

	while (power-- > 0)
		value *= 10;
	return value;
}

/* "<10K": less than 10^4 bytes. */
static char *magnitude_text(unsigned int power)
{
	return mem_printf("<%u%c", (unsigned int)power_of_ten(power % 3), "KMGTPE"[power / 3 - 1]);
}

static unsigned int magnitude_parse(const char *text)
{
	for (unsigned int power = POWER_MIN; power <= POWER_MAX; power++) {
		auto_free char *known = magnitude_text(power);

		if (strcmp(known, text) == 0)
			return power;
	}
	return 0;
}

static unsigned int magnitude_of(uint64_t bytes)
{
	unsigned int power = POWER_MIN;

	while (power < POWER_MAX && power_of_ten(power) / 2 <= bytes)
		power++;
	return power;
}

/* The base name as one word. A command chooses the names of its files. */
static char *program_word(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (name[0] == '\0')
		return mem_strdup(UNKNOWN);
	if (strcmp(name, UNKNOWN) == 0)
		return mem_strdup("\\x2d");
	auto_free char *shown = text_visible_dup(name);
	char *word = mem_strdup("");

	for (const char *c = shown; *c; c++)
		mem_append(&word, *c == ' ' ? "\\x20" : "%c", *c);
	return word;
}

int egress_lock_add(struct tally *lines, const struct gateway_egress *egress)
{
	auto_free char *program = program_word(egress->program);
	auto_free char *key = mem_printf("%s %s %u %s", policy_protocol_name(egress->dst.protocol),
					 egress->dst.host, (unsigned int)egress->dst.port, program);
	struct egress_line *line = tally_at(lines, key);

	if (!line)
		return -E2BIG;
	line->bytes[EGRESS_UP] += egress->bytes_up;
	line->bytes[EGRESS_DOWN] += egress->bytes_down;
	return 0;
}

static unsigned int power_of_line(const struct egress_line *line, unsigned int way)
{
	return line->power[way] ? line->power[way] : magnitude_of(line->bytes[way]);
}

char *egress_lock_line(const struct egress_line *line)
{
	auto_free char *up = magnitude_text(power_of_line(line, EGRESS_UP));
	auto_free char *down = magnitude_text(power_of_line(line, EGRESS_DOWN));

	return mem_printf("%s up %s down %s", tally_key(line), up, down);
}

char *egress_lock_text(const struct tally *lines)
{
	auto_free void **rows = tally_rows(lines);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort(); /* out of memory, as in base/mem */
	(void)fputs(HEADER "\n", out);
	for (void **row = rows; *row; row++) {
		auto_free char *line = egress_lock_line(*row);

		(void)fprintf(out, "%s\n", line);
	}
	(void)fputs(END "\n", out);
	(void)fclose(out);
	return text;
}

const char *egress_lock_program(const char *key)
{
	return strrchr(key, ' ') + 1;
}

bool egress_lock_holds(const struct egress_line *limit, const struct egress_line *counted)
{
	return counted->bytes[EGRESS_UP] < power_of_ten(limit->power[EGRESS_UP]) &&
	       counted->bytes[EGRESS_DOWN] < power_of_ten(limit->power[EGRESS_DOWN]);
}

static bool is_word(const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			return false;
	return text[0] != '\0';
}

/* http, https or tcp, and a destination exactly as the gate writes it. */
static bool is_destination(const char *protocol, const char *host, const char *port)
{
	struct policy_destination dst;
	uint64_t number = 0;

	if (strcmp(protocol, policy_protocol_name(POLICY_HTTP)) != 0 &&
	    strcmp(protocol, policy_protocol_name(POLICY_HTTPS)) != 0 &&
	    strcmp(protocol, policy_protocol_name(POLICY_TCP)) != 0)
		return false;
	if (port[0] == '0' || text_to_u64(port, strlen(port), UINT16_MAX, &number) < 0)
		return false;
	return policy_destination_set(&dst, host, strlen(host), (uint16_t)number, NULL) == 0 &&
	       strcmp(dst.host, host) == 0;
}

/* "PROTOCOL HOST PORT PROGRAM up <N down <N"; the text is cut into words. */
static int parse_line(struct tally *lines, char *text, char **last, struct err *why)
{
	static const char form[] = "this line is not PROTOCOL HOST PORT PROGRAM up <N down <N";
	char *words[8], *rest = text;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		words[i] = strsep(&rest, " ");
		if (!words[i] || !is_word(words[i]))
			return err_set(why, -EBADMSG, form);
	}
	unsigned int up = magnitude_parse(words[5]), down = magnitude_parse(words[7]);

	if (rest || strcmp(words[4], "up") != 0 || strcmp(words[6], "down") != 0 || !up || !down)
		return err_set(why, -EBADMSG, form);
	if (!is_destination(words[0], words[1], words[2]))
		return err_set(why, -EBADMSG,
			       "%s %s %s is not a destination as the gate writes it (http, https "
			       "or tcp; a host in lower case and ASCII; a port)",
			       words[0], words[1], words[2]);
	char *key = mem_printf("%s %s %s %s", words[0], words[1], words[2], words[3]);
	int order = *last ? strcmp(*last, key) : -1;

	free(*last);
	*last = key;
	if (order >= 0)
		return err_set(why, -EBADMSG,
			       order == 0 ? "this destination and program have a line already"
					  : "the lines are not sorted");
	struct egress_line *line = tally_at(lines, key);

	if (!line)
		return err_set(why, -EBADMSG, "there are more than %d lines", GATEWAY_EGRESS_MAX);
	line->power[EGRESS_UP] = (unsigned char)up;
	line->power[EGRESS_DOWN] = (unsigned char)down;
	return 0;
}

static int parse_header(const char *text, struct err *why)
{
	if (strcmp(text, HEADER) == 0)
		return 0;
	if (strncmp(text, HEADER_NAME, strlen(HEADER_NAME)) == 0)
		return err_set(why, -EBADMSG,
			       "this version of the file is not known; version 1 is");
	return err_set(why, -EBADMSG, "the first line is not `" HEADER "`");
}

int egress_lock_parse(struct tally *lines, const char *text, size_t len, struct err *why)
{
	const char *at = text, *end = text + len;
	auto_free char *last = NULL;
	bool is_over = false;
	size_t number = 1;
	int r = 0;

	for (; at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t line_len = newline ? (size_t)(newline - at) : (size_t)(end - at);
		auto_free char *line = mem_strndup(at, line_len);

		if (!newline)
			r = err_set(why, -EBADMSG, "this line is not whole");
		else if (line_len > LINE_MAX_IN || strlen(line) != line_len)
			r = err_set(why, -EBADMSG, "this line is too long, or is not text");
		else if (number == 1)
			r = parse_header(line, why);
		else if (is_over)
			r = err_set(why, -EBADMSG, "nothing may follow the line `" END "`");
		else if (strcmp(line, END) == 0)
			is_over = true;
		else
			r = parse_line(lines, line, &last, why);
		if (r < 0)
			return err_prefix(why, r, "%zu", number);
		at = newline + 1;
	}
	return is_over ? 0
		       : err_set(why, -EBADMSG,
				 "%zu: the file is not whole: its last line is not `" END "`",
				 number);
}
