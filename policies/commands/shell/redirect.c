#include "policies/commands/shell/redirect_impl.h"

#include <string.h>

#include "base/mem.h"

const char *redirect_operator(const char *text, size_t rest)
{
	static const char *const operators[] = { "<<<", "<<-", "&>>", "<<", "<>", "<&",
						 ">>",  ">&",  ">|",  "&>", "<",  ">" };

	for (size_t i = 0; i < ARRAY_SIZE(operators); i++) {
		size_t len = strlen(operators[i]);

		if (rest >= len && memcmp(text, operators[i], len) == 0)
			return operators[i];
	}
	return "";
}

enum command_redirect_kind redirect_kind(const char *operator, const char * target)
{
	if (strncmp(operator, "<<", 2) == 0)
		return COMMAND_HERE;
	if (operator[1] == '&' &&(strcmp(target, "-") == 0 ||
				  (target[0] && strspn(target, "0123456789") == strlen(target))))
		return COMMAND_COPIES_FD;
	return strcmp(operator, "<") == 0 ? COMMAND_READS : COMMAND_WRITES;
}

bool redirect_is_odd(const char *operator, const char * target)
{
	return target[0] == '!' || strncmp(target, "/dev/tcp/", 9) == 0 ||
	       strncmp(target, "/dev/udp/", 9) == 0 ||
	       (strcmp(operator, "<&") == 0 &&
		redirect_kind(operator, target) != COMMAND_COPIES_FD);
}

size_t redirect_descriptor(const char *text, size_t rest)
{
	size_t len = 0;

	while (len < rest && text[len] >= '0' && text[len] <= '9')
		len++;
	return len < rest && (text[len] == '<' || text[len] == '>') ? len : 0;
}
