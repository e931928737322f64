/* ocsf: records about destinations as events of the Open Cybersecurity Schema Framework. */
#pragma once

struct gateway_logged;

/* The class of each event, and all that has a place there, is of this version. */
#define OCSF_VERSION "1.4.0"

/* One line of JSON without a newline, of @record, @what it is about, and its @line in the log:
 * Network Activity, or HTTP Activity for the decision about a request that came in by HTTP.
 * Returned owned. NULL: the record is about something else. */
char *ocsf_event(const struct gateway_logged *record, const char *what, const char *line);
