#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/run/output.h"

/* Byte @at of a stream that never repeats itself soon, so that a byte in the wrong place shows. */
static char byte_at(uint64_t at)
{
	return (char)((at * 2654435761U) >> 13);
}

static void fill(char *bytes, uint64_t from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = byte_at(from + i);
}

static void expect(const char *bytes, uint64_t from, size_t len)
{
	size_t i = 0;

	while (i < len && bytes[i] == byte_at(from + i))
		i++;
	ck_assert_msg(i == len, "byte %zu after %zu", i, (size_t)from);
}

START_TEST(a_ring_is_a_queue_with_a_limit)
{
	/* Steps of every size up to beyond the limit, with what is dropped in between. */
	struct ring ring = { .max = 10000 };
	uint64_t in = 0, out = 0;
	char bytes[16384];

	for (size_t step = 1; step < 14000; step = step * 2 + 3) {
		for (int i = 0; i < 50; i++) {
			size_t before = ring.len;

			fill(bytes, in, step);
			size_t gone = ring_add(&ring, bytes, step);

			in += step;
			out += gone;
			ck_assert_uint_eq(ring.len, before + step - gone);
			ck_assert_uint_le(ring.len, ring.max);
			ck_assert_uint_eq(in - out, ring.len);
			expect(ring_peek(&ring), out, ring.len);
			size_t drop = ring.len / 3;

			ring_drop(&ring, drop);
			out += drop;
			expect(ring_peek(&ring), out, ring.len);
		}
	}
	ck_assert_uint_le(ring.room, ring.max);
	ring_done(&ring);
}
END_TEST

static const struct {
	size_t head, tail, step, total;
} keeps[] = {
	{ 10, 10, 1, 5 },
	{ 10, 10, 1, 10 },
	{ 10, 10, 1, 11 },
	{ 10, 10, 1, 20 },
	{ 10, 10, 1, 21 },
	{ 10, 10, 7, 700 },
	{ 10, 10, 100, 100 },
	{ 10, 10, 100, 1000 },
	{ 65536, 65536, 4096, 131072 },
	{ 65536, 65536, 65536, 1310720 },
	{ 65536, 65536, 1000, 131073 },
	{ 3, 5000, 17, 17000 },
};

START_TEST(the_first_and_the_last_bytes_are_kept)
{
	struct output_keep keep = { .head_max = keeps[_i].head, .tail.max = keeps[_i].tail };
	size_t total = keeps[_i].total;
	auto_free char *bytes = mem_new(keeps[_i].step);

	for (size_t at = 0; at < total; at += keeps[_i].step) {
		size_t len = total - at < keeps[_i].step ? total - at : keeps[_i].step;

		fill(bytes, at, len);
		ck_assert_int_eq(output_keep_overflows(&keep, len),
				 at + len > keeps[_i].head + keeps[_i].tail);
		output_keep_add(&keep, bytes, len);
	}
	size_t head = total < keeps[_i].head ? total : keeps[_i].head;
	size_t tail = total - head < keeps[_i].tail ? total - head : keeps[_i].tail;

	ck_assert_uint_eq(keep.head_len, head);
	ck_assert_uint_eq(keep.tail.len, tail);
	ck_assert_uint_eq(keep.omitted, total - head - tail);
	expect(keep.head, 0, head);
	expect(ring_peek(&keep.tail), total - tail, tail);
	output_keep_done(&keep);
}
END_TEST

/* Files. */

static char dir[64];

