#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "policies/files/files_impl.h"
#include "policies/hosts/presets_impl.h"
#include "policies/language/reader_impl.h"

/* O_NONBLOCK: a FIFO must be refused, not waited for. */
#define LOAD_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

#define LOAD_PROJECT_MAX ((size_t)4 << 20) /* bytes of one file of a project */
#define LOAD_PRESETS_MAX 64                /* names among which the nearest is searched */

/* One file that was opened and checked, before it becomes a source. */
struct load_file {
	const char *name; /* visible; borrowed */
	const char
		*asked; /* the path by which it was found, absolute if the caller's is; borrowed */
	int fd;
	enum policy_layer layer;
	struct stat status;
};

static int load_problem(struct policy *policy, const struct spot *spot, int code, const char *words)
{
	problems_add(&policy->problems, spot, NULL, "%s", words);
	return code;
}

/* RULE_NONE: it was not read yet. */
static uint32_t load_seen(const struct policy *policy, const struct stat *status)
{
	for (size_t i = 0; i < policy->source_count; i++) {
		const struct source *source = &policy->sources[i];

		if (source->inode == status->st_ino && source->device == status->st_dev &&
		    source->inode)
			return (uint32_t)i;
	}
	return RULE_NONE;
}

/* The absolute path of @fd, or "". */
static const char *load_path(int fd, char out[PATH_MAX])
{
	auto_free char *link = mem_printf("/proc/self/fd/%d", fd);
	ssize_t len = readlink(link, out, PATH_MAX - 1);

	out[len > 0 ? len : 0] = '\0';
	return out;
}

/* Asks by the bytes that were read: the file may have changed since. */
static int load_trust(const struct policy *policy, int fd, const char *text, size_t len)
{
	char path[PATH_MAX];

	if (!policy->trust || load_path(fd, path)[0] != '/')
		return POLICY_UNTRUSTED;
	return policy->trust(path, text, len, policy->trust_arg);
}

uint32_t load_add_source(struct policy *policy, const char *name, char *text, size_t len,
			 const struct stat *status, enum policy_layer layer)
{
	policy->sources = mem_reserve(policy->sources, &policy->source_room,
				      policy->source_count + 1, sizeof(*policy->sources));
	policy->sources[policy->source_count] = (struct source){
		.name = mem_strdup(name),
		.text = text,
		.len = len,
		.device = status->st_dev,
		.inode = status->st_ino,
		.is_open = true,
		.layer = (uint8_t)layer,
	};
	policy->total_bytes += len;
	return (uint32_t)policy->source_count++;
}

static void load_read(struct policy *policy, uint32_t source, int folder, const char *folder_name,
		      unsigned int depth)
{
	struct reader reader = {
		.policy = policy,
		.source = source,
		.folder = folder,
		.folder_name = folder_name,
		.depth = depth,
	};

	reader_run(&reader);
	policy->sources[source].is_open = false;
}

/* Its rules are loaded: reading it a second time can only raise its layer. */
static void load_raise(struct policy *policy, uint32_t source, enum policy_layer layer)
{
	if (policy->sources[source].layer < layer)
		policy->sources[source].layer = (uint8_t)layer;
	for (size_t i = 0; i < policy->source_count; i++) {
		if (policy->sources[i].parent == source + 1 && policy->sources[i].layer < layer)
			policy->sources[i].layer = (uint8_t)layer;
	}
}

/* A project's files may come from a clone; all others were written for this machine. */
static bool load_is_foreign(enum policy_layer layer)
{
	return layer == POLICY_PROJECT || layer == POLICY_TRUSTED;
}

static size_t load_most(enum policy_layer layer)
{
	return load_is_foreign(layer) ? LOAD_PROJECT_MAX : POLICY_MAX_BYTES;
}

static const char *load_too_large(enum policy_layer layer)
{
	return load_is_foreign(layer)
		       ? "the file is larger than 4 MiB, the limit for a project's file"
		       : "the file is larger than 256 MiB";
}

/* Checks @file and makes it a source; *@ret_source is RULE_NONE when it has been read before.
 * @spot: the position of the include. */
