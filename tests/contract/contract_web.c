#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "tests/contract/contract.h"

/* A field or a member whose value is 64 hexadecimal digits. */
static void take_secret(const char *text, const char *before, char out[65])
{
	const char *at = strstr(text, before);

	ck_assert_ptr_nonnull(at);
	(void)snprintf(out, 65, "%s", at + strlen(before));
}

int contract_web_connect(const struct gateway_web *web)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(web->port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

char *contract_web_enter(const struct gateway_web *web, void (*settle)(void))
{
	auto_free char *common = mem_printf("Host: 127.0.0.1:%u\r\nOrigin: http://127.0.0.1:%u\r\n"
					    "Content-Type: application/json\r\n",
					    web->port, web->port);
	auto_free char *request =
		mem_printf("POST /api/enter HTTP/1.1\r\n%sContent-Length: 81\r\n\r\n"
			   "{\"capability\":\"%s\"}",
			   common, strchr(web->url, '#') + 1);
	auto_close int fd = contract_web_connect(web);
	char answer[4096] = "", cookie[65], key[65], name[32];

	ck_assert_int_eq(write(fd, request, strlen(request)), (ssize_t)strlen(request));
	settle();
	ck_assert_int_gt(recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT), 0);
	(void)snprintf(name, sizeof(name), "sallyport-%u=", web->port);
	take_secret(answer, name, cookie);
	take_secret(answer, "\"key\":\"", key);
	return mem_printf("%sCookie: %s%s\r\nSallyport-Key: %s\r\n", common, name, cookie, key);
}