static void make_dir(void)
{
	(void)snprintf(dir, sizeof(dir), "/var/tmp/sallyport-test-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

START_TEST(a_file_is_only_ours)
{
	struct output_spill spill = {
		.dir = dir, .name = "exec-1", .suffix = "stdout", .max = 100, .fd = -1
	};
	auto_free char *path = NULL;
	struct stat what;
	char text[8];

	make_dir();
	path = mem_printf("%s/exec-1.stdout", dir);
	ck_assert_int_eq(umask(0), 022);
	output_spill_add(&spill, "ab", 2);
	output_spill_add(&spill, "c\0d", 3);
	ck_assert_int_eq(spill.error, 0);
	ck_assert_uint_eq(spill.bytes, 5);
	ck_assert_int_eq(stat(path, &what), 0);
	ck_assert_int_eq(what.st_mode & 07777, 0600);
	ck_assert_int_eq(pread(spill.fd, text, sizeof(text), 0), 5);
	ck_assert_mem_eq(text, "abc\0d", 5);
	output_spill_done(&spill);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

START_TEST(a_file_needs_no_name)
{
	struct output_spill spill = { .dir = dir, .suffix = "stdout", .max = 100, .fd = -1 };

	make_dir();
	output_spill_add(&spill, "ab", 2);
	ck_assert_int_eq(spill.error, 0);
	ck_assert_int_eq(rmdir(dir), 0); /* nothing is in it */
	output_spill_done(&spill);
}
END_TEST

/* What is wrong, and what is said. */
static const struct {
	const char *name;
	const char *below; /* of the directory */
	mode_t mode;
	int error;
} refused[] = {
	{ "exec", "", 0755, -EPERM }, /* others could look, or put their own there */
	{ "exec", "", 0730, -EPERM },  { "exec", "/none", 0700, -ENOENT },
	{ "a/b", "", 0700, -EINVAL },  { "there", "", 0700, -EEXIST },
	{ "link", "", 0700, -EEXIST },
};

START_TEST(a_file_is_refused_with_a_reason)
{
	auto_free char *below = NULL, *there = NULL, *link = NULL;
	struct output_spill spill = {
		.name = refused[_i].name, .suffix = "stdout", .max = 100, .fd = -1
	};

	make_dir();
	below = mem_printf("%s%s", dir, refused[_i].below);
	there = mem_printf("%s/there.stdout", dir);
	link = mem_printf("%s/link.stdout", dir);
	fd_close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	ck_assert_int_eq(symlink("elsewhere", link), 0);
	ck_assert_int_eq(chmod(dir, refused[_i].mode), 0);
	spill.dir = below;
	output_spill_add(&spill, "ab", 2);
	output_spill_add(&spill, "ab", 2);
	ck_assert_int_eq(spill.error, refused[_i].error);
	ck_assert_int_eq(spill.fd, -1);
	ck_assert_uint_eq(spill.bytes, 0);
	ck_assert_int_eq(unlink(there), 0);
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

/* Its own limit, and the process's, beyond which the kernel would kill us. */
START_TEST(a_file_has_a_limit)
{
	struct rlimit limit = { .rlim_cur = 100000, .rlim_max = RLIM_INFINITY };
	struct output_spill spill = {
		.dir = dir, .suffix = "stdout", .max = _i == 0 ? 100000 : 1000000, .fd = -1
	};
	auto_free char *bytes = mem_new(120000);

	make_dir();
	if (_i == 1)
		ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	fill(bytes, 0, 120000);
	output_spill_add(&spill, bytes, 60000);
	ck_assert_int_eq(spill.error, 0);
	output_spill_add(&spill, bytes + 60000, 60000);
	output_spill_add(&spill, "k", 1);
	ck_assert_int_eq(spill.error, -EFBIG);
	ck_assert_uint_eq(spill.bytes, 100000);
	ck_assert_int_eq(pread(spill.fd, bytes, 120000, 0), 100000);
	expect(bytes, 0, 100000);
	output_spill_done(&spill);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

static void write_file(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(fd_write_all(fd, text, strlen(text)), 0);
}

/* A disk of our own, in a mount namespace of our own. */
static void mount_small_disk(void)
{
	auto_free char *user = mem_printf("0 %u 1", geteuid());
	auto_free char *group = mem_printf("0 %u 1", getegid());

	ck_assert_int_eq(unshare(CLONE_NEWUSER | CLONE_NEWNS), 0);
	write_file("/proc/self/setgroups", "deny");
	write_file("/proc/self/uid_map", user);
	write_file("/proc/self/gid_map", group);
	ck_assert_int_eq(mount("none", dir, "tmpfs", 0, "size=16k,mode=0700"), 0);
}

START_TEST(a_full_disk_is_said)
{
	struct output_spill spill = { .dir = dir, .suffix = "stdout", .max = 1 << 20, .fd = -1 };
	char bytes[4096];

	make_dir();
	mount_small_disk();
	for (uint64_t at = 0; at < 32768; at += sizeof(bytes)) {
		fill(bytes, at, sizeof(bytes));
		output_spill_add(&spill, bytes, sizeof(bytes));
	}
	ck_assert_int_eq(spill.error, -ENOSPC);
	ck_assert_uint_gt(spill.bytes, 0);
	ck_assert_uint_le(spill.bytes, 16384);
	for (uint64_t at = 0; at < spill.bytes; at += sizeof(bytes)) {
		ssize_t n = pread(spill.fd, bytes, sizeof(bytes), (off_t)at);

		ck_assert_int_gt(n, 0);
		expect(bytes, at, (size_t)n);
	}
	output_spill_done(&spill);
	ck_assert_int_eq(umount2(dir, MNT_DETACH), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}
END_TEST

TCase *test_output(void)
{
	TCase *tcase = tcase_create("output");

	tcase_add_test(tcase, a_ring_is_a_queue_with_a_limit);
	tcase_add_loop_test(tcase, the_first_and_the_last_bytes_are_kept, 0,
			    (int)ARRAY_SIZE(keeps));
	tcase_add_test(tcase, a_file_is_only_ours);
	tcase_add_test(tcase, a_file_needs_no_name);
	tcase_add_loop_test(tcase, a_file_is_refused_with_a_reason, 0, (int)ARRAY_SIZE(refused));
	tcase_add_loop_test(tcase, a_file_has_a_limit, 0, 2);
	tcase_add_test(tcase, a_full_disk_is_said);
	return tcase;
}
