/* What a worker has written into its ring, read after its run was killed: only whole records of one
 * line come of it, or none. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "gateway/audit/record.h"
#include "gateway/link/left.h"
#include "gateway/link/ring.h"

#define HEAD_BYTES 4096
#define MAGIC      0x316772796c6c6173ULL

static int on_record(const struct sink_record *record, void *arg)
{
	static char members[65536];
	size_t *count = arg;
	ssize_t len = record_members(record, members, sizeof(members));

	fuzz_must(len > 0 && record->run && !strcmp(record->run, "run"));
	fuzz_must(record->event == SINK_DECISION || record->event == SINK_CLOSED);
	for (ssize_t i = 0; i < len; i++)
		fuzz_must(members[i] >= ' ' && members[i] <= '~');
	++*count;
	return 0;
}

/* The first two bytes say where in the ring it begins. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char dir[] = "/tmp/fuzz-ring-XXXXXX";
	static bool is_made;
	static uint8_t file[HEAD_BYTES + RING_BYTES];
	uint64_t heads[4] = { MAGIC, 1, 0, 0 };
	size_t count = 0;

	if (size < 2 || size - 2 > RING_BYTES)
		return 0;
	if (!is_made)
		fuzz_must(mkdtemp(dir));
	is_made = true;
	memset(file, 0, sizeof(file));
	heads[2] = RING_BYTES - (size_t)(data[0] | data[1] << 8);
	heads[3] = heads[2] + (size - 2);
	memcpy(file, heads, sizeof(heads));
	for (size_t i = 0; i < size - 2; i++)
		file[HEAD_BYTES + (heads[2] + i) % RING_BYTES] = data[2 + i];
	auto_free char *path = mem_printf("%s/ring.run.1.1", dir);
	auto_free char *segment = mem_printf("%s/key.run.1.0", dir);
	FILE *out = fopen(path, "w");

	fuzz_must(out && fwrite(file, sizeof(file), 1, out) == 1 && fclose(out) == 0);
	struct left *left;

	fuzz_must(left_open(segment, "run", &left, NULL) == 0);
	fuzz_must(left_each(left, on_record, &count) == 0);
	fuzz_must(count <= size / 16);
	left_remove(left);
	left_free(left);
	fuzz_must(access(path, F_OK) < 0); /* it is not read twice */
	fuzz_must(rmdir(dir) == 0);
	is_made = false;
	memcpy(dir + sizeof(dir) - 7, "XXXXXX", 6);
	return 0;
}
