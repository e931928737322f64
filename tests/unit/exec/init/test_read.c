#include "tests/unit/exec/test_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "exec/init/read.h"

/* Built by hand, so that the reader is not tested against the writer's own mistakes. */
struct image {
	struct wire_plan head;
	char text[1024];
	size_t len;
};

static void add(struct image *image, const char *text)
{
	memcpy(image->text + image->len, text, strlen(text) + 1);
	image->len += strlen(text) + 1;
}

/* Where they begin in what make() makes. */
#define FIRST_MOUNT  20
#define SECOND_MOUNT 26

static void make(struct image *image)
{
	*image = (struct image){ .head.magic = WIRE_MAGIC, .head.limits.processes = 1 };
	for (int i = 0; i < WIRE_TEXTS; i++)
		image->head.limits.texts[i][0] = '1';
	add(image, "/home/ana");
	add(image, "sh");
	add(image, "-c");
	image->head.counts[WIRE_ARGV] = 2;
	add(image, "A=1");
	image->head.counts[WIRE_ENV] = 1;
	add(image, "t/tmp");
	add(image, "w/home/ana");
	image->head.counts[WIRE_MOUNTS] = 2;
	image->head.bytes = (uint32_t)(sizeof(image->head) + image->len);
}

static int read_image(const struct image *image, size_t len, struct read_plan *ret)
{
	/* Of exactly that size, so that a sanitizer sees a byte too far. */
	auto_free char *exact = mem_new(len);

	memcpy(exact, image, len);
	size_t count = read_pointers(exact, len);
	auto_free char **pointers = mem_new_array(count + 1, sizeof(char *));
	int r = read_plan(exact, len, pointers, ret);

	if (r == 0) {
		ck_assert_str_eq(ret->cwd, "/home/ana");
		ck_assert_str_eq(ret->lists[WIRE_ARGV][1], "-c");
		ck_assert_ptr_null(ret->lists[WIRE_ARGV][2]);
		ck_assert_str_eq(ret->lists[WIRE_ENV][0], "A=1");
		ck_assert_str_eq(ret->lists[WIRE_MOUNTS][1], "w/home/ana");
		ck_assert_ptr_null(ret->lists[WIRE_SOCKETS][0]);
	}
	return r;
}

START_TEST(reads_a_plan)
{
	struct image image;
	struct read_plan plan;

	make(&image);
	ck_assert_int_eq(read_image(&image, image.head.bytes, &plan), 0);
}
END_TEST

START_TEST(refuses_every_shorter_one)
{
	struct image image;
	struct read_plan plan;

	make(&image);
	for (size_t len = 1; len < image.head.bytes; len++) {
		struct image cut = image;

		ck_assert_int_eq(read_image(&cut, len, &plan), -EBADMSG);
		if (len >= sizeof(cut.head)) { /* also when its head says so */
			cut.head.bytes = (uint32_t)len;
			ck_assert_int_eq(read_image(&cut, len, &plan), -EBADMSG);
		}
	}
}
END_TEST

enum damage {
	BAD_MAGIC,
	BAD_FLAGS,
	BYTES_MORE,
	BYTES_LESS,
	TRAILING,
	COUNT_MORE,
	COUNT_LESS,
	COUNT_HUGE,
	NO_COMMAND,
	UNKNOWN_MOUNT,
	MOUNT_OF_NOTHING,
	ODD_LINK,
	ODD_CACHE,
	ODD_INSTEAD,
	NO_PROGRAM,
	UNWANTED_PROGRAM,
	NO_OPTIONS,
	OPTIONS_WITHOUT_END,
	NO_PROCESSES,
	RELATIVE_CWD,
	DAMAGES
};