static int load_take(struct policy *policy, const struct spot *spot, struct load_file *file,
		     int folder, uint32_t *ret_source)
{
	struct err why = { 0 };
	auto_free char *text = NULL;
	size_t len;
	int r = files_check_file(file->fd, &file->status, &why);

	if (r == 0)
		r = files_check_folder(folder, &why);
	if (r < 0)
		return load_problem(policy, spot, r, why.text);
	uint32_t seen = load_seen(policy, &file->status);

	*ret_source = RULE_NONE;
	if (seen != RULE_NONE && policy->sources[seen].is_open)
		return load_problem(policy, spot, -ELOOP,
				    "the include is circular: it leads back to this file");
	if (seen != RULE_NONE) {
		load_raise(policy, seen, file->layer);
		return 0;
	}
	if (policy->source_count == POLICY_SOURCES_MAX)
		return load_problem(policy, spot, -EMFILE, "the policy has more than 256 files");
	r = fd_read_all(file->fd, load_most(file->layer), &text, &len, &why);
	if (r < 0)
		return load_problem(policy, spot, r,
				    r == -E2BIG ? load_too_large(file->layer) : why.text);
	if (len > POLICY_TOTAL_MAX - policy->total_bytes)
		return load_problem(policy, spot, -E2BIG,
				    "the policy files are larger than 1 GiB together");
	int trust = file->layer == POLICY_PROJECT ? load_trust(policy, file->fd, text, len)
						  : POLICY_UNTRUSTED;
	enum policy_layer layer = trust == POLICY_TRUSTED_NOW ? POLICY_TRUSTED : file->layer;
	char path[PATH_MAX];

	if (policy->witness)
		policy->witness(load_path(file->fd, path), file->asked, layer, text, len,
				policy->witness_arg);
	*ret_source = load_add_source(policy, file->name, take(text), len, &file->status, layer);
	policy->sources[*ret_source].is_changed = trust == POLICY_CHANGED;
	return 0;
}

void policy_set_witness(struct policy *policy, policy_witness_fn witness, void *arg)
{
	policy->witness = witness;
	policy->witness_arg = arg;
}

int policy_load(struct policy *policy, const char *path)
{
	return policy_load_layer(policy, path, POLICY_COMMAND_LINE);
}

int policy_load_layer(struct policy *policy, const char *path, enum policy_layer layer)
{
	auto_free char *shown = text_visible_dup(path);
	struct spot spot = { .file = shown };
	struct err why = { 0 };
	const char *name;
	uint32_t source;
	size_t problems_before = policy->problems.count;

	if (policy->image)
		return load_problem(policy, &spot, -EROFS, "the policy is already an image");
	auto_close int folder = files_open_folder(path, &name, &why);

	if (folder < 0)
		return load_problem(policy, &spot, folder, why.text);
	auto_close int fd = files_open_below(folder, name[0] ? name : ".", LOAD_FLAGS, &why);

	if (fd < 0)
		return load_problem(policy, &spot, fd, why.text);
	struct load_file file = { .name = shown, .asked = path, .fd = fd, .layer = layer };
	int r = load_take(policy, &spot, &file, folder, &source);

	if (r < 0)
		return r;
	const char *slash = strrchr(shown, '/');
	auto_free char *folder_name =
		slash ? mem_strndup(shown, (size_t)(slash - shown) + 1) : mem_strdup("");

	if (source != RULE_NONE)
		load_read(policy, source, folder, folder_name, 0);
	return policy->problems.count > problems_before ? -EINVAL : 0;
}

int policy_load_text(struct policy *policy, const char *name, const char *text)
{
	return policy_load_text_layer(policy, name, text, POLICY_COMMAND_LINE);
}

int policy_load_text_layer(struct policy *policy, const char *name, const char *text,
			   enum policy_layer layer)
{
	static const struct stat nowhere;
	auto_free char *shown = text_visible_dup(name);
	struct spot spot = { .file = shown };
	size_t problems_before = policy->problems.count;
	size_t len = strlen(text);

	if (policy->image)
		return load_problem(policy, &spot, -EROFS, "the policy is already an image");
	if (len > POLICY_MAX_BYTES || len > POLICY_TOTAL_MAX - policy->total_bytes)
		return load_problem(policy, &spot, -E2BIG, "the file is larger than 256 MiB");
	if (policy->source_count == POLICY_SOURCES_MAX)
		return load_problem(policy, &spot, -EMFILE, "the policy has more than 256 files");
	uint32_t source = load_add_source(policy, shown, mem_strdup(text), len, &nowhere, layer);

	load_read(policy, source, -1, "", 0);
	return policy->problems.count > problems_before ? -EINVAL : 0;
}

/* Is there a `..` between the slashes? */
static bool load_climbs(const char *name)
{
	for (const char *at = name; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
		if (strcmp(at, "..") == 0 || strncmp(at, "../", 3) == 0)
			return true;
	}
	return false;
}

