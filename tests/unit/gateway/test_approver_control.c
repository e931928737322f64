#include "test_approver.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "gateway/approvers/control.h"

#define REPLY_MAX 65536

static struct gateway gw;
static int client = -1;
static char reply[REPLY_MAX];

static int client_connect(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/7f3a.sock", gw.dir);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* The next line that is there, without its end; "" for none yet, "closed" once the server hung up.
 */
static const char *client_line(int fd)
{
	size_t len = 0;
	ssize_t got;

	fake_settle(&gw);
	while (len + 1 < sizeof(reply)) {
		got = recv(fd, reply + len, 1, MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno == ECONNRESET))
			return len == 0 ? "closed" : "cut";
		if (got < 0)
			break;
		if (reply[len] == '\n')
			break;
		len++;
	}
	reply[len] = '\0';
	return reply;
}

static void client_say(int fd, const char *line)
{
	ck_assert_int_eq(send(fd, line, strlen(line), MSG_NOSIGNAL), (ssize_t)strlen(line));
}

static const char *client_ask(int fd, const char *line)
{
	client_say(fd, line);
	return client_line(fd);
}

static void setup(void)
{
	gw = (struct gateway){ .dir = "/tmp/test-approver-XXXXXX" };
	ck_assert_ptr_nonnull(mkdtemp(gw.dir));
	gw.config.control_dir = gw.dir;
	fake_open(&gw, &control_approver);
	client = client_connect();
	ck_assert_str_eq(client_line(client),
			 "{\"sallyport\":1,\"run\":\"7f3a\",\"session\":\"test\"}");
}

static void teardown(void)
{
	fd_close(client);
	fake_close(&gw);
	ck_assert_int_eq(rmdir(gw.dir), 0); /* the socket is gone */
}

#define QUESTION                                                                                   \
	"{\"id\":\"7f3a-1\",\"protocol\":\"https\",\"host\":\"a.test\",\"port\":443,"              \
	"\"waiting\":1,\"commands\":[\"curl -sS https://example.org/\"],\"command_count\":1,"      \
	"\"age_s\":0,\"left_s\":299,\"rule\":\"\",\"because\":\"\",\"private\":false,"             \
	"\"session\":\"test\",\"run\":\"7f3a\"}"

static const struct {
	const char *line, *want; /* NULL: closed */
} lines[] = {
	{ "{\"id\":1,\"op\":\"list\"}\n", "{\"id\":1,\"ok\":true,\"questions\":[" QUESTION "]}" },
	{ "{\"id\":0,\"op\":\"watch\"}\r\n",
	  "{\"id\":0,\"ok\":true,\"questions\":[" QUESTION "]}" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\"}\n", "{\"id\":2,\"ok\":true}" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-2\"}\n", "finished" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"\"}\n", "finished" },
	{ "{\"id\":2,\"op\":\"allow\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":7}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":null}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":[\"7f3a-1\"]}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"forever\"}\n",
	  "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scope\":\"\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"scop\":\"once\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"allow\",\"question\":\"7f3a-1\",\"ttl\":60}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"abort\",\"question\":\"7f3a-1\",\"scope\":\"once\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"list\",\"question\":\"7f3a-1\"}\n", "malformed" },
	{ "{\"id\":2,\"op\":\"ALLOW\",\"question\":\"7f3a-1\"}\n", "unknown_op" },
	{ "{\"id\":2,\"op\":\"\"}\n", "unknown_op" },
	{ "{\"id\":2,\"op\":true}\n", "malformed" },
	{ "{\"id\":2}\n", "malformed" },
	{ "{\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":-1,\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":1.5,\"op\":\"list\"}\n", "malformed" },
	{ "{\"id\":\"1\",\"op\":\"list\"}\n", "malformed" },
	{ "{}\n", "malformed" },
	{ "[]\n", "malformed" },
	{ "[{\"id\":1,\"op\":\"list\"}]\n", "malformed" },
	{ "\n", NULL },
	{ "list\n", NULL },
	{ "{\"id\":1,\"op\":\"list\"\n", NULL },
	{ "{\"id\":1,\"op\":\"list\"}}\n", NULL },
	{ "{\"id\":1,\"op\":\"deny\",\"op\":\"allow\",\"question\":\"7f3a-1\"}\n", NULL },
	{ "{\"id\":1,\"op\":\"li\xff\"}\n", NULL },
	{ "GET / HTTP/1.1\r\n\r\n", NULL },
};

