#include "tests/unit/exec/test_exec.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/exec/run/exec_rig.h"

static void expect_kept(struct exec_rig *rig, enum exec_stream stream, const char *want)
{
	struct exec_kept kept;
	size_t len;
	auto_free char *text = exec_text(rig->exec, stream, &len);

	exec_kept(rig->exec, stream, &kept);
	ck_assert_str_eq(text, want);
	ck_assert_uint_eq(len, strlen(want));
	ck_assert_uint_eq(kept.omitted, 0);
	ck_assert_uint_eq(kept.head_len + kept.tail_len, len);
	ck_assert_int_eq(kept.spill, -1);
}

START_TEST(streams_are_told_and_kept)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	exec_rig_run(&rig, "echo out; echo err >&2; test ! -t 0 -a ! -t 1; cat; exit 3");
	ck_assert_int_eq(rig.result.end, EXEC_EXITED);
	ck_assert_int_eq(rig.result.code, 3);
	ck_assert_int_eq(rig.result.raw.end, EXEC_PROCESS_EXITED);
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "out\n");
	ck_assert_str_eq(rig.live[EXEC_STDERR].bytes, "err\n");
	expect_kept(&rig, EXEC_STDOUT, "out\n");
	expect_kept(&rig, EXEC_STDERR, "err\n");
	ck_assert(!rig.result.is_cut);
	ck_assert_int_eq(rig.rig.text[0], '\0'); /* nothing of it reached our own 1 and 2 */
	exec_rig_done(&rig);
}
END_TEST

START_TEST(merged_has_the_order_in_which_it_came)
{
	struct exec_rig rig;
	const char *script = "echo 1; read a; echo 2 >&2; read a; echo 3; read a; echo 4 >&2";

	exec_rig_init(&rig, _i);
	rig.config.has_input = true;
	exec_rig_start(&rig, script);
	/* Each waits until the one before it was read. */
	for (unsigned int seen = 0; seen < 3; seen++) {
		while (rig.events_seen <= seen)
			exec_rig_turn(&rig);
		ck_assert_int_eq(exec_write(rig.exec, "\n", 1), 1);
	}
	exec_rig_wait(&rig);
	expect_kept(&rig, EXEC_MERGED, "1\n2\n3\n4\n");
	expect_kept(&rig, EXEC_STDERR, "2\n4\n");
	exec_rig_done(&rig);
}
END_TEST

START_TEST(one_pipe_has_the_order_in_which_it_was_written)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.io = EXEC_IO_ONE_PIPE;
	exec_rig_run(&rig, "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done");
	expect_kept(&rig, EXEC_STDOUT,
		    "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\no6\ne6\no7\ne7\no8\ne8\no9\ne9\n");
	expect_kept(&rig, EXEC_STDERR, "");
	expect_kept(&rig, EXEC_MERGED, rig.live[EXEC_STDOUT].bytes);
	exec_rig_done(&rig);
}
END_TEST

/* Lines "o000000" and "e000000" in turns, many at once. */
static const char interleaved[] =
	"exec perl -e '$o = $e = \"\"; for $i (0..29999) { $o .= sprintf(\"o%06d\\n\", $i); "
	"$e .= sprintf(\"e%06d\\n\", $i); if ($i % 100 == 99) { syswrite(STDOUT, $o); "
	"syswrite(STDERR, $e); $o = $e = \"\"; } }'";

static void expect_lines(const struct exec_text *text, char letter)
{
	ck_assert_uint_eq(text->len, 30000 * 8);
	for (int i = 0; i < 30000; i++) {
		char line[16];

		(void)snprintf(line, sizeof(line), "%c%06d\n", letter, i);
		ck_assert_mem_eq(text->bytes + (size_t)i * 8, line, 8);
	}
}

