#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tests/unit/gateway/approvers/web/test_web.h"

void stage_open(void)
{
	struct err why = { 0 };

	ck_assert_msg(stage_begin(loop_new_fake(), &why) == 0, "%s", why.text);
}

void stage_close(void)
{
	stage_end();
}

void stage_settle(void)
{
	for (int i = 0; i < 8; i++)
		loop_step(stage.loop);
}

struct approver_question *stage_ask(const char *id, const char *host)
{
	struct approver_question *question = stage_put(id, host);

	ck_assert_ptr_nonnull(question);
	stage_settle();
	return question;
}

void visitor_open(struct visitor *visitor)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(stage.web.port),
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };

	*visitor = (struct visitor){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	ck_assert_int_eq(connect(visitor->fd, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(fd_set_nonblocking(visitor->fd, true), 0);
	visitor->text = mem_new(STAGE_OUTPUT_MAX);
	stage_settle();
}

void visitor_close(struct visitor *visitor)
{
	fd_close(visitor->fd);
	free(visitor->text);
	stage_settle();
}

void visitor_send(struct visitor *visitor, const char *bytes, size_t len)
{
	ck_assert_int_eq(send(visitor->fd, bytes, len, MSG_NOSIGNAL), (ssize_t)len);
	stage_settle();
}

void visitor_read(struct visitor *visitor)
{
	for (int quiet = 0; quiet < 4 && !visitor->is_over;) {
		size_t room = STAGE_OUTPUT_MAX - 1 - visitor->len;
		ssize_t got;

		stage_settle();
		ck_assert_uint_gt(room, 0);
		got = recv(visitor->fd, visitor->text + visitor->len, room, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN))
			visitor->is_over = true;
		if (got > 0)
			visitor->len += (size_t)got;
		quiet = got > 0 ? 0 : quiet + 1;
	}
	visitor->text[visitor->len] = '\0';
}

static int visitor_status(const struct visitor *visitor)
{
	return strncmp(visitor->text, "HTTP/1.1 ", 9) == 0
		       ? (int)strtol(visitor->text + 9, NULL, 10)
		       : 0;
}

int visitor_ask(struct visitor *visitor, const char *bytes)
{
	visitor_open(visitor);
	visitor_send(visitor, bytes, strlen(bytes));
	visitor_read(visitor);
	return visitor_status(visitor);
}

char *stage_fields(void)
{
	return mem_printf("Host: 127.0.0.1:%u\r\nOrigin: http://127.0.0.1:%u\r\n"
			  "Sec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\n"
			  "Cookie: other=1; sallyport-%u=%s\r\nSallyport-Key: %s\r\n",
			  stage.web.port, stage.web.port, stage.web.port,
			  stage.approver->page.cookie, stage.approver->page.key);
}

int stage_post(struct visitor *visitor, const char *path, const char *format, ...)
{
	auto_free char *fields = stage_fields(), *request = NULL;
	char body[4096];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(body, sizeof(body), format, args);
	va_end(args);
	request = mem_printf("POST %s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", path, fields,
			     strlen(body), body);
	return visitor_ask(visitor, request);
}

void stage_watch(struct visitor *visitor)
{
	auto_free char *fields = stage_fields();
	auto_free char *request = mem_printf("GET /api/events HTTP/1.1\r\n%s\r\n", fields);

	ck_assert_int_eq(visitor_ask(visitor, request), 200);
	ck_assert_ptr_nonnull(strstr(visitor->text, "text/event-stream"));
}

int main(void)
{
	SRunner *runner = srunner_create(suite_web());
	int failed;

	srunner_add_suite(runner, suite_web_answers());
	srunner_add_suite(runner, suite_web_requests());
	srunner_add_suite(runner, suite_web_once());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
