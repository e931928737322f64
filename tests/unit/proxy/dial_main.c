#include "tests/unit/proxy/dial_test.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proxy/confine.h"

#define STEPS_MAX    20000
#define STEPS_SETTLE 50

struct addr dial_test_addr(const char *text)
{
	struct addr addr;

	ck_assert_int_eq(addr_parse(text, strlen(text), &addr), 0);
	return addr;
}

void dial_test_init(struct dial_test *test, const struct dns_name *names, size_t count,
		    const struct proxy_mapping *mappings, size_t mapping_count)
{
	struct proxy_config config = { .resolves = mappings,
				       .resolve_count = mapping_count,
				       .dns_addr = dial_test_addr("127.0.0.1") };

	test->loop = loop_new_fake();
	test->dns = dns_stub_new(test->loop, names, count);
	config.dns_port = dns_stub_port(test->dns);
	test->resolver = resolver_new(test->loop, &config, NULL);
	ck_assert_ptr_nonnull(test->resolver);
}

void dial_test_done(struct dial_test *test)
{
	resolver_free(test->resolver);
	dns_stub_free(test->dns);
	loop_free(test->loop);
}

int dial_test_listen(const char *address, uint16_t *port, int backlog)
{
	struct addr addr = dial_test_addr(address);
	struct sockaddr_storage sockaddr;
	socklen_t len = addr_to_sockaddr(&addr, *port, &sockaddr);
	int fd = socket(addr.family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sockaddr, len), 0);
	ck_assert_int_eq(listen(fd, backlog), 0);
	len = sizeof(sockaddr);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&sockaddr, &len), 0);
	ck_assert_int_eq(addr_from_sockaddr((struct sockaddr *)&sockaddr, &addr, port), 0);
	return fd;
}

int dial_test_confined(int (*body)(void *arg), void *arg)
{
	pid_t child = fork();
	int status = -1;

	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(confine_worker(NULL) == 0 ? body(arg) : 255);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status), "ended by signal %d", WTERMSIG(status));
	return WEXITSTATUS(status);
}

void dial_test_until(struct loop *loop, const int *flag, int want)
{
	for (int i = 0; i < STEPS_MAX && *flag != want; i++) {
		loop_step(loop);
		sched_yield();
	}
	ck_assert_int_eq(*flag, want);
}

void dial_test_settle(struct loop *loop)
{
	for (int i = 0; i < STEPS_SETTLE; i++) {
		loop_step(loop);
		sched_yield();
	}
}

int main(void)
{
	Suite *suite = suite_create("dial");

	suite_add_tcase(suite, test_known());
	suite_add_tcase(suite, test_resolve());
	suite_add_tcase(suite, test_dial());
	suite_add_tcase(suite, test_inner());
	suite_add_tcase(suite, test_forbidden());
	suite_add_tcase(suite, test_confine());
	suite_add_tcase(suite, test_own_port());
	suite_add_tcase(suite, test_upstream_proxy());

	SRunner *runner = srunner_create(suite);

	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