START_TEST(one_line)
{
	const char *got, *want = lines[_i].want;

	fake_ask(&gw, "7f3a-1", "a.test");
	got = client_ask(client, lines[_i].line);
	if (!want) {
		ck_assert_str_eq(got, "closed");
	} else if (want[0] == '{') {
		ck_assert_str_eq(got, want);
	} else {
		auto_free char *code = mem_printf("\"code\":\"%s\"}", want);

		ck_assert_msg(strstr(got, code) != NULL, "%s", got);
		ck_assert_ptr_nonnull(strstr(got, "\"ok\":false"));
		/* and the connection goes on */
		got = client_ask(client, "{\"id\":9,\"op\":\"list\"}\n");
		ck_assert_int_eq(strncmp(got, "{\"id\":9,\"ok\":true", 16), 0);
		ck_assert_uint_eq(gw.answer_count, 0);
	}
}
END_TEST

static const struct {
	const char *op, *scope;
	enum policy_action action;
	enum gateway_scope want;
	bool is_abort;
} answers[] = {
	{ "allow", NULL, POLICY_ALLOW, GATEWAY_ONCE, false },
	{ "allow", "once", POLICY_ALLOW, GATEWAY_ONCE, false },
	{ "allow", "exec", POLICY_ALLOW, GATEWAY_EXEC, false },
	{ "allow", "session", POLICY_ALLOW, GATEWAY_SESSION, false },
	{ "allow", "always", POLICY_ALLOW, GATEWAY_ALWAYS, false },
	{ "deny", NULL, POLICY_DENY, GATEWAY_ONCE, false },
	{ "deny", "exec", POLICY_DENY, GATEWAY_EXEC, false },
	{ "deny", "session", POLICY_DENY, GATEWAY_SESSION, false },
	{ "deny", "always", POLICY_DENY, GATEWAY_ALWAYS, false },
	{ "abort", NULL, POLICY_DENY, GATEWAY_ONCE, true },
};

START_TEST(every_answer)
{
	auto_free char *scope = answers[_i].scope
					? mem_printf(",\"scope\":\"%s\"", answers[_i].scope)
					: mem_strdup("");
	auto_free char *line = mem_printf("{\"id\":5,\"op\":\"%s\",\"question\":\"7f3a-1\"%s}\n",
					  answers[_i].op, scope);

	fake_ask(&gw, "7f3a-1", "a.test");
	ck_assert_str_eq(client_ask(client, line), "{\"id\":5,\"ok\":true}");
	ck_assert_uint_eq(gw.answer_count, 1);
	ck_assert_str_eq(gw.answers[0].id, "7f3a-1");
	ck_assert_int_eq(gw.answers[0].answer.action, answers[_i].action);
	ck_assert_int_eq(gw.answers[0].answer.scope, answers[_i].want);
	ck_assert_int_eq(gw.answers[0].answer.is_abort, answers[_i].is_abort);
	ck_assert_ptr_nonnull(strstr(gw.answers[0].by, " on approve"));

	ck_assert_ptr_nonnull(strstr(client_ask(client, line), "\"code\":\"finished\""));
	ck_assert_uint_eq(gw.answer_count, 1);
}
END_TEST

START_TEST(answer_that_fails)
{
	fake_ask(&gw, "7f3a-1", "a.test");
	gw.next_result = -EROFS;
	gw.next_why = "cannot write \x1b[2J the file";
	ck_assert_str_eq(client_ask(client, "{\"id\":5,\"op\":\"allow\",\"question\":\"7f3a-1\","
					    "\"scope\":\"always\"}\n"),
			 "{\"id\":5,\"ok\":false,\"error\":\"cannot write \\u001B[2J the file\","
			 "\"code\":\"failed\"}");
	gw.next_result = -EINVAL;
	gw.next_why = NULL;
	ck_assert_ptr_nonnull(
		strstr(client_ask(client, "{\"id\":6,\"op\":\"allow\",\"question\":\"7f3a-1\"}\n"),
		       "\"code\":\"refused\""));
}
END_TEST

