#include "tests/unit/gateway/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/grants/domains.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_request.h"
#include "gateway/audit/redact.h"
#include "gateway/execs/egress.h"
#include "gateway/execs/traffic.h"
#include "policies/policies_tools.h"

static const struct {
	const char *line, *want;
} commands[] = {
	{ "npm ci", "npm ci" },
	{ "", "" },
	{ "curl https://ana:pw@a.test/x", "curl https://***@a.test/x" },
	{ "curl https://ana@a.test/x@y", "curl https://***@a.test/x@y" },
	{ "curl 'https://a.test/?token=1&b=2' -o x", "curl 'https://a.test/?***' -o x" },
	{ "git clone ssh://git:pw@a.test:22/r.git", "git clone ssh://***@a.test:22/r.git" },
	{ "x --password=pw --next", "x --password=*** --next" },
	{ "x '--password=p w' y", "x '--password=***' y" },
	{ "x --password pw y", "x --password *** y" },
	{ "x --password 'p w' y", "x --password *** y" },
	{ "x --password --next", "x --password --next" },
	{ "x --PassWord=pw", "x --PassWord=***" },
	{ "env GITHUB_TOKEN=abc npm ci", "env GITHUB_TOKEN=*** npm ci" },
	{ "env AWS_SECRET_ACCESS_KEY=abc x", "env AWS_SECRET_ACCESS_KEY=*** x" },
	{ "sh -c 'TOKEN=abc curl x'", "sh -c 'TOKEN=***'" },
	{ "sh -c 'x; TOKEN=abc curl y'", "sh -c 'x; TOKEN=*** curl y'" },
	{ "curl -H 'Authorization: Bearer abc' x", "curl -H 'Authorization:***' x" },
	{ "curl '-HProxy-Authorization: Basic abc' x", "curl '-HProxy-Authorization:***' x" },
	{ "curl -H 'Cookie: a=b; c=d' x", "curl -H 'Cookie:***' x" },
	{ "curl -u ana:pw x", "curl -u *** x" },
	{ "curl -uana:pw x", "curl -u*** x" },
	{ "curl --user ana:pw --proxy-user b:c x", "curl --user *** --proxy-user *** x" },
	{ "sudo -u root x", "sudo -u root x" },
	{ "x passphrase=a client_secret=b ACCESS_TOKEN=c apikey=d x-api-key=e MY_API_KEY=f",
	  "x passphrase=*** client_secret=*** ACCESS_TOKEN=*** apikey=*** x-api-key=*** "
	  "MY_API_KEY=***" },
	{ "x auth=a credentials=b cookies=c private-key=d PRIVATE_KEY=e access-key=f access_key=g",
	  "x auth=*** credentials=*** cookies=*** private-key=*** PRIVATE_KEY=*** "
	  "access-key=*** access_key=***" },
	{ "x --signature=a", "x --signature=***" },
	{ "git commit --author=Ana", "git commit --author=Ana" },
	{ "x --authorization=abc", "x --authorization=***" },
	{ "x --token=", "x --token=***" },
	{ "x token=a token=b", "x token=*** token=***" },
	{ "x --token", "x --token" },
	{ "curl https://a.test/ https://b:c@d.test", "curl https://a.test/ https://***@d.test" },
	{ "x ://", "x ://" },
	{ "x ://@", "x ://***@" },
	{ "=", "=" },
};

START_TEST(secrets_leave_a_command_line)
{
	auto_free char *got = redact_command(commands[_i].line);

	ck_assert_str_eq(got, commands[_i].want);
}
END_TEST

/* Whatever is put in, what comes out is bounded and nothing is read past the end. */
START_TEST(any_line_can_be_redacted)
{
	static const char letters[] = " '\"=:/?@-u.tokenpassHA\\";
	uint32_t state = 3;
	char line[64];

	for (int round = 0; round < 20000; round++) {
		size_t len = state % (sizeof(line) - 1);

		for (size_t i = 0; i < len; i++) {
			state = state * 1664525u + 1013904223u;
			line[i] = letters[(state >> 16) % (sizeof(letters) - 1)];
		}
		line[len] = '\0';
		auto_free char *got = redact_command(line);

		ck_assert_uint_le(strlen(got), strlen(line) * 4);
		state++;
	}
}
END_TEST

