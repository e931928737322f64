/* syslog_text: a record as a message of RFC 5424, in ASCII. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gateway/audit/sink_impl.h"

/* Every receiver should take so much (RFC 5424 §6.1); what is longer is cut. */
#define SYSLOG_TEXT_MAX 2048
/* Of the name of the machine. */
#define SYSLOG_TEXT_NAME_MAX 65

/* What all messages of a process have. A plain value. */
struct syslog_text_origin {
	char machine[SYSLOG_TEXT_NAME_MAX]; /* "-": not known */
	long pid;
};
void syslog_text_origin(struct syslog_text_origin *ret);

/* Writes the message without its number, and where the number belongs to. Returns the length. */
size_t syslog_text_record(const struct syslog_text_origin *origin, const struct sink_record *record,
			  char out[SYSLOG_TEXT_MAX], size_t *ret_number_at);
/* The same, for @count records that were dropped; @like: the first one that was not. */
size_t syslog_text_dropped(const struct syslog_text_origin *origin, const struct sink_record *like,
			   uint64_t count, char out[SYSLOG_TEXT_MAX], size_t *ret_number_at);
