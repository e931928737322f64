#include "cli/gate/run_loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/process/aside.h"
#include "cli/run/run_sources.h"
#include "policies/policies_image.h"
#include "policies/policies_tools.h"

#define LIMIT_MS  120000 /* a million rules on a slow disk */
#define BYTES_MAX (16U << 20)

struct run_loader {
	struct aside *aside;
	run_loader_fn done;
	void *arg;
};

/* The arguments of the process, and its descriptor of the compiled form. */
struct loader_job {
	const struct run_sources *sources;
	int *image;
};

/* Makes the compiled form, for us and for the workers. */
static void loader_make_image(struct run_loaded *loaded, int *ret_image)
{
	struct err why = { 0 };

	if (!loaded->is_good) {
		loaded->failure = mem_strdup(policy_errors(loaded->policy));
		return;
	}
	*ret_image = policy_image_make(loaded->policy, &why);
	loaded->is_good = *ret_image >= 0;
	if (!loaded->is_good)
		loaded->failure =
			mem_printf("error: the policy cannot be handed on: %s\n", why.text);
}

/* In the process: plain structures, each followed by its texts. The pointers in them are not read
 * by the other end. */
static void loader_run(FILE *out, void *arg)
{
	struct loader_job *job = arg;
	struct run_loaded loaded;

	run_sources_read(&loaded, job->sources);
	loader_make_image(&loaded, job->image);
	(void)fwrite(&loaded, sizeof(loaded), 1, out); /* a memory stream, which is checked whole */
	(void)fprintf(out, "%s%c", loaded.failure ? loaded.failure : "", '\0');
	for (size_t i = 0; i < loaded.file_count; i++) {
		(void)fwrite(&loaded.files[i], sizeof(loaded.files[i]), 1, out);
		(void)fprintf(out, "%s%c%s%c", loaded.files[i].path, '\0', loaded.files[i].asked,
			      '\0');
	}
}

/* What is left of the answer; @bytes[@len] is NUL. */
struct reading {
	const char *bytes;
	size_t len;
};

static bool read_plain(struct reading *reading, void *ret, size_t len)
{
	if (reading->len < len)
		return false;
	memcpy(ret, reading->bytes, len);
	reading->bytes += len;
	reading->len -= len;
	return true;
}

/* Returned owned; "" at the end. */
static char *read_text(struct reading *reading)
{
	size_t len = strlen(reading->bytes);
	char *text = mem_strndup(reading->bytes, len);

	len += len < reading->len; /* the NUL */
	reading->bytes += len;
	reading->len -= len;
	return text;
}

static int loader_parse(struct run_loaded *loaded, const char *bytes, size_t len, int image,
			struct err *why)
{
	struct reading reading = { bytes, len };
	size_t count;

	if (!read_plain(&reading, loaded, sizeof(*loaded))) {
		*loaded = (struct run_loaded){ .image = image, .has_image = image >= 0 };
		return err_set(why, -EBADMSG, "%s", aside_words(-EPIPE));
	}
	count = loaded->file_count;
	loaded->policy = NULL;
	loaded->files = NULL;
	loaded->file_count = 0;
	loaded->failure = read_text(&reading);
	loaded->image = image;
	loaded->has_image = image >= 0;
	while (loaded->file_count < count) {
		struct run_file file;

		if (!read_plain(&reading, &file, sizeof(file)))
			return err_set(why, -EBADMSG, "%s", aside_words(-EPIPE));
		file.path = read_text(&reading);
		file.asked = read_text(&reading);
		loaded->files = mem_grow(loaded->files, loaded->file_count + 1, sizeof(file));
		loaded->files[loaded->file_count++] = file;
	}
	return loaded->is_good ? policy_image_open(image, &loaded->policy, why) : 0;
}

static void on_done(int result, const char *bytes, size_t len, void *arg)
{
	struct run_loader *loader = arg;
	struct run_loaded *loaded = mem_new(sizeof(*loaded));
	struct err why = { 0 };

	if (result < 0)
		err_write(&why, "%s", aside_words(result));
	else
		result = loader_parse(loaded, bytes, len, aside_take_fd(loader->aside), &why);
	if (result < 0) {
		run_sources_forget(loaded);
		free(take(loaded));
	}
	loader->done(loaded, why.text, loader->arg);
}

struct run_loader *run_loader_start(struct loop *loop, const struct run_sources *sources,
				    run_loader_fn done, void *arg)
{
	struct run_loader *loader = mem_new(sizeof(*loader));
	int image = -1;
	struct loader_job job = { sources, &image };
	const struct aside_config config = {
		.name = "sallyport-rules",
		.run = loader_run,
		.run_arg = &job,
		.run_fd = &image,
		.limit_ms = LIMIT_MS,
		.max_bytes = BYTES_MAX,
		.done = on_done,
		.arg = loader,
	};

	loader->done = done;
	loader->arg = arg;
	loader->aside = aside_start(loop, &config);
	return loader;
}

void run_loader_free(struct run_loader *loader)
{
	if (!loader)
		return;
	aside_free(loader->aside);
	free(loader);
}