START_TEST(trips_are_counted_per_destination_and_bounded)
{
	struct policy_verdict yes = { .action = POLICY_ALLOW, .reason = POLICY_RULE_ALLOW };
	struct policy_verdict no = { .action = POLICY_DENY, .reason = POLICY_RULE_DENY };
	struct policy_verdict late = { .action = POLICY_DENY, .reason = POLICY_PROMPT_TIMEOUT };
	struct gateway_report report = { .verdict = yes, .bytes_up = 1, .bytes_down = 2 };
	struct policy_facts facts = { .way = POLICY_WAY_CONNECT };
	struct policy_destination *dst = &facts.dst;
	struct traffic trips = { 0 };

	traffic_init(&trips);
	for (int i = 0; i < TRAFFIC_MAX + 10; i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "https://h%d.test:443", i);
		ck_assert_int_eq(policy_destination_parse(text, dst, NULL), 0);
		traffic_count_verdict(&trips, &facts, &yes);
		report.facts = facts;
		traffic_count_report(&trips, &report, &report.verdict);
	}
	ck_assert_uint_eq(trips.count, TRAFFIC_MAX);
	ck_assert_str_eq(trips.list[4095].dst.host, "h4095.test");
	ck_assert_uint_eq(trips.list[4095].connections, 1);
	ck_assert_uint_eq(trips.others.allowed, 10);
	ck_assert_uint_eq(trips.others.bytes_down, 20);

	ck_assert_int_eq(policy_destination_parse("https://h7.test:443", dst, NULL), 0);
	traffic_count_verdict(&trips, &facts, &no);
	traffic_count_verdict(&trips, &facts, &late);
	ck_assert_uint_eq(trips.list[7].denied, 1);
	ck_assert_uint_eq(trips.list[7].unanswered, 1);
	ck_assert_int_eq(trips.list[7].last_denial, POLICY_PROMPT_TIMEOUT);
	/* Allowed, and then refused for its address: one request, denied. */
	report.facts = facts;
	report.verdict.action = POLICY_DENY;
	report.verdict.reason = POLICY_PRIVATE_ADDRESS;
	traffic_count_report(&trips, &report, &report.verdict);
	ck_assert_uint_eq(trips.list[7].allowed, 0);
	ck_assert_uint_eq(trips.list[7].denied, 2);
	ck_assert_uint_eq(trips.list[7].connections, 1);
	/* Allowed, and its name could not be resolved: failed, and by no rule. */
	traffic_count_verdict(&trips, &facts, &yes);
	report.verdict.reason = POLICY_DNS_FAILED;
	traffic_count_report(&trips, &report, &report.verdict);
	ck_assert_uint_eq(trips.list[7].allowed, 0);
	ck_assert_uint_eq(trips.list[7].denied, 2);
	ck_assert_uint_eq(trips.list[7].failed, 1);
	ck_assert_ptr_null(trips.list[7].rule);
	/* Allowed, and cut: by whatever cut it. What the server closes is not. */
	struct policy_verdict since = { .action = POLICY_ALLOW, .rule = "p:2: deny h7.test" };

	report.closed = POLICY_SERVER_CLOSED;
	traffic_count_report(&trips, &report, &since);
	ck_assert_uint_eq(trips.list[7].cut, 0);
	report.closed = POLICY_DENIED_SINCE;
	traffic_count_report(&trips, &report, &since);
	ck_assert_uint_eq(trips.list[7].cut, 1);
	ck_assert_uint_eq(trips.list[7].denied, 2);
	ck_assert_int_eq(trips.list[7].last_denial, POLICY_DENIED_SINCE);
	ck_assert_str_eq(trips.list[7].rule, "p:2: deny h7.test");
	const struct policy_request request = { .method = "GET", .path = "/v1" };

	facts.request = &request;

	ck_assert(traffic_wants_program(&trips, dst));
	traffic_note_denial(&trips, &facts, NULL);
	ck_assert(traffic_wants_program(&trips, dst));
	traffic_note_denial(&trips, &facts, "/usr/bin/curl");
	traffic_note_denial(&trips, &facts, "/usr/bin/wget");
	ck_assert(!traffic_wants_program(&trips, dst));
	ck_assert_str_eq(trips.list[7].program, "/usr/bin/curl");
	ck_assert_str_eq(trips.list[7].request, "GET /v1");
	ck_assert_int_eq(policy_destination_parse("https://new.test:443", &facts.dst, NULL), 0);
	ck_assert(!traffic_wants_program(&trips, &facts.dst)); /* too many */
	report.facts.dst = (struct policy_destination){ 0 };
	report.verdict.reason = POLICY_MALFORMED;
	traffic_count_report(&trips, &report, &report.verdict); /* of no destination: of no trip */
	ck_assert_uint_eq(trips.others.denied, 0);
	ck_assert_uint_eq(trips.others.unnamed, 1);
	report.verdict.reason = POLICY_PRIVATE_ADDRESS;
	traffic_count_verdict(&trips, &facts,
			      &report.verdict); /* another destination has its own reason */
	ck_assert_uint_eq(trips.others.denied, 1);
	ck_assert_int_eq(trips.others.last_unnamed, POLICY_MALFORMED);
	traffic_done(&trips);
}
END_TEST