START_TEST(watcher_is_told_everything)
{
	ck_assert(!gw.ops->is_attached(gw.approver));
	ck_assert_str_eq(client_ask(client, "{\"id\":1,\"op\":\"watch\"}\n"),
			 "{\"id\":1,\"ok\":true,\"questions\":[]}");
	ck_assert(gw.ops->is_attached(gw.approver));
	ck_assert_uint_eq(gw.changed_count, 1);

	fake_ask(&gw, "7f3a-1", "a.test");
	ck_assert_str_eq(client_line(client), "{\"event\":\"asked\",\"question\":" QUESTION "}");
	fake_changed(&gw, "7f3a-1", 8);
	ck_assert_ptr_nonnull(strstr(client_line(client), "{\"event\":\"changed\","));
	ck_assert_ptr_nonnull(strstr(reply, "\"waiting\":8,"));
	fake_retract(&gw, "7f3a-1", "allowed for session by ana on tty");
	ck_assert_str_eq(client_line(client),
			 "{\"event\":\"retracted\",\"question\":{\"id\":\"7f3a-1\"},"
			 "\"how\":\"allowed for session by ana on tty\"}");
	ck_assert_str_eq(client_line(client), "");

	fd_close(client);
	client = -1;
	fake_settle(&gw);
	ck_assert(!gw.ops->is_attached(gw.approver));
	ck_assert_uint_eq(gw.changed_count, 2);
}
END_TEST

START_TEST(lister_is_no_approver)
{
	(void)client_ask(client, "{\"id\":1,\"op\":\"list\"}\n");
	fake_ask(&gw, "7f3a-1", "a.test");
	ck_assert_str_eq(client_line(client), "");
	ck_assert(!gw.ops->is_attached(gw.approver));
	fd_close(client);
	client = -1;
	fake_settle(&gw);
	ck_assert_uint_eq(gw.changed_count, 0);
}
END_TEST

START_TEST(lines_in_pieces_and_together)
{
	static const char split[] = "{\"id\":1,\"op\":\"list\"}\n";

	for (size_t i = 0; i + 1 < sizeof(split) - 1; i++) {
		ck_assert_int_eq(send(client, &split[i], 1, 0), 1);
		ck_assert_str_eq(client_line(client), "");
	}
	ck_assert_ptr_nonnull(strstr(client_ask(client, "\n"), "\"id\":1,"));
	ck_assert_ptr_nonnull(strstr(client_ask(client, "{\"id\":2,\"op\":\"list\"}\n"
							"{\"id\":3,\"op\":\"list\"}\n"),
				     "\"id\":2,"));
	ck_assert_ptr_nonnull(strstr(client_line(client), "\"id\":3,"));
}
END_TEST

START_TEST(nul_in_a_line)
{
	static const char line[] = "{\"id\":1,\"op\":\"list\"}\0{}\n";

	ck_assert_int_eq(send(client, line, sizeof(line) - 1, 0), (ssize_t)sizeof(line) - 1);
	ck_assert_str_eq(client_line(client), "closed");
}
END_TEST

