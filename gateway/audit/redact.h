/* redact: removes probable secrets from a command line before it is shown or recorded. */
#pragma once

/* @line: an argv as one visible line (text_command_line()). Its secrets become ***, as
 * sallyport-audit(1) lists; in doubt, text is hidden. Returned owned. */
char *redact_command(const char *line);