START_TEST(big_streams_keep_their_order)
{
	struct exec_rig rig;
	struct exec_kept kept;

	exec_rig_init(&rig, _i);
	exec_rig_run(&rig, interleaved);
	expect_lines(&rig.live[EXEC_STDOUT], 'o');
	expect_lines(&rig.live[EXEC_STDERR], 'e');
	for (int stream = 0; stream < EXEC_MERGED; stream++) {
		exec_kept(rig.exec, stream, &kept);
		ck_assert_uint_eq(kept.head_len, 65536);
		ck_assert_uint_eq(kept.tail_len, 65536);
		ck_assert_uint_eq(kept.omitted, 240000 - 131072);
		ck_assert_mem_eq(kept.head, rig.live[stream].bytes, 65536);
		ck_assert_mem_eq(kept.tail, rig.live[stream].bytes + 240000 - 65536, 65536);
	}
	exec_kept(rig.exec, EXEC_MERGED, &kept);
	ck_assert_uint_eq(kept.omitted, 480000 - 131072);
	ck_assert_mem_eq(kept.head, rig.live[EXEC_MERGED].bytes, 65536);
	ck_assert_mem_eq(kept.tail, rig.live[EXEC_MERGED].bytes + 480000 - 65536, 65536);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(what_is_left_out_is_said)
{
	struct exec_rig rig;
	size_t len;

	exec_rig_init(&rig, _i);
	rig.config.head_max = 6;
	rig.config.tail_max = 4;
	exec_rig_run(&rig, "printf 'begin 1234567 end'; printf 'ab\\ncd\\n\\0ef\\ngh\\n' >&2");
	auto_free char *out = exec_text(rig.exec, EXEC_STDOUT, &len);
	auto_free char *err = exec_text(rig.exec, EXEC_STDERR, &len);

	ck_assert_str_eq(out, "begin \n[7 bytes left out]\n end");
	ck_assert_str_eq(err, "ab\ncd\n[3 bytes left out]\n\ngh\n");
	exec_rig_done(&rig);
}
END_TEST

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* 100 MB, of which none may pile up. */
START_TEST(much_output_takes_little_memory)
{
	struct exec_rig rig;
	struct exec_kept kept;
	long before = peak_kib();

	exec_rig_init(&rig, _i);
	rig.config.unread_max = 1 << 16;
	exec_rig_run(&rig, "head -c 100000000 /dev/zero; echo end");
	exec_kept(rig.exec, EXEC_STDOUT, &kept);
	ck_assert_uint_eq(kept.head_len + kept.omitted + kept.tail_len, 100000004);
	ck_assert_mem_eq(kept.tail + kept.tail_len - 4, "end\n", 4);
	ck_assert_uint_eq(rig.live[EXEC_STDOUT].len, 1 << 20);
	ck_assert_uint_eq(rig.notes_seen, 1);
	ck_assert_uint_eq(rig.dropped, 100000004 - (1 << 20));
	ck_assert_int_lt(peak_kib() - before, 32 << 10);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(live_events_have_a_limit)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.events_max = 2;
	rig.config.has_input = true;
	exec_rig_start(&rig, "echo 1; read a; echo 2; read a; echo 3; echo 4 >&2; cat");
	exec_rig_await(&rig, "1\n");
	ck_assert_int_eq(exec_write(rig.exec, "\n", 1), 1);
	exec_rig_await(&rig, "2\n");
	ck_assert_int_eq(exec_write(rig.exec, "\n", 1), 1);
	exec_close_input(rig.exec);
	exec_rig_wait(&rig);
	ck_assert_uint_eq(rig.events_seen, 2);
	ck_assert_uint_eq(rig.notes_seen, 1);
	ck_assert_uint_eq(rig.dropped, 4);
	expect_kept(&rig, EXEC_STDOUT, "1\n2\n3\n"); /* kept all the same */
	expect_kept(&rig, EXEC_STDERR, "4\n");
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_spill_file_has_every_byte)
{
	struct exec_rig rig;
	struct exec_kept kept;
	auto_free char *bytes = mem_new(240000);
	auto_free char *name = NULL;
	struct stat what;

	exec_rig_init(&rig, _i);
	rig.config.spill_dir = rig.rig.outside;
	rig.config.spill_name = "exec";
	rig.config.spill = BIT(EXEC_STDOUT) | BIT(EXEC_MERGED);
	exec_rig_run(&rig, interleaved);
	exec_kept(rig.exec, EXEC_STDOUT, &kept);
	ck_assert_int_eq(kept.spill_error, 0);
	ck_assert_uint_eq(kept.spill_bytes, 240000);
	ck_assert_int_eq(pread(kept.spill, bytes, 240000, 0), 240000);
	ck_assert_mem_eq(bytes, rig.live[EXEC_STDOUT].bytes, 240000);
	exec_kept(rig.exec, EXEC_MERGED, &kept);
	ck_assert_uint_eq(kept.spill_bytes, 480000);
	exec_kept(rig.exec, EXEC_STDERR, &kept);
	ck_assert_int_eq(kept.spill, -1);
	name = mem_printf("%s/exec.stdout", rig.rig.outside);
	ck_assert_int_eq(stat(name, &what), 0);
	ck_assert_int_eq(what.st_size, 240000);
	exec_rig_done(&rig);
}
END_TEST

START_TEST(a_spill_that_fails_stops_nothing)
{
	struct exec_rig rig;
	struct exec_kept kept;

	exec_rig_init(&rig, _i);
	rig.config.spill_dir = rig.rig.outside;
	rig.config.spill = BIT(EXEC_STDOUT);
	rig.config.spill_max = 200000;
	exec_rig_run(&rig, interleaved);
	ck_assert_int_eq(rig.result.code, 0);
	exec_kept(rig.exec, EXEC_STDOUT, &kept);
	ck_assert_int_eq(kept.spill_error, -EFBIG);
	ck_assert_uint_eq(kept.spill_bytes, 200000);
	ck_assert_uint_eq(rig.live[EXEC_STDOUT].len, 240000);
	exec_rig_done(&rig);
}
END_TEST

/* The command is as slow as who reads what it prints, and no byte piles up beyond the window. */
START_TEST(a_slow_consumer_holds_the_command_up)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.window = 5000;
	rig.config.event_bytes_max = 1 << 30;
	rig.is_consumer_slow = true;
	exec_rig_start(&rig, "head -c 1000000 /dev/zero; echo done >&2");
	while (rig.live[EXEC_STDOUT].len < 5000)
		exec_rig_turn(&rig);
	for (int i = 0; i < 50; i++)
		loop_step(rig.rig.loop);
	ck_assert_uint_eq(rig.live[EXEC_MERGED].len, 5000);
	exec_consumed(rig.exec, 1000);
	for (int i = 0; i < 50; i++)
		loop_step(rig.rig.loop);
	ck_assert_uint_eq(rig.live[EXEC_MERGED].len, 6000);
	rig.is_consumer_slow = false;
	exec_consumed(rig.exec, 5000);
	exec_rig_wait(&rig);
	ck_assert_uint_eq(rig.live[EXEC_STDOUT].len, 1000000);
	ck_assert_str_eq(rig.live[EXEC_STDERR].bytes, "done\n");
	exec_rig_done(&rig);
}
END_TEST