static size_t spoil(struct image *image, enum damage how)
{
	size_t len = image->head.bytes;

	switch (how) {
	case BAD_MAGIC:
		image->head.magic++;
		break;
	case BAD_FLAGS:
		image->head.flags = WIRE_FLAGS + 1;
		break;
	case BYTES_MORE:
		image->head.bytes++;
		break;
	case BYTES_LESS:
		image->head.bytes--;
		break;
	case TRAILING:
		image->head.bytes = (uint32_t)++len;
		break;
	case COUNT_MORE:
		image->head.counts[WIRE_SOCKETS]++;
		break;
	case COUNT_LESS:
		image->head.counts[WIRE_MOUNTS]--;
		break;
	case COUNT_HUGE:
		image->head.counts[WIRE_ENV] = UINT32_MAX;
		break;
	case NO_COMMAND: /* its two words become variables */
		image->head.counts[WIRE_ARGV] = 0;
		image->head.counts[WIRE_ENV] = 3;
		break;
	case UNKNOWN_MOUNT:
		image->text[FIRST_MOUNT] = 'q';
		break;
	case MOUNT_OF_NOTHING:
		image->text[FIRST_MOUNT + 1] = 't';
		break;
	case ODD_LINK: /* the second mount becomes half a pair */
	case ODD_CACHE:
	case ODD_INSTEAD:
		memmove(image->text + SECOND_MOUNT, image->text + SECOND_MOUNT + 1, len);
		image->head.bytes = (uint32_t)--len;
		image->head.counts[WIRE_MOUNTS] = 1;
		image->head.counts[how == ODD_LINK    ? WIRE_LINKS
				   : how == ODD_CACHE ? WIRE_CACHED
						      : WIRE_INSTEAD] = 1;
		break;
	case NO_PROGRAM:
		image->head.flags |= WIRE_HAS_PROGRAM;
		break;
	case UNWANTED_PROGRAM: /* it could be one, but for its letter */
		memmove(image->text + FIRST_MOUNT, image->text + FIRST_MOUNT + 1, len);
		image->head.bytes = (uint32_t)--len;
		image->head.counts[WIRE_MOUNTS] = 1;
		image->head.counts[WIRE_PROGRAM] = 1;
		break;
	case NO_OPTIONS: /* of a file system: then there would be no limit */
		image->head.limits.texts[WIRE_FRESH_OPTIONS][0] = '\0';
		break;
	case OPTIONS_WITHOUT_END:
		image->head.limits.texts[WIRE_TMP_OPTIONS][WIRE_TEXT_MAX - 1] = 'x';
		break;
	case NO_PROCESSES:
		image->head.limits.processes = 0;
		break;
	case RELATIVE_CWD:
		image->text[0] = 'x';
		break;
	case DAMAGES:
	default:
		break;
	}
	return len;
}

START_TEST(refuses_a_damaged_one)
{
	struct image image;
	struct read_plan plan;

	make(&image);
	size_t len = spoil(&image, (enum damage)_i);

	ck_assert_int_eq(read_image(&image, len, &plan), -EBADMSG);
}
END_TEST

static const char *const bad_paths[] = {
	"",     "a",    "a/b", "//",    "/a/",   "/a//b",   "/.",
	"/a/.", "/./a", "/..", "/a/..", "/../a", "/a/../b",
};

START_TEST(refuses_paths_that_are_not_canonical)
{
	struct image image;
	struct read_plan plan;

	make(&image);
	add(&image, bad_paths[_i]);
	image.head.counts[WIRE_SOCKETS]++;
	image.head.bytes = (uint32_t)(sizeof(image.head) + image.len);
	ck_assert_int_eq(read_image(&image, image.head.bytes, &plan), -EBADMSG);
}
END_TEST

TCase *test_read(void)
{
	TCase *tcase = tcase_create("read");

	tcase_add_test(tcase, reads_a_plan);
	tcase_add_test(tcase, refuses_every_shorter_one);
	tcase_add_loop_test(tcase, refuses_a_damaged_one, 0, DAMAGES);
	tcase_add_loop_test(tcase, refuses_paths_that_are_not_canonical, 0, ARRAY_SIZE(bad_paths));
	return tcase;
}
