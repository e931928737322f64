#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/rpc/channel.h"
#include "base/fd.h"
#include "base/loop.h"
#include "base/mem.h"
#include "tests/unit/agent/test_agent.h"

#define STEPS 400

/* One end of a socket pair is the channel's, the other ours. */
struct rig {
	struct loop *loop;
	struct channel *channel;
	int theirs, ours;
	char lines[512]; /* each with a newline; "!": one that was too long */
	unsigned int rooms, ends, empties;
	const char *why;
};

static void on_line(const char *line, size_t len, void *arg)
{
	struct rig *rig = arg;
	size_t used = strlen(rig->lines);

	ck_assert(!line || strlen(line) <= len);
	(void)snprintf(rig->lines + used, sizeof(rig->lines) - used, "%s\n", line ? line : "!");
}

static void on_room(void *arg)
{
	((struct rig *)arg)->rooms++;
}

static void on_end(const char *why, void *arg)
{
	struct rig *rig = arg;

	rig->ends++;
	rig->why = why;
}

static void on_empty(void *arg)
{
	((struct rig *)arg)->empties++;
}

static const struct channel_events events = { on_line, on_room, on_end, on_empty };

static void begin(struct rig *rig)
{
	int pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair),
			 0);
	*rig = (struct rig){ .loop = loop_new_fake(), .theirs = pair[0], .ours = pair[1] };
	rig->channel = channel_new(rig->loop, rig->theirs, rig->theirs, &events, rig, NULL);
	channel_start(rig->channel);
}

static void end(struct rig *rig)
{
	channel_free(rig->channel);
	loop_free(rig->loop);
	fd_close(rig->theirs);
	fd_close(rig->ours);
}

static void step(struct rig *rig)
{
	for (int i = 0; i < STEPS; i++)
		loop_step(rig->loop);
}

static void say(struct rig *rig, const char *text, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t sent = write(rig->ours, text + done, len - done);

		ck_assert(sent > 0 || errno == EAGAIN);
		done += sent > 0 ? (size_t)sent : 0;
		step(rig);
	}
}

static size_t hear(struct rig *rig)
{
	static char bytes[1 << 16];
	size_t all = 0;
	ssize_t got;

	while ((got = read(rig->ours, bytes, sizeof(bytes))) > 0) {
		all += (size_t)got;
		step(rig);
	}
	return all;
}

START_TEST(lines_are_told_whole)
{
	struct rig rig;

	begin(&rig);
	say(&rig, "one\ntw", 6);
	ck_assert_str_eq(rig.lines, "one\n");
	say(&rig, "o\n\nthree\n", 9);
	ck_assert_str_eq(rig.lines, "one\ntwo\n\nthree\n");
	ck_assert_uint_eq(rig.ends, 0);
	end(&rig);
}
END_TEST

START_TEST(a_long_line_is_told_once_and_the_next_counts)
{
	auto_free char *line = mem_new(CHANNEL_LINE_MAX + 100);
	struct rig rig;

	memset(line, 'x', CHANNEL_LINE_MAX + 99);
	begin(&rig);
	say(&rig, line, CHANNEL_LINE_MAX + 99);
	ck_assert_str_eq(rig.lines, "");
	say(&rig, "yy\nnext\n", 8);
	ck_assert_str_eq(rig.lines, "!\nnext\n");
	/* Exactly as long as may be. */
	rig.lines[0] = '\0';
	say(&rig, "z\n", 2);
	ck_assert_str_eq(rig.lines, "z\n");
	end(&rig);
}
END_TEST

START_TEST(a_line_may_be_as_long_as_was_said)
{
	auto_free char *line = mem_new(2 * CHANNEL_LINE_MAX + 2);
	struct rig rig;

	memset(line, 'x', 2 * CHANNEL_LINE_MAX + 1);
	begin(&rig);
	channel_set_line_max(rig.channel, 2 * CHANNEL_LINE_MAX);
	say(&rig, line, 2 * CHANNEL_LINE_MAX);
	say(&rig, "\n", 1);
	ck_assert_uint_eq(strlen(rig.lines), sizeof(rig.lines) - 1); /* what there is room for */
	rig.lines[0] = '\0';
	say(&rig, line, 2 * CHANNEL_LINE_MAX + 1);
	say(&rig, "\nnext\n", 6);
	ck_assert_str_eq(rig.lines, "!\nnext\n");
	end(&rig);
}
END_TEST