/* Who never reads does not keep the end from anybody. */
START_TEST(an_end_does_not_wait_for_the_consumer)
{
	struct exec_rig rig;

	exec_rig_init(&rig, _i);
	rig.config.window = 10;
	rig.is_consumer_slow = true;
	exec_rig_run(&rig, "printf 1234567890abcdef");
	ck_assert_str_eq(rig.live[EXEC_STDOUT].bytes, "1234567890abcdef");
	exec_rig_done(&rig);
}
END_TEST

/* Many at once. */

#define CROWD 200

struct one {
	struct crowd *crowd;
	int number;
	struct exec *exec;
	char text[1 << 14];
	size_t len;
	bool has_ended;
};
struct crowd {
	struct exec_rig rig;
	struct one ones[CROWD];
	unsigned int left;
};

static int on_one_egress(int *fds, size_t count, void *arg)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
	return 0;
}

static void on_one_output(struct exec *exec, const struct exec_output *output, void *arg)
{
	struct one *one = arg;

	ck_assert_ptr_eq(exec, one->exec);
	ck_assert_uint_lt(one->len + output->len, sizeof(one->text));
	memcpy(one->text + one->len, output->bytes, output->len);
	one->len += output->len;
}

static void on_one_end(struct exec *exec, const struct exec_result *result, void *arg)
{
	struct one *one = arg;
	char line[64];
	int len = snprintf(line, sizeof(line), "exec %d says so\n", one->number);

	ck_assert_msg(result->end == EXEC_EXITED, "%d: %s", one->number, result->why);
	ck_assert_int_eq(result->code, one->number % 100);
	ck_assert_uint_eq(one->len, (size_t)len * 500);
	for (int i = 0; i < 500; i++)
		ck_assert_mem_eq(one->text + i * len, line, (size_t)len);
	one->has_ended = true;
	one->crowd->left--;
	exec_free(exec);
	one->exec = NULL;
}