/* One byte over, with its end (0) and without (1); the greatest line that is taken (2). */
START_TEST(line_limit)
{
	size_t len = CONTROL_LINE_MAX_BYTES + (_i < 2);
	auto_free char *line = mem_new(len + 2);
	size_t sent = 0;
	static const char request[] = "{\"id\":1,\"op\":\"list\"}";

	memset(line, ' ', len);
	memcpy(line, request, sizeof(request) - 1);
	if (_i != 1)
		line[len++] = '\n';
	while (sent < len) {
		ssize_t n = send(client, line + sent, len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		fake_settle(&gw);
		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	if (_i == 2)
		ck_assert_ptr_nonnull(strstr(client_line(client), "\"ok\":true"));
	else
		ck_assert_str_eq(client_line(client), "closed");
}
END_TEST

START_TEST(watcher_that_does_not_read)
{
	int other = client_connect();
	unsigned int told = 0;

	(void)client_line(other);
	(void)client_ask(other, "{\"id\":1,\"op\":\"watch\"}\n");
	(void)client_ask(client, "{\"id\":1,\"op\":\"watch\"}\n");
	fake_ask(&gw, "7f3a-1", "a.test");
	while (gw.changed_count == 2 && told++ < 100000) {
		gw.ops->changed(gw.approver, &gw.questions[0]);
		loop_step(gw.loop);
		while (recv(other, reply, sizeof(reply), MSG_DONTWAIT) > 0)
			; /* this one reads */
	}
	ck_assert_uint_eq(gw.changed_count, 3); /* one was dropped */
	ck_assert_uint_gt((size_t)told *
				  sizeof("{\"event\":\"changed\",\"question\":" QUESTION "}"),
			  CONTROL_QUEUE_MAX_BYTES);
	ck_assert(gw.ops->is_attached(gw.approver));
	ck_assert_ptr_nonnull(
		strstr(client_ask(other, "{\"id\":2,\"op\":\"list\"}\n"), "\"id\":2,"));
	fd_close(other);
}
END_TEST

START_TEST(client_limit)
{
	int more[CONTROL_CLIENTS_MAX];

	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++) {
		more[i] = client_connect();
		if (i < CONTROL_CLIENTS_MAX - 1)
			ck_assert_ptr_nonnull(strstr(client_line(more[i]), "sallyport"));
		else
			ck_assert_str_eq(client_line(more[i]), "closed");
	}
	fd_close(more[0]);
	fake_settle(&gw);
	more[0] = client_connect();
	ck_assert_ptr_nonnull(strstr(client_line(more[0]), "sallyport"));
	for (int i = 0; i < CONTROL_CLIENTS_MAX; i++)
		fd_close(more[i]);
}
END_TEST

START_TEST(idle_client_is_closed_and_watcher_stays)
{
	int watcher = client_connect();

	(void)client_line(watcher);
	(void)client_ask(watcher, "{\"id\":1,\"op\":\"watch\"}\n");
	loop_advance(gw.loop, CONTROL_IDLE_MS - 1);
	ck_assert_str_eq(client_line(client), "");
	(void)client_ask(client, "{\"id\":1,\"op\":\"list\"}\n");
	loop_advance(gw.loop, CONTROL_IDLE_MS - 1);
	ck_assert_str_eq(client_line(client), "");
	loop_advance(gw.loop, 1);
	ck_assert_str_eq(client_line(client), "closed");
	ck_assert_str_eq(client_line(watcher), "");
	fd_close(watcher);
}
END_TEST

/* What a name may bring along is text here, and seven bits wide. */
START_TEST(hostile_bytes)
{
	struct approver_question *question =
		fake_ask(&gw, "7f3a-1", "a\x1b]0;x\x07\x9b\xe2\x80\xae.test");
	const char *got;
	json_t *parsed;

	question->commands[0] = "sh -c '\n{\"event\":\"asked\"}'";
	question->rule = "f:1: ask \xff\n";
	got = client_ask(client, "{\"id\":1,\"op\":\"list\"}\n");
	for (const char *at = got; *at; at++)
		ck_assert(*at >= 0x20 && *at < 0x7f);
	parsed = json_loads(got, 0, NULL);
	ck_assert_ptr_nonnull(parsed);
	json_decref(parsed);
	ck_assert_ptr_nonnull(strstr(got, "\\\\x1b]0;x\\\\x07\\\\x9b\\\\xe2\\\\x80\\\\xae.test"));
}
END_TEST

/* As a payload would: our uid, our socket, other namespaces. */
static void connect_from_elsewhere(int flags)
{
	char byte;

	if (unshare(flags) < 0)
		_exit(2);
	int fd = client_connect();
	if (fd < 0)
		_exit(3);
	_exit(read(fd, &byte, 1) == 0 ? 0 : 1);
}

static const int elsewhere[] = { CLONE_NEWUSER, CLONE_NEWNET, CLONE_NEWUSER | CLONE_NEWNET };

START_TEST(peer_in_other_namespace)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		connect_from_elsewhere(elsewhere[_i]);
	while (waitpid(pid, &status, WNOHANG) == 0)
		loop_step(gw.loop);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		(void)printf("SKIP peer_in_other_namespace: namespaces cannot be made here\n");
		return;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* A pid namespace holds children, so the one that connects is a grandchild. */
START_TEST(peer_in_other_pid_namespace)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWPID) < 0)
			_exit(2);
		pid_t inner = fork();
		if (inner == 0)
			connect_from_elsewhere(0);
		_exit(waitpid(inner, &status, 0) == inner && status == 0 ? 0 : 1);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		loop_step(gw.loop);
	ck_assert(WIFEXITED(status));
	if (WEXITSTATUS(status) == 2) {
		(void)printf("SKIP peer_in_other_pid_namespace: namespaces cannot be made here\n");
		return;
	}
	ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* The process that connected is gone: nobody can say whose the number is now. */
