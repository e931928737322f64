#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "tests/fuzz/fuzz.h"

#define REPLAY_MAX_BYTES (1 << 20)

/* The copy has exactly the size of the input, so that a sanitizer sees a read one byte past it. */
static void replay_bytes(const char *text, size_t len)
{
	auto_free uint8_t *exact = mem_new(len > 0 ? len : 1);

	if (len > 0)
		memcpy(exact, text, len);
	LLVMFuzzerTestOneInput(exact, len);
}

static int replay_file(int folder, const char *name)
{
	auto_close int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	auto_free char *text = NULL;
	struct err why = { 0 };
	size_t len = 0;

	if (fd < 0) {
		fprintf(stderr, "%s: %s\n", name, strerror(errno));
		return -1;
	}
	if (fd_read_all(fd, REPLAY_MAX_BYTES, &text, &len, &why) < 0) {
		fprintf(stderr, "%s: %s\n", name, why.text);
		return -1;
	}
	/* Printed first: when the target ends the process, the last line names the input. */
	printf("%s\n", name);
	fflush(stdout);
	replay_bytes(text, len);
	return 0;
}

/* How many inputs ran; -1 when one could not be read. */
static int replay_folder(const char *path)
{
	DIR *folder = opendir(path);
	int count = 0;

	if (folder == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (entry->d_name[0] == '.')
			continue;
		if (replay_file(dirfd(folder), entry->d_name) < 0) {
			closedir(folder);
			return -1;
		}
		count++;
	}
	closedir(folder);
	return count;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	replay_bytes("", 0);

	int count = replay_folder(argv[1]);

	/* An empty corpus proves nothing. */
	if (count <= 0)
		return 1;
	printf("%d inputs\n", count);
	return 0;
}
