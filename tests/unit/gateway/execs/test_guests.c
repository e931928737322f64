#include "base/mem.h"
#include "gateway/gateway_guests.h"
#include "tests/unit/gateway/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "gateway/gateway_tools.h"

#define HOST "https://a.test:443"

/* The workers of two runs, each for its own exec, on the same loop. */
static struct guest {
	struct gateway_client *client;
	unsigned int opened, closed, images, hung_up, gone;
	bool is_hostile;
	struct gateway_trip trip;
	size_t trips;
} guests[2];

static const uint64_t execs[] = { FIXTURE_EXEC, FIXTURE_EXEC_TWO };

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
	struct guest *guest = arg;

	ck_assert_uint_eq(exec, execs[guest - guests]);
	if (count == 0)
		guest->closed++;
	else
		guest->opened++;
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static void on_image(int image, void *arg)
{
	struct guest *guest = arg;

	/* In front of everything. */
	ck_assert_uint_eq(guest->opened, 0);
	guest->images++;
	fd_close(image);
}

static void on_hung_up(void *arg)
{
	((struct guest *)arg)->hung_up++;
}

static void on_gone(const struct gateway_trip *trips, size_t count,
		    const struct gateway_trip *others, bool is_hostile, void *arg)
{
	struct guest *guest = arg;

	guest->gone++;
	guest->is_hostile = is_hostile;
	guest->trips = count;
	if (count > 0)
		guest->trip = trips[0];
	ck_assert_uint_eq(others->allowed, 0);
}

static void serve(size_t i)
{
	int image = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct gateway_guest served = { execs[i], image, on_gone, &guests[i] };
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_guest_serve(fixture.gw, &served, pair[0]), 0);
	fd_close(image);
	guests[i].client =
		gateway_client_connect(fixture.loop, pair[1], on_exec, on_hung_up, &guests[i]);
	gateway_client_on_image(guests[i].client, on_image, &guests[i]);
	fixture_settle();
	ck_assert_uint_eq(guests[i].images, 1);
}

static void open_two(void)
{
	fixture_open(NULL);
	memset(guests, 0, sizeof(guests));
	serve(0);
	serve(1);
}

static void close_two(void)
{
	gateway_client_free(guests[0].client);
	gateway_client_free(guests[1].client);
	fixture_close();
}

static void submit(struct fixture_request *request, size_t guest, uint64_t exec)
{
	struct policy_facts facts = fixture_facts(HOST, exec);

	request->ticket = gateway_submit(guests[guest].client, &facts, fixture_on_verdict, request);
}

static int open_way(uint64_t exec)
{
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	int r = gateway_open_way(fixture.gw, exec, &ends[0], 1);

	fd_close(ends[1]);
	fixture_settle();
	return r;
}

START_TEST(a_way_out_is_its_own_worker_s)
{
	open_two();
	ck_assert_int_eq(open_way(FIXTURE_EXEC), 0);
	ck_assert_uint_eq(guests[0].opened, 1);
	ck_assert_uint_eq(guests[1].opened, 0);
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	fixture_settle();
	ck_assert_uint_eq(guests[0].closed, 1);
	ck_assert_uint_eq(guests[1].closed, 0);
	gateway_exec_begin(fixture.gw, 3, "ls"); /* whose worker has not come */
	ck_assert_int_eq(open_way(3), -EPIPE);
	ck_assert_uint_eq(guests[0].opened + guests[1].opened, 1);
	close_two();
}
END_TEST

/* A worker that was broken into does not ask in another run's name. */
START_TEST(a_worker_speaks_for_its_own_exec)
{
	struct fixture_request own = { 0 }, other = { 0 };

	open_two();
	submit(&own, 0, FIXTURE_EXEC);
	submit(&other, 1, FIXTURE_EXEC);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 1);
	ck_assert_uint_eq(guests[1].gone, 1);
	ck_assert(guests[1].is_hostile);
	ck_assert_uint_eq(guests[1].hung_up, 1);
	fixture_expect(&other, POLICY_DENY, POLICY_GATE_CLOSING);
	ck_assert_uint_eq(guests[0].gone, 0);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	close_two();
}
END_TEST

START_TEST(a_report_is_of_its_own_exec)
{
	struct gateway_report report = { .facts = fixture_facts(HOST, FIXTURE_EXEC) };

	open_two();
	report.verdict = (struct policy_verdict){ .action = POLICY_DENY, .reason = POLICY_NOT_TLS };
	gateway_report(guests[1].client, &report);
	fixture_settle();
	ck_assert_uint_eq(guests[1].gone, 1);
	close_two();
}
END_TEST

