/* image: a policy in one piece of memory without pointers: a header, then the arrays of struct
 * policy, each at a multiple of IMAGE_ALIGN. To add an array: a section here, its size in
 * image_sizes, its lines in image.c, and in image_check.c the check of every number in it that is
 * used as an offset. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policies/engine/policy_impl.h"

#define IMAGE_MAGIC   "gate\nimg" /* all eight bytes, without NUL */
#define IMAGE_VERSION 1U
#define IMAGE_ALIGN   64U

enum image_section {
	IMAGE_SOURCES, /* struct image_source */
	IMAGE_TEXT,    /* names and text of the sources, each terminated */
	IMAGE_NAMES,
	IMAGE_RULES,
	IMAGE_WIDES,
	IMAGE_EXCEPTIONS,
	IMAGE_PORTS,
	IMAGE_CLAUSES,
	IMAGE_SETTINGS,
	IMAGE_SLOTS,      /* struct index_slot */
	IMAGE_COMMANDS,   /* struct command_line */
	IMAGE_CONFIGURED, /* for configured_line_restore(), each terminated */
	IMAGE_SECTIONS,
};

/* The element size of each section. */
extern const size_t image_sizes[IMAGE_SECTIONS];

struct image_source {
	uint32_t name, text, len; /* in IMAGE_TEXT */
	uint8_t layer, is_changed, has_default, default_action;
};

struct image_header {
	char magic[8];
	uint32_t version;
	uint32_t layout; /* image_layout() */
	uint64_t sum;    /* of everything behind this field */
	uint64_t len;    /* of the whole image */
	struct {
		uint64_t at, count;
	} sections[IMAGE_SECTIONS];
	struct index index;
	int64_t start;
	uint8_t has_address_exceptions, has_only, has_set_default, set_default;
	uint8_t zero[4];
};

/* A fingerprint of the structures: only the version of the program that made an image can read
 * it. */
uint32_t image_layout(void);
uint64_t image_sum(const void *bytes, size_t len);
/* Is @bytes a valid image? 0, -EBADMSG or -EPROTO. @is_sum_ignored: the sum is not checked. */
int image_check(const void *bytes, size_t len, bool is_sum_ignored, struct err *why);
/* Makes @policy, which has no rules of its own, read the checked image at @bytes; keeps @bytes. */
void image_attach(struct policy *policy, void *bytes);
/* Makes the rules about commands, and what else @policy owns, from the attached image. 0, or
 * -EBADMSG: a line cannot be read. */
int image_restore(struct policy *policy, struct err *why);
/* Detaches the image, if there is one: what is left belongs to @policy. */
void image_detach(struct policy *policy);
