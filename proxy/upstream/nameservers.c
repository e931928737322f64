#include "proxy/upstream/nameservers.h"

#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/addr.h"

#define BLANKS " \t\r"

/* "fe80::1%eth0" is common in home networks; c-ares accepts the zone in this form. */
static int server_text(const char *word, char *out, size_t size)
{
	size_t len = strcspn(word, "%");
	struct addr addr;
	char text[ADDR_PORT_MAX];

	if (addr_parse(word, len, &addr) < 0)
		return -1;
	if (word[len] == '%') {
		if (addr.family != AF_INET6 || strlen(word + len) > IF_NAMESIZE)
			return -1;
		return snprintf(out, size, "[%s%s]:53", addr_text(&addr, text), word + len);
	}
	return snprintf(out, size, "%s", addr_port_text(&addr, 53, text));
}

void nameservers_parse(char *text, char out[NAMESERVERS_TEXT_MAX])
{
	size_t len = 0, count = 0;

	out[0] = '\0';
	for (char *line, *rest = text; (line = strsep(&rest, "\n")) && count < NAMESERVERS_MAX;) {
		char *word = line + strspn(line, BLANKS);
		size_t key = strcspn(word, BLANKS);
		if (key != strlen("nameserver") || strncmp(word, "nameserver", key) != 0)
			continue;
		word += key;
		word += strspn(word, BLANKS);
		word[strcspn(word, BLANKS "#;")] = '\0';

		char server[ADDR_PORT_MAX + IF_NAMESIZE];
		int n = server_text(word, server, sizeof(server));
		if (n <= 0)
			continue;
		n = snprintf(out + len, NAMESERVERS_TEXT_MAX - len, "%s%s", count ? "," : "",
			     server);
		len += (size_t)n; /* three entries of the maximum length fit */
		count++;
	}
	if (count == 0)
		(void)snprintf(out, NAMESERVERS_TEXT_MAX, "127.0.0.1:53");
}