START_TEST(peer_that_died)
{
	char byte;
	int pair[2], status;
	pid_t pid;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	pid = fork();
	if (pid == 0) {
		int fd = client_connect();

		(void)fd_send(pair[1], "x", 1, &fd, 1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);

	int fds[FD_PASS_MAX];
	size_t count = 0;
	ck_assert_int_eq(fd_recv(pair[0], &byte, 1, fds, &count), 1);
	ck_assert_uint_eq(count, 1);
	ck_assert_str_eq(client_line(fds[0]), "closed");
	fd_close(fds[0]);
	fd_close(pair[0]);
	fd_close(pair[1]);
}
END_TEST

static const struct {
	const char *run;
	mode_t mode;
	int want;
} bad_opens[] = {
	{ "ok", 0750, -EPERM },
	{ "ok", 0701, -EPERM },
	{ "", 0700, -EINVAL },
	{ "../x", 0700, -EINVAL },
	{ "a/b", 0700, -EINVAL },
	{ ".x", 0700, -EINVAL },
	{ "a-b", 0700, -EINVAL },
	{ "7f3a", 0700, -EEXIST },
	{ "12345678901234567", 0700, -EINVAL },
};

START_TEST(open_is_refused)
{
	struct gateway_config config = gw.config;
	struct err why = { 0 };

	config.run = bad_opens[_i].run;
	ck_assert_int_eq(chmod(gw.dir, bad_opens[_i].mode), 0);
	ck_assert_ptr_null(control_approver.open(&gw, gw.loop, &config, &why));
	ck_assert_str_ne(why.text, "");
	ck_assert_int_eq(chmod(gw.dir, 0700), 0);
	/* and the one that is there answers still */
	ck_assert_ptr_nonnull(
		strstr(client_ask(client, "{\"id\":1,\"op\":\"list\"}\n"), "\"ok\":true"));
}
END_TEST

START_TEST(not_wanted_is_no_error)
{
	struct gateway_config config = { .run = "ok" };
	struct err why = { 0 };

	ck_assert_ptr_null(control_approver.open(&gw, gw.loop, &config, &why));
	ck_assert_str_eq(why.text, "");
}
END_TEST

START_TEST(socket_is_private)
{
	auto_free char *path = mem_printf("%s/7f3a.sock", gw.dir);
	struct stat st;

	ck_assert_int_eq(lstat(path, &st), 0);
	ck_assert(S_ISSOCK(st.st_mode));
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
}
END_TEST

Suite *suite_control(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, one_line, 0, (int)ARRAY_SIZE(lines));
	tcase_add_loop_test(tcase, every_answer, 0, (int)ARRAY_SIZE(answers));
	tcase_add_test(tcase, answer_that_fails);
	tcase_add_test(tcase, watcher_is_told_everything);
	tcase_add_test(tcase, lister_is_no_approver);
	tcase_add_test(tcase, lines_in_pieces_and_together);
	tcase_add_test(tcase, nul_in_a_line);
	tcase_add_loop_test(tcase, line_limit, 0, 3);
	tcase_add_test(tcase, watcher_that_does_not_read);
	tcase_add_test(tcase, client_limit);
	tcase_add_test(tcase, idle_client_is_closed_and_watcher_stays);
	tcase_add_test(tcase, hostile_bytes);
	tcase_add_loop_test(tcase, peer_in_other_namespace, 0, (int)ARRAY_SIZE(elsewhere));
	tcase_add_test(tcase, peer_in_other_pid_namespace);
	tcase_add_test(tcase, peer_that_died);
	tcase_add_loop_test(tcase, open_is_refused, 0, (int)ARRAY_SIZE(bad_opens));
	tcase_add_test(tcase, not_wanted_is_no_error);
	tcase_add_test(tcase, socket_is_private);
	suite_add_tcase(suite, tcase);
	return suite;
}
