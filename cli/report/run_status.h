/* run_status: the exit status at the end of a run, and of the server of an agent. */
#pragma once

struct gate;
struct run_summary;

/* Sets exit_status and fails_by of @summary, whose other members are set: its command_status,
 * unless an option such as --fail-on-deny says otherwise. Writes the file of unanswered questions,
 * if one was asked for. */
void run_status_settle(const struct gate *gate, struct run_summary *summary);