static const struct exec_events one_events = {
	.on_egress = on_one_egress,
	.on_output = on_one_output,
	.on_end = on_one_end,
};

START_TEST(two_hundred_at_once_cross_nothing)
{
	struct rlimit files;
	struct crowd *crowd = mem_new(sizeof(*crowd));
	struct rig *rig = &crowd->rig.rig;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max < 8192 ? files.rlim_max : 8192;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &files), 0);
	exec_rig_init(&crowd->rig, _i);
	crowd->left = CROWD;
	for (int i = 0; i < CROWD; i++) {
		struct one *one = &crowd->ones[i];
		char script[256];
		const char *const argv[] = { "sh", "-c", script, NULL };

		(void)snprintf(script, sizeof(script),
			       "i=0; while [ $i -lt 500 ]; do echo exec %d says so; i=$((i+1)); "
			       "done; exit %d",
			       i, i % 100);
		one->crowd = crowd;
		one->number = i;
		one->exec = exec_new(rig->loop, &crowd->rig.config, &one_events, one);
		rig->config.argv = argv;
		exec_start(one->exec, &rig->config);
	}
	rig->config.argv = NULL;
	while (crowd->left > 0)
		exec_rig_turn(&crowd->rig);
	exec_rig_done(&crowd->rig);
	free(crowd);
}
END_TEST

TCase *test_exec_run(void)
{
	TCase *tcase = tcase_create("exec");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, streams_are_told_and_kept, 0, RIG_USERS);
	tcase_add_loop_test(tcase, merged_has_the_order_in_which_it_came, 0, RIG_USERS);
	tcase_add_loop_test(tcase, one_pipe_has_the_order_in_which_it_was_written, 0, RIG_USERS);
	tcase_add_loop_test(tcase, big_streams_keep_their_order, 0, RIG_USERS);
	tcase_add_loop_test(tcase, what_is_left_out_is_said, 0, RIG_USERS);
	tcase_add_loop_test(tcase, much_output_takes_little_memory, 0, RIG_USERS);
	tcase_add_loop_test(tcase, live_events_have_a_limit, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_spill_file_has_every_byte, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_spill_that_fails_stops_nothing, 0, RIG_USERS);
	tcase_add_loop_test(tcase, a_slow_consumer_holds_the_command_up, 0, RIG_USERS);
	tcase_add_loop_test(tcase, an_end_does_not_wait_for_the_consumer, 0, RIG_USERS);
	tcase_add_loop_test(tcase, two_hundred_at_once_cross_nothing, 0, 1);
	return tcase;
}