/* A connection into the sandbox is nothing that the command reached. */
START_TEST(trips_go_outwards)
{
	struct policy_verdict no = { .action = POLICY_DENY, .reason = POLICY_CONNECT_REFUSED };
	struct gateway_report report = { .facts.way = POLICY_WAY_PUBLISHED, .verdict = no };
	struct policy_destination *dst = &report.facts.dst;
	struct traffic trips = { 0 };

	traffic_init(&trips);
	ck_assert_int_eq(policy_destination_parse("tcp://localhost:8000", dst, NULL), 0);
	traffic_count_verdict(&trips, &report.facts, &no);
	traffic_count_report(&trips, &report, &report.verdict);
	traffic_note_denial(&trips, &report.facts, "/usr/bin/curl");
	ck_assert_uint_eq(trips.count, 0);
	traffic_done(&trips);
}
END_TEST

/* By program and destination, up to a number of both; what stays inside is not counted. */
START_TEST(egress_is_counted_by_program)
{
	const uint64_t bytes[] = { 1, 2 };
	struct policy_destination dst;
	struct egress *egress = egress_new();
	char text[64];

	ck_assert_int_eq(policy_destination_parse("https://a.test:443", &dst, NULL), 0);
	egress_count(egress, &dst, "/usr/bin/curl", POLICY_INSIDE, bytes);
	ck_assert_ptr_null(egress_at(egress, 0));
	for (int i = 0; i < 3; i++)
		egress_count(egress, &dst, i < 2 ? "/usr/bin/curl" : NULL, POLICY_RULE_ALLOW,
			     bytes);
	ck_assert_str_eq(egress_at(egress, 0)->program, "/usr/bin/curl");
	ck_assert_uint_eq(egress_at(egress, 0)->bytes_up, 2);
	ck_assert_uint_eq(egress_at(egress, 0)->bytes_down, 4);
	ck_assert_str_eq(egress_at(egress, 1)->program, "");
	ck_assert_ptr_null(egress_at(egress, 2));
	for (int i = 2; i < EGRESS_PROGRAMS_MAX + 1; i++) {
		ck_assert(egress_is_whole(egress));
		(void)snprintf(text, sizeof(text), "/p%d", i);
		egress_count(egress, &dst, text, POLICY_RULE_ALLOW, bytes);
	}
	ck_assert(!egress_is_whole(egress));
	egress_free(egress);

	egress = egress_new();
	for (int i = 0; i < GATEWAY_EGRESS_MAX + 1; i++) {
		ck_assert(egress_is_whole(egress));
		(void)snprintf(text, sizeof(text), "https://h%d.test:443", i);
		ck_assert_int_eq(policy_destination_parse(text, &dst, NULL), 0);
		egress_count(egress, &dst, "", POLICY_RULE_ALLOW, bytes);
	}
	ck_assert(!egress_is_whole(egress));
	ck_assert_str_eq(egress_at(egress, GATEWAY_EGRESS_MAX - 1)->dst.host, "h8191.test");
	egress_free(egress);
}
END_TEST