START_TEST(one_answer_for_two_runs_and_each_counts_its_own)
{
	struct fixture_request one = { 0 }, two = { 0 };
	struct gateway_report report = { .facts = fixture_facts(HOST, FIXTURE_EXEC) };

	open_two();
	submit(&one, 0, FIXTURE_EXEC);
	submit(&two, 1, FIXTURE_EXEC_TWO);
	fixture_settle();
	ck_assert_uint_eq(fixture.approver.asked, 1);
	ck_assert_uint_eq(fixture.approver.last.waiting, 2);
	(void)fixture_answer(POLICY_ALLOW, GATEWAY_SESSION);
	fixture_settle();
	fixture_expect(&one, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	fixture_expect(&two, POLICY_ALLOW, POLICY_GRANTED_SESSION);
	report.ticket = take(one.pass);
	report.verdict = one.verdict;
	report.bytes_up = 7;
	gateway_report(guests[0].client, &report);
	fixture_settle();
	gateway_exec_end(fixture.gw, FIXTURE_EXEC, 0);
	gateway_guest_finish(fixture.gw, FIXTURE_EXEC);
	fixture_settle();
	ck_assert_uint_eq(guests[0].gone, 1);
	ck_assert_uint_eq(guests[0].trips, 1);
	ck_assert_uint_eq(guests[0].trip.allowed, 1);
	ck_assert_uint_eq(guests[0].trip.bytes_up, 7);
	ck_assert_uint_eq(guests[1].gone, 0);
	gateway_guest_drop(fixture.gw, FIXTURE_EXEC_TWO); /* and does not say so */
	fixture_settle();
	ck_assert_uint_eq(guests[1].gone, 0);
	ck_assert_uint_eq(guests[1].hung_up, 1);
	ck_assert_uint_eq(fixture.workers_gone, 0);
	close_two();
}
END_TEST

/* Before and after its listeners have come. */
START_TEST(the_next_worker_goes_on)
{
	struct gateway_report report = { .facts = fixture_facts(HOST, FIXTURE_EXEC) };

	report.verdict = (struct policy_verdict){ .action = POLICY_DENY, .reason = POLICY_NOT_TLS };
	open_two();
	for (unsigned int i = 0; i < 3; i++) {
		gateway_report(guests[0].client, &report);
		fixture_settle();
		gateway_client_free(guests[0].client);
		fixture_settle();
		ck_assert_uint_eq(guests[0].gone, i + 1);
		ck_assert(!guests[0].is_hostile);
		ck_assert_uint_eq(guests[0].trips, 1);
		ck_assert_uint_eq(guests[0].trip.denied, i + 1);
		ck_assert_int_eq(i == 0 ? open_way(FIXTURE_EXEC) : -EPIPE, -EPIPE);
		guests[0].opened = guests[0].images = 0;
		serve(0);
		ck_assert_uint_eq(guests[0].opened, 1);
	}
	ck_assert_uint_eq(guests[1].opened + guests[1].gone, 0);
	close_two();
}
END_TEST

START_TEST(a_worker_says_it_has_finished_only_when_asked)
{
	open_two();
	gateway_guest_finish(fixture.gw, 99); /* nobody's */
	fixture_settle();
	ck_assert_uint_eq(guests[0].gone + guests[1].gone, 0);
	gateway_guest_finish(fixture.gw, FIXTURE_EXEC_TWO);
	fixture_settle();
	ck_assert_uint_eq(guests[0].gone, 0);
	ck_assert_uint_eq(guests[1].gone, 1);
	close_two();
}
END_TEST

START_TEST(an_exec_has_one_worker)
{
	const struct gateway_guest second = { FIXTURE_EXEC, -1, on_gone, &guests[0] };
	const struct gateway_guest unknown = { 99, -1, on_gone, &guests[0] };
	int pair[2];

	open_two();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	ck_assert_int_eq(gateway_guest_serve(fixture.gw, &second, pair[0]), -EINVAL);
	ck_assert_int_eq(gateway_guest_serve(fixture.gw, &unknown, pair[1]), -EINVAL);
	ck_assert_uint_eq(guests[0].gone, 0);
	close_two();
}
END_TEST

Suite *suite_guests(void)
{
	Suite *suite = suite_create("guests");
	TCase *tcase = tcase_create("guests");

	tcase_add_test(tcase, a_way_out_is_its_own_worker_s);
	tcase_add_test(tcase, a_worker_speaks_for_its_own_exec);
	tcase_add_test(tcase, a_report_is_of_its_own_exec);
	tcase_add_test(tcase, one_answer_for_two_runs_and_each_counts_its_own);
	tcase_add_test(tcase, the_next_worker_goes_on);
	tcase_add_test(tcase, a_worker_says_it_has_finished_only_when_asked);
	tcase_add_test(tcase, an_exec_has_one_worker);
	suite_add_tcase(suite, tcase);
	return suite;
}
