#include "policies/engine/image_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "policies/engine/index_impl.h"
#include "policies/language/command_line_impl.h"
#include "policies/language/configured_line_impl.h"
#include "policies/policies_image.h"

#define IMAGE_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

const size_t image_sizes[IMAGE_SECTIONS] = {
	[IMAGE_SOURCES] = sizeof(struct image_source),
	[IMAGE_TEXT] = 1,
	[IMAGE_NAMES] = 1,
	[IMAGE_RULES] = sizeof(struct packed_rule),
	[IMAGE_WIDES] = sizeof(struct rule),
	[IMAGE_EXCEPTIONS] = sizeof(struct pattern),
	[IMAGE_PORTS] = sizeof(struct pattern_port),
	[IMAGE_CLAUSES] = sizeof(struct clause),
	[IMAGE_SETTINGS] = sizeof(struct setting),
	[IMAGE_SLOTS] = sizeof(struct index_slot),
	[IMAGE_COMMANDS] = sizeof(struct command_line),
	[IMAGE_CONFIGURED] = 1,
};

static size_t image_round(size_t len)
{
	return (len + IMAGE_ALIGN - 1) / IMAGE_ALIGN * IMAGE_ALIGN;
}

static size_t image_text_len(const struct policy *policy)
{
	size_t len = 0;

	for (size_t i = 0; i < policy->source_count; i++)
		len += strlen(policy->sources[i].name) + 1 + policy->sources[i].len + 1;
	return len;
}

uint32_t image_layout(void)
{
	uint32_t layout = sizeof(struct image_header);

	for (size_t i = 0; i < IMAGE_SECTIONS; i++)
		layout = layout * 31 + (uint32_t)image_sizes[i];
	return layout * 31 + CLAUSE_COUNT;
}

/* Detects accidental damage, not an attack: an attacker who can make an image can compute this
 * sum. */
uint64_t image_sum(const void *bytes, size_t len)
{
	const size_t skip = offsetof(struct image_header, len);
	uint64_t lanes[4] = { 1, 2, 3, 4 }, sum = len, words[4];
	const char *at = bytes;

	for (size_t i = skip; i + sizeof(words) <= len; i += sizeof(words)) {
		memcpy(words, at + i, sizeof(words));
		for (size_t lane = 0; lane < ARRAY_SIZE(lanes); lane++) {
			lanes[lane] = (lanes[lane] ^ words[lane]) * 0x9e3779b97f4a7c15ULL;
			lanes[lane] ^= lanes[lane] >> 32;
		}
	}
	/* The rest is shorter than one round: in a valid image it is zero padding. */
	for (size_t i = skip + (len - skip) / sizeof(words) * sizeof(words); i < len; i++)
		sum = (sum ^ (unsigned char)at[i]) * 0x100000001b3ULL;
	for (size_t lane = 0; lane < ARRAY_SIZE(lanes); lane++)
		sum = (sum ^ lanes[lane]) * 0x9e3779b97f4a7c15ULL;
	return sum ^ sum >> 32;
}

/* Plans the position of every section. */
static void image_plan(const struct policy *policy, struct image_header *ret)
{
	const size_t counts[IMAGE_SECTIONS] = {
		[IMAGE_SOURCES] = policy->source_count,
		[IMAGE_TEXT] = image_text_len(policy),
		[IMAGE_NAMES] = policy->names_len,
		[IMAGE_RULES] = policy->rule_count,
		[IMAGE_WIDES] = policy->wide_count,
		[IMAGE_EXCEPTIONS] = policy->exception_count,
		[IMAGE_PORTS] = policy->port_count,
		[IMAGE_CLAUSES] = policy->clause_count,
		[IMAGE_SETTINGS] = policy->setting_count,
		[IMAGE_SLOTS] = policy->index.slot_count,
		[IMAGE_COMMANDS] = policy->command_count,
		[IMAGE_CONFIGURED] = configured_line_save(policy, NULL),
	};
	size_t at = image_round(sizeof(*ret));

	memset(ret, 0, sizeof(*ret));
	memcpy(ret->magic, IMAGE_MAGIC, sizeof(ret->magic));
	ret->version = IMAGE_VERSION;
	ret->layout = image_layout();
	for (size_t i = 0; i < IMAGE_SECTIONS; i++) {
		ret->sections[i].at = at;
		ret->sections[i].count = counts[i];
		at = image_round(at + counts[i] * image_sizes[i]);
	}
	ret->len = at;
	ret->index = policy->index;
	ret->start = policy->start;
	ret->has_address_exceptions = policy->has_address_exceptions;
	ret->has_only = policy->has_only;
	ret->has_set_default = policy->has_set_default;
	ret->set_default = (uint8_t)policy->set_default;
}