static const char *load_include_refused(const struct reader *reader, const char *name)
{
	if (name[0] == '\0')
		return "the include names no file";
	if (reader->folder < 0)
		return "only a file can have an include";
	if (name[0] == '/')
		return "the path is absolute; an include is relative to the file that contains it";
	if (load_climbs(name))
		return "the include leads outside of the folder of this file";
	if (reader->depth >= READER_DEPTH_MAX)
		return "includes are nested more than 8 deep";
	return NULL;
}

/* Opens the folder of the include, below the folder of the including file. */
static int load_include_folder(const struct reader *reader, const char *name,
			       char **ret_folder_name, struct err *why)
{
	const char *slash = strrchr(name, '/');
	auto_free char *part =
		slash ? mem_strndup(name, (size_t)(slash - name) + 1) : mem_strdup("");
	auto_free char *shown = text_visible_dup(part);
	int fd =
		files_open_below(reader->folder, part[0] ? part : ".", O_RDONLY | O_DIRECTORY, why);

	*ret_folder_name = mem_printf("%s%s", reader->folder_name, shown);
	return fd;
}

void load_include(struct line *line, const char *name, const struct word *word)
{
	const struct reader *reader = line->reader;
	struct policy *policy = reader->policy;
	struct spot spot = reader_spot(line, word->at);
	/* The source array may move during the include; its names do not. */
	const char *refused = load_include_refused(reader, name);
	auto_free char *folder_name = NULL;
	struct err why = { 0 };
	uint32_t source;

	if (refused) {
		problems_add(&policy->problems, &spot, "include \"team.policy\"", "%s", refused);
		return;
	}
	auto_close int folder = load_include_folder(reader, name, &folder_name, &why);
	auto_close int fd =
		folder < 0 ? folder : files_open_below(reader->folder, name, LOAD_FLAGS, &why);

	if (fd < 0) {
		(void)load_problem(policy, &spot, fd, why.text);
		return;
	}
	const char *slash = strrchr(name, '/');
	auto_free char *base = text_visible_dup(slash ? slash + 1 : name);
	auto_free char *shown = mem_printf("%s%s", folder_name, base);
	char place[PATH_MAX];
	auto_free char *asked = mem_printf("%s/%s", load_path(reader->folder, place), name);
	/* A file included from a trusted project file must be trusted itself. */
	enum policy_layer layer = (enum policy_layer)policy->sources[reader->source].layer;
	struct load_file file = { .name = shown,
				  .asked = asked,
				  .fd = fd,
				  .layer = layer == POLICY_TRUSTED ? POLICY_PROJECT : layer };

	if (load_take(policy, &spot, &file, folder, &source) == 0 && source != RULE_NONE)
		load_read(policy, source, folder, folder_name, reader->depth + 1);
}

/* RULE_NONE: not included yet. */
static uint32_t load_seen_preset(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->source_count; i++) {
		if (policy->sources[i].is_preset && strcmp(policy->sources[i].name, name) == 0)
			return (uint32_t)i;
	}
	return RULE_NONE;
}

static void load_no_preset(struct policy *policy, const struct spot *spot, const struct word *word)
{
	const char *names[LOAD_PRESETS_MAX];
	size_t count = 0;

	while (count < LOAD_PRESETS_MAX && policy_preset_name(count)) {
		names[count] = policy_preset_name(count);
		count++;
	}
	const char *nearest = words_nearest(word, names, count);
	auto_free char *instead =
		nearest ? mem_printf("include preset %s", nearest)
			: mem_strdup("a name that `sallyport policy list --presets` prints");

	problems_add(&policy->problems, spot, instead, "there is no preset \"%.*s\"",
		     (int)(word->len < 40 ? word->len : 40), word->text);
}

void load_preset(struct line *line, const struct word *word)
{
	static const struct stat nowhere;
	struct policy *policy = line->reader->policy;
	struct spot spot = reader_spot(line, word->at);
	const char *text = word->is_quoted ? NULL : presets_find(word->text, word->len);
	enum policy_layer layer = (enum policy_layer)policy->sources[line->reader->source].layer;

	if (!text) {
		load_no_preset(policy, &spot, word);
		return;
	}
	auto_free char *name = mem_printf("preset %.*s", (int)word->len, word->text);
	uint32_t source = load_seen_preset(policy, name);

	if (source != RULE_NONE) {
		load_raise(policy, source, layer);
		return;
	}
	if (policy->source_count == POLICY_SOURCES_MAX) {
		(void)load_problem(policy, &spot, -EMFILE, "the policy has more than 256 files");
		return;
	}
	source = load_add_source(policy, name, mem_strdup(text), strlen(text), &nowhere, layer);
	policy->sources[source].is_preset = true;
	load_read(policy, source, -1, "", line->reader->depth + 1);
}
