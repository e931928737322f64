#include <jansson.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/approvers/control/control.h"
#include "tests/unit/gateway/fixture.h"

char *fixture_copies(struct gateway *gw)
{
	struct approver server = { .gw = gw, .loop = fixture.loop, .dir_fd = -1 };
	const struct peer peer = { .pid = getpid(), .uid = geteuid() };
	static const char request[] = "{\"id\":1,\"op\":\"copy\"}";
	char reply[16384];
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	struct control_client *client = control_client_new(&server, pair[0], &peer);

	ck_assert_int_eq(control_request_serve(client, request, strlen(request)), 0);
	ssize_t len = read(pair[1], reply, sizeof(reply));
	json_t *object = json_loadb(reply, len > 0 ? (size_t)len : 0, 0, NULL);
	char *text = json_dumps(json_object_get(object, "grants"), JSON_COMPACT);

	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(json_integer_value(json_object_get(object, "more")), 0);
	json_decref(object);
	control_client_free(client);
	loop_timer_stop(&server.sweep);
	(void)close(pair[1]);
	return text;
}