/* Copies an array to its section and frees it. */
static void *image_move(const struct image_header *header, char *out, enum image_section section,
			void *array)
{
	size_t len = header->sections[section].count * image_sizes[section];

	if (len > 0)
		memcpy(out + header->sections[section].at, array, len);
	free(array);
	return NULL;
}

static uint32_t image_put_text(char *text, size_t *at, char *bytes, size_t len)
{
	uint32_t begin = (uint32_t)*at;

	memcpy(text + *at, bytes, len);
	*at += len + 1; /* the file was grown with zeros */
	free(bytes);
	return begin;
}

static void image_forget_sources(struct policy *policy)
{
	for (size_t i = 0; i < policy->source_count; i++) {
		policy->sources[i].name = NULL;
		policy->sources[i].text = NULL;
		policy->sources[i].len = 0;
	}
}

static void image_move_sources(struct policy *policy, const struct image_header *header, char *out)
{
	char *text = out + header->sections[IMAGE_TEXT].at;
	struct image_source *to =
		(struct image_source *)(void *)(out + header->sections[IMAGE_SOURCES].at);
	size_t at = 0;

	for (size_t i = 0; i < policy->source_count; i++) {
		struct source *source = &policy->sources[i];

		to[i] = (struct image_source){
			.name = image_put_text(text, &at, source->name, strlen(source->name)),
			.text = image_put_text(text, &at, source->text, source->len),
			.len = (uint32_t)source->len,
			.layer = source->layer,
			.is_changed = source->is_changed,
			.has_default = source->has_default,
			.default_action = source->default_action,
		};
	}
	image_forget_sources(policy);
}

/* Copies what stays owned, because it is changed or used in another form. */
static void image_copy(const struct policy *policy, const struct image_header *header, char *out)
{
	if (policy->command_count > 0)
		memcpy(out + header->sections[IMAGE_COMMANDS].at, policy->command_lines,
		       policy->command_count * sizeof(*policy->command_lines));
	(void)configured_line_save(policy, out + header->sections[IMAGE_CONFIGURED].at);
}

/* Small arrays first, so that most memory is free before the text exists twice. */
static void image_fill(struct policy *policy, const struct image_header *header, char *out)
{
	policy->slots = image_move(header, out, IMAGE_SLOTS, policy->slots);
	policy->rules = image_move(header, out, IMAGE_RULES, policy->rules);
	policy->wides = image_move(header, out, IMAGE_WIDES, policy->wides);
	policy->names = image_move(header, out, IMAGE_NAMES, policy->names);
	policy->exceptions = image_move(header, out, IMAGE_EXCEPTIONS, policy->exceptions);
	policy->ports = image_move(header, out, IMAGE_PORTS, policy->ports);
	policy->clauses = image_move(header, out, IMAGE_CLAUSES, policy->clauses);
	policy->settings = image_move(header, out, IMAGE_SETTINGS, policy->settings);
	image_copy(policy, header, out);
	image_move_sources(policy, header, out);

	struct image_header sealed = *header;

	memcpy(out, &sealed, sizeof(sealed));
	sealed.sum = image_sum(out, sealed.len);
	memcpy(out, &sealed, sizeof(sealed));
}

/* Without rules, lookups must not find any: without a complete index everything is denied. */
static void image_empty(struct policy *policy)
{
	policy->rule_count = 0;
	policy->wide_count = 0;
	policy->exception_count = 0;
	policy->port_count = 0;
	policy->clause_count = 0;
	policy->setting_count = 0;
	policy->index = (struct index){ .any_head = RULE_NONE, .rule_count = RULE_NONE };
}

static void *image_at(char *bytes, enum image_section section, size_t *ret_count)
{
	const struct image_header *header = (const void *)bytes;

	*ret_count = header->sections[section].count;
	return bytes + header->sections[section].at;
}

static void image_attach_sources(struct policy *policy, char *bytes)
{
	size_t count, unused;
	const struct image_source *from = image_at(bytes, IMAGE_SOURCES, &count);
	char *text = image_at(bytes, IMAGE_TEXT, &unused);

	/* The maker of the image keeps more information about its sources than the image has. */
	if (!policy->sources)
		policy->sources = mem_new_array(count + 1, sizeof(*policy->sources));
	policy->source_count = count;
	for (size_t i = 0; i < count; i++) {
		struct source *source = &policy->sources[i];

		source->name = text + from[i].name;
		source->text = text + from[i].text;
		source->at = from[i].text;
		source->len = from[i].len;
		source->layer = from[i].layer;
		source->is_changed = from[i].is_changed;
		source->has_default = from[i].has_default;
		source->default_action = from[i].default_action;
	}
}

