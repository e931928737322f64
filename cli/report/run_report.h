/* run_report: what is printed at the end of a run. */
#pragma once

struct run_summary;

enum run_report { RUN_REPORT_AUTO, RUN_REPORT_TEXT, RUN_REPORT_JSON, RUN_REPORT_NONE };

/* Prints the trip report on stderr, in @form (text or json). */
void run_report_print(const struct run_summary *summary, enum run_report form);
/* Writes the result as one JSON line to @fd: 0 or -errno. */
int run_report_json(const struct run_summary *summary, int fd);