START_TEST(the_end_comes_after_the_last_line)
{
	struct rig rig;

	begin(&rig);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(write(rig.ours, "l\n", 2), 2);
	ck_assert_int_eq(shutdown(rig.ours, SHUT_WR), 0);
	step(&rig);
	ck_assert_uint_eq(strlen(rig.lines), 200);
	ck_assert_uint_eq(rig.ends, 1);
	/* It may still read. */
	channel_send(rig.channel, "bye", 3);
	ck_assert_uint_eq(hear(&rig), 4);
	end(&rig);
}
END_TEST

static void fill(struct rig *rig, size_t bytes)
{
	auto_free char *line = mem_new(CHANNEL_HIGH);

	memset(line, 'x', CHANNEL_HIGH);
	for (size_t sent = 0; sent < bytes; sent += CHANNEL_HIGH)
		channel_send(rig->channel, line, CHANNEL_HIGH);
}

START_TEST(who_does_not_read_is_not_listened_to)
{
	struct rig rig;

	begin(&rig);
	fill(&rig, 4 * CHANNEL_HIGH);
	ck_assert(channel_is_full(rig.channel));
	say(&rig, "held\n", 5);
	ck_assert_str_eq(rig.lines, "");
	ck_assert_uint_eq(hear(&rig), 4 * (CHANNEL_HIGH + 1));
	step(&rig);
	ck_assert(!channel_is_full(rig.channel));
	ck_assert_uint_eq(rig.rooms, 1);
	ck_assert_str_eq(rig.lines, "held\n");
	end(&rig);
}
END_TEST

START_TEST(who_never_reads_is_given_up_on)
{
	struct rig rig;

	begin(&rig);
	fill(&rig, 2 * CHANNEL_HIGH);
	loop_advance(rig.loop, CHANNEL_STALL_MS - 1);
	ck_assert_uint_eq(rig.ends, 0);
	loop_advance(rig.loop, 2);
	step(&rig);
	ck_assert_uint_eq(rig.ends, 1);
	ck_assert_str_eq(rig.why, "the client does not read");
	ck_assert(channel_is_lost(rig.channel));
	end(&rig);
}
END_TEST

START_TEST(the_queue_has_an_end)
{
	struct rig rig;

	begin(&rig);
	fill(&rig, CHANNEL_QUEUE_MAX + 4 * CHANNEL_HIGH);
	step(&rig);
	ck_assert_uint_eq(rig.ends, 1);
	ck_assert(channel_is_lost(rig.channel) && channel_is_empty(rig.channel));
	channel_send(rig.channel, "x", 1); /* to nobody */
	end(&rig);
}
END_TEST

START_TEST(what_waits_is_written_after_the_end)
{
	struct rig rig;

	begin(&rig);
	fill(&rig, 2 * CHANNEL_HIGH);
	channel_finish(rig.channel);
	ck_assert(!channel_is_empty(rig.channel));
	ck_assert_uint_eq(hear(&rig), 2 * (CHANNEL_HIGH + 1));
	step(&rig);
	ck_assert_uint_eq(rig.empties, 1);
	end(&rig);
}
END_TEST

/* epoll waits neither for a plain file nor for /dev/null; what they hold is read all the same. */
START_TEST(an_input_that_is_always_ready_ends)
{
	struct rig rig = { .loop = loop_new_fake() };

	rig.theirs = open("/dev/null", O_RDONLY | O_CLOEXEC);
	rig.ours = open("/dev/null", O_WRONLY | O_CLOEXEC);
	rig.channel = channel_new(rig.loop, rig.theirs, rig.ours, &events, &rig, NULL);
	channel_start(rig.channel);
	step(&rig);
	ck_assert_uint_eq(rig.ends, 1);
	channel_send(rig.channel, "bye", 3);
	channel_finish(rig.channel);
	ck_assert(channel_is_empty(rig.channel));
	end(&rig);
}
END_TEST

TCase *test_channel(void)
{
	TCase *tcase = tcase_create("channel");

	tcase_add_test(tcase, lines_are_told_whole);
	tcase_add_test(tcase, a_long_line_is_told_once_and_the_next_counts);
	tcase_add_test(tcase, a_line_may_be_as_long_as_was_said);
	tcase_add_test(tcase, the_end_comes_after_the_last_line);
	tcase_add_test(tcase, who_does_not_read_is_not_listened_to);
	tcase_add_test(tcase, who_never_reads_is_given_up_on);
	tcase_add_test(tcase, the_queue_has_an_end);
	tcase_add_test(tcase, what_waits_is_written_after_the_end);
	tcase_add_test(tcase, an_input_that_is_always_ready_ends);
	return tcase;
}
