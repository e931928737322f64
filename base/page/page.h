/* page: a server on loopback for a page that one person opens in a browser. The address that is
 * printed has a secret, the capability; the page gets a cookie and a key in its place.
 * docs/decisions/0020 says which requests are served for whom. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/net/listener.h"
#include "base/page/page_head.h"
#include "base/page/served.h"

#define PAGE_SECRET_BYTES 32
#define PAGE_SECRET_MAX   (2 * PAGE_SECRET_BYTES + 1)
#define PAGE_COOKIE_MAX   32
#define PAGE_ORIGIN_MAX   272

struct err;
struct page;

/* The first member of a client. */
struct page_client {
	struct served served;
	struct page *page;
	char in[PAGE_HEAD_MAX_BYTES + PAGE_BODY_MAX_BYTES];
};

struct page_file {
	const char *path, *type;
	const unsigned char *bytes;
	size_t len;
};

struct page_step { /* POST @path, with one object */
	const char *path;
	void (*serve)(struct page_client *client, const json_t *object);
};

struct page_config { /* borrowed for as long as the page is open */
	/* Makes a client for @fd, which it takes, with page_client_init(). */
	void (*admit)(struct page *page, int fd);
	void (*stream)(struct page_client *client); /* GET /api/events; NULL: there is none */
	const struct page_file *files;
	const struct page_step *steps;
	size_t file_count, step_count;
	/* NULL-terminated: a page that the origin @link_origin may open, and what it needs. NULL:
	 * there is none. */
	const char *const *link_paths;
};

/* In memory that child processes do not get: mem_new_secret(). Zero before page_open(). */
struct page {
	const struct page_config *config;
	void *owner;
	uint16_t port;
	struct listener listener;
	struct served_all clients;
	char capability[PAGE_SECRET_MAX]; /* in the address that the person is shown */
	char cookie[PAGE_SECRET_MAX];     /* identifies the browser, */
	char key[PAGE_SECRET_MAX];        /* and this its page: all ports share cookies */
	char url[PAGE_SECRET_MAX + 32];   /* with the capability */
	char cookie_name[PAGE_COOKIE_MAX];
	char link_origin[PAGE_ORIGIN_MAX]; /* of a page elsewhere, as a browser sends it; or "" */
};

/* Serves the page on @port of 127.0.0.1 (0: the kernel chooses). 0, or -errno with @why. */
int page_open(struct page *self, struct loop *loop, const struct page_config *config, uint16_t port,
	      void *owner, struct err *why);
void page_close(struct page *self); /* frees the clients; one that is not open is fine */

/* One secret, in hexadecimal digits. 0 or -EIO. */
int page_draw(char out[PAGE_SECRET_MAX]);

void page_client_init(struct page_client *client, const struct served_calls *calls,
		      struct page *page, int fd);
/* For on_bytes() of struct served_calls: serves the request when it is complete. Input after the
 * one request is never parsed. */
void page_serve(struct served *served);

/* Queues the head of an answer, without Content-Length and the empty line. 0 or -ENOMEM. */
int page_reply_head(struct page_client *client, int status, const char *type, const char *fields);
/* Answers the request. @fields: additional header lines, each with CRLF, or "". */
void page_reply(struct page_client *client, int status, const char *type, const char *fields,
		const void *body, size_t len);
/* Borrows @value; NULL (out of memory) closes the connection. */
void page_reply_json(struct page_client *client, int status, const char *fields,
		     const json_t *value);
/* Takes @text, a string; NULL: out of memory. */
void page_reply_error(struct page_client *client, int status, const char *code, json_t *text);

/* Private to this folder. */

/* May this request be served? 0, or the status of the refusal, with *@ret_why. */
int page_guard_check(const struct page *self, const struct page_head *head, bool is_entry,
		     const char **ret_why);
/* Is the other end of this connection our own user's, or root's? False if it cannot be found. */
bool page_peer_is_ours(int socket);
