/* event: what every receiver is told about a record besides its members. */
#pragma once

struct gateway_logged;

enum event_severity { EVENT_INFO, EVENT_NOTICE, EVENT_WARNING, EVENT_ERROR };

/* As --syslog has it: a denial is a warning, a gap an error. */
enum event_severity event_severity(const struct gateway_logged *record);
/* "decision: deny https://a.test:443 (rule_deny)". Printable ASCII; returned owned. */
char *event_sentence(const struct gateway_logged *record);
/* The name of this machine, in printable ASCII without blanks; "-": not known. Returns @out. */
#define EVENT_MACHINE_MAX 256
const char *event_machine(char out[EVENT_MACHINE_MAX]);