void image_attach(struct policy *policy, void *bytes)
{
	const struct image_header *header = bytes;
	size_t unused;

	policy->image = bytes;
	policy->rules = image_at(bytes, IMAGE_RULES, &policy->rule_count);
	policy->wides = image_at(bytes, IMAGE_WIDES, &policy->wide_count);
	policy->exceptions = image_at(bytes, IMAGE_EXCEPTIONS, &policy->exception_count);
	policy->ports = image_at(bytes, IMAGE_PORTS, &policy->port_count);
	policy->names = image_at(bytes, IMAGE_NAMES, &policy->names_len);
	policy->clauses = image_at(bytes, IMAGE_CLAUSES, &policy->clause_count);
	policy->settings = image_at(bytes, IMAGE_SETTINGS, &policy->setting_count);
	policy->slots = image_at(bytes, IMAGE_SLOTS, &unused);
	policy->index = header->index;
	policy->start = header->start;
	policy->has_address_exceptions = header->has_address_exceptions;
	policy->has_only = header->has_only;
	policy->has_set_default = header->has_set_default;
	policy->set_default = (enum policy_action)header->set_default;
	policy->text = image_at(bytes, IMAGE_TEXT, &unused);
	image_attach_sources(policy, bytes);
}

int image_restore(struct policy *policy, struct err *why)
{
	size_t len;
	const struct command_line *lines =
		image_at(policy->image, IMAGE_COMMANDS, &policy->command_count);
	const char *words = image_at(policy->image, IMAGE_CONFIGURED, &len);

	policy->command_lines =
		mem_new_array(policy->command_count + 1, sizeof(*policy->command_lines));
	if (policy->command_count > 0)
		memcpy(policy->command_lines, lines, policy->command_count * sizeof(*lines));
	for (size_t at = 0; at < len; at += strlen(words + at) + 1)
		configured_line_restore(policy, words + at);
	command_line_finish(policy);
	return policy->problems.count > 0 ? err_set(why, -EBADMSG, "%s", policy->problems.text) : 0;
}

void image_detach(struct policy *policy)
{
	if (!policy->image)
		return;
	if (policy->image_len > 0)
		(void)munmap(policy->image, policy->image_len);
	image_forget_sources(policy);
	image_empty(policy);
	policy->image = NULL;
	policy->text = policy->names = NULL;
	policy->rules = NULL;
	policy->wides = NULL;
	policy->exceptions = NULL;
	policy->ports = NULL;
	policy->clauses = NULL;
	policy->settings = NULL;
	policy->slots = NULL;
}

/* Maps the sealed image for @policy to read. */
static int image_map(struct policy *policy, int fd, size_t len, struct err *why)
{
	/* Private: older kernels refuse a shared mapping of a sealed file, even for reading. */
	void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);

	if (bytes == MAP_FAILED)
		return err_errno(why, errno, "cannot map the policy image");
	int r = image_check(bytes, len, false, why);

	if (r < 0) {
		(void)munmap(bytes, len);
		return r;
	}
	image_attach(policy, bytes);
	policy->image_len = len;
	return 0;
}

static int image_write(struct policy *policy, int fd, struct image_header *header, struct err *why)
{
	if (ftruncate(fd, (off_t)header->len) < 0)
		return err_errno(why, errno, "out of memory for the policy image");
	char *out = mmap(NULL, header->len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (out == MAP_FAILED)
		return err_errno(why, errno, "cannot map the policy image");
	image_fill(policy, header, out);
	image_empty(policy);
	(void)munmap(out, header->len); /* or it could not be sealed */
	if (fcntl(fd, F_ADD_SEALS, IMAGE_SEALS) < 0)
		return err_errno(why, errno, "cannot seal the policy image");
	return image_map(policy, fd, header->len, why);
}

int policy_image_make(struct policy *policy, struct err *why)
{
	struct image_header header;

	if (policy->problems.count > 0 || !index_is_whole(policy) || policy->image)
		return err_set(why, -EINVAL,
			       "the policy is not finished, or it already is an image");
	auto_close int fd = memfd_create("sallyport-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0)
		return err_errno(why, errno, "out of memory for the policy image");
	image_plan(policy, &header);
	int r = image_write(policy, fd, &header, why);

	return r < 0 ? r : fd_take(&fd);
}

int policy_image_open(int fd, struct policy **ret, struct err *why)
{
	int seals = fcntl(fd, F_GET_SEALS);
	off_t len;

	if (seals < 0 || (seals & IMAGE_SEALS) != IMAGE_SEALS)
		return err_set(why, -EPERM, "the policy image is not sealed");
	/* Not fstat(2): the C library implements it by newfstatat(2), which the worker's filter
	 * refuses. */
	len = lseek(fd, 0, SEEK_END);
	if (len < 0)
		return err_errno(why, errno, "cannot read the size of the policy image");
	if (len < (off_t)sizeof(struct image_header))
		return err_set(why, -EBADMSG, "the policy image is too short");
	struct policy *policy = mem_new(sizeof(*policy));
	int r = image_map(policy, fd, (size_t)len, why);

	if (r == 0)
		r = image_restore(policy, why);
	if (r < 0)
		policy_free(policy);
	else
		*ret = policy;
	return r;
}
