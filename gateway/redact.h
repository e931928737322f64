/* redact: takes what looks like a secret out of a command line before it is shown or written down.
 */
#pragma once

/* @line: an argv as one visible line (text_command_line()). Its secrets become ***, as
 * sallyport-audit(1) lists. It would rather hide too much. Returned owned. */
char *redact_command(const char *line);
