/* serve: the page of `audit serve`. Private to this folder. */
#pragma once

#include "base/page/page.h"

#define SERVE_ASKING_MAX 4 /* processes at once */

/* Empty in processes that answer: mem_new_secret(). */
struct serve {
	struct loop *loop;
	const char *log; /* absolute; borrowed */
	struct page page;
	unsigned int asking;
};

void serve_ask_admit(struct page *page, int fd);
/* POST /api/ask: {"ask": KIND, "words": {OPTION: VALUE, ...}, "record": ID}. The answer has the
 * exit status and what the command printed: {"status", "out", "notes"}. */
void serve_ask(struct page_client *client, const json_t *object);