START_TEST(trips_tell_what_became_of_the_requests)
{
	struct fixture_request yes = { 0 }, no = { 0 };
	const struct gateway_trip *trips;
	size_t count = 0;

	fixture_open("allow yes.test");
	fixture.approver.is_attached = false;
	fixture_ask(&yes, "https://yes.test:443", FIXTURE_EXEC);
	fixture_ask(&no, "https://no.test:443", FIXTURE_EXEC);
	trips = gateway_trips(fixture.gw, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(trips[0].allowed, 1);
	ck_assert_str_eq(trips[1].dst.host, "no.test");
	ck_assert_uint_eq(trips[1].unanswered, 1);
	ck_assert_int_eq(trips[1].last_denial, POLICY_NO_APPROVER);
	ck_assert_uint_eq(gateway_trips_others(fixture.gw)->allowed, 0);
	fixture_close();
}
END_TEST

static char runtime[64];

static void runtime_open(void)
{
	(void)snprintf(runtime, sizeof(runtime), "%s", "/tmp/test-gateway-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(runtime));
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", runtime, 1), 0);
}

START_TEST(the_control_folder_is_ours_alone)
{
	auto_free char *path = NULL, *again = NULL;
	struct stat info;

	runtime_open();
	(void)umask(0);
	path = gateway_control_dir(NULL);
	ck_assert_ptr_nonnull(path);
	ck_assert_int_eq(strncmp(path, runtime, strlen(runtime)), 0);
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0700);
	again = gateway_control_dir(NULL);
	ck_assert_str_eq(again, path);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(rmdir(runtime), 0);
}
END_TEST

static void open_to_others(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(chmod(path, 0750), 0);
}
static void a_link(const char *path)
{
	ck_assert_int_eq(symlink("/tmp", path), 0);
}
static void a_file(const char *path)
{
	FILE *file = fopen(path, "w");

	ck_assert_int_eq(fclose(file), 0);
}
static void somebody_elses(const char *path)
{
	ck_assert_int_eq(mkdir(path, 0700), 0);
	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, 12345, 12345), 0);
	else
		ck_assert_int_eq(chmod(path, 0707), 0); /* only root can give a folder away */
}

static void (*const unfit[])(const char *) = { open_to_others, a_link, a_file, somebody_elses };

START_TEST(a_folder_that_is_not_ours_alone_is_refused)
{
	auto_free char *path = NULL;
	struct err why = { 0 };

	runtime_open();
	path = mem_printf("%s/sallyport", runtime);
	unfit[_i](path);
	ck_assert_ptr_null(gateway_control_dir(&why));
	ck_assert_ptr_nonnull(strstr(why.text, path));
	ck_assert_int_eq(remove(path), 0);
	ck_assert_int_eq(rmdir(runtime), 0);
}
END_TEST

/* More hosts than it remembers, those that have no domain among them, twice each. */
START_TEST(domains_are_those_of_the_list)
{
	static const char *const ends[] = {
		"example.org", "example.co.uk",         "localhost", "com",
		"192.0.2.1",   "xn--bcher-kva.example", ""
	};
	struct domains *domains = domains_new();

	for (unsigned int i = 0; i < 2 * 500; i++) {
		const char *end = ends[i % ARRAY_SIZE(ends)];
		auto_free char *host = i % 500 < ARRAY_SIZE(ends)
					       ? mem_strdup(end)
					       : mem_printf("h%u.%s", i % 500, end);
		const char *want = policy_host_domain(host), *found = domains_find(domains, host);

		ck_assert_ptr_eq(found, want);
		ck_assert_ptr_eq(domains_find(domains, host), want);
	}
	auto_free char *longest = mem_printf("%0253d", 0), *too_long = mem_printf("%0300d", 0);

	ck_assert_ptr_eq(domains_find(domains, longest), policy_host_domain(longest));
	ck_assert_ptr_eq(domains_find(domains, too_long), policy_host_domain(too_long));
	domains_free(domains);
}
END_TEST

Suite *suite_small(void)
{
	Suite *suite = suite_create("small parts");
	TCase *tcase = tcase_create("parts");

	tcase_add_test(tcase, domains_are_those_of_the_list);
	tcase_add_loop_test(tcase, secrets_leave_a_command_line, 0,
			    sizeof(commands) / sizeof(commands[0]));
	tcase_add_test(tcase, any_line_can_be_redacted);
	tcase_add_test(tcase, trips_are_counted_per_destination_and_bounded);
	tcase_add_test(tcase, trips_go_outwards);
	tcase_add_test(tcase, egress_is_counted_by_program);
	tcase_add_test(tcase, trips_tell_what_became_of_the_requests);
	tcase_add_test(tcase, the_control_folder_is_ours_alone);
	tcase_add_loop_test(tcase, a_folder_that_is_not_ours_alone_is_refused, 0,
			    sizeof(unfit) / sizeof(unfit[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
