/* test_web: the page's server with a gateway under the hand of the test, and a client of bytes. */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/gateway/approvers/web/test_web_fake.h"

#define STAGE_OUTPUT_MAX (16U << 20)

/* Fixture: the page's server on a fake loop. */
void stage_open(void);
void stage_close(void);
void stage_settle(void);
struct approver_question *stage_ask(const char *id, const char *host);

/* A connection to the page. */
struct visitor {
	int fd;
	char *text; /* all that came */
	size_t len;
	bool is_over;
};
void visitor_open(struct visitor *visitor);
void visitor_close(struct visitor *visitor);
void visitor_send(struct visitor *visitor, const char *bytes, size_t len);
/* Takes what is there. */
void visitor_read(struct visitor *visitor);
/* The status of the answer to these bytes; 0: none came. */
int visitor_ask(struct visitor *visitor, const char *bytes);

/* Fields of a page that was entered, and of one that was not. */
char *stage_fields(void);
/* POST @path with @body, as the page does; the status. What came is in @visitor, to be closed. */
int stage_post(struct visitor *visitor, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Opens the stream. */
void stage_watch(struct visitor *visitor);

Suite *suite_web(void);
Suite *suite_web_answers(void);
Suite *suite_web_requests(void);
Suite *suite_web_once(void);
