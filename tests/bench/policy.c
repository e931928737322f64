#include <inttypes.h>
#include <malloc.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "policies/policies_image.h"

/* usage: bench-policy RULES [FILE]. What a policy of so many hosts costs, beside a plain hash table
 * of the same names. FILE: where the names are left, one on a line, for other programs. */

#define LOOKUPS 1000000U

struct bench {
	size_t count;
	char **names;
	uint32_t random;
	uint32_t times[LOOKUPS]; /* ns */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static uint32_t below(struct bench *bench, uint32_t bound)
{
	bench->random ^= bench->random << 13;
	bench->random ^= bench->random >> 17;
	bench->random ^= bench->random << 5;
	return bench->random % bound;
}

/* "VmRSS:", or "VmHWM:", the most since memory_restart(). */
static double memory_mib(const char *what)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[128];
	double mib = 0;

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, what, strlen(what)) == 0)
			mib = strtod(line + strlen(what), NULL) / 1024;
	}
	if (file)
		(void)fclose(file);
	return mib;
}

static void memory_restart(void)
{
	FILE *file = fopen("/proc/self/clear_refs", "we");

	if (file) {
		(void)fputs("5", file);
		(void)fclose(file);
	}
}

static int compare_times(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return (a > b) - (a < b);
}

/* Every second name is one that no rule has. The facts are made beforehand: only the look-up is
 * timed. */
static void pick(struct bench *bench, struct policy_facts *ret)
{
	const char *name = bench->names[below(bench, (uint32_t)bench->count)];

	memset(ret, 0, sizeof(*ret));
	(void)snprintf(ret->dst.host, sizeof(ret->dst.host), "%s%s", below(bench, 2) ? "" : "x",
		       name);
	ret->dst.port = 443;
	ret->dst.protocol = ret->carries = POLICY_HTTPS;
}

static void report(struct bench *bench, const char *what, double *ret_median, double *ret_late)
{
	double sum = 0;

	for (size_t i = 0; i < LOOKUPS; i++)
		sum += bench->times[i];
	qsort(bench->times, LOOKUPS, sizeof(bench->times[0]), compare_times);
	*ret_median = bench->times[LOOKUPS / 2];
	*ret_late = bench->times[LOOKUPS / 100 * 99];
	(void)printf("%-16s mean %5.0f ns   p50 %5.0f ns   p99 %5.0f ns\n", what, sum / LOOKUPS,
		     *ret_median, *ret_late);
}

static void time_policy(struct bench *bench, const struct policy *policy)
{
	struct policy_verdict verdict;
	struct policy_facts facts;

	for (size_t i = 0; i < LOOKUPS; i++) {
		pick(bench, &facts);
		uint64_t start = now_ns();

		policy_decide(policy, &facts, &verdict);
		bench->times[i] = (uint32_t)(now_ns() - start);
	}
}

static void time_table(struct bench *bench, struct hsearch_data *table)
{
	struct policy_facts facts;

	for (size_t i = 0; i < LOOKUPS; i++) {
		ENTRY *found;

		pick(bench, &facts);
		uint64_t start = now_ns();

		(void)hsearch_r((ENTRY){ .key = facts.dst.host }, FIND, &found, table);
		bench->times[i] = (uint32_t)(now_ns() - start);
	}
}

static int make_file(struct bench *bench, const char *path, const char *names_path)
{
	FILE *file = fopen(path, "we"), *names = names_path ? fopen(names_path, "we") : NULL;

	if (!file || (names_path && !names))
		return -1;
	(void)fputs("default deny\n", file);
	for (size_t i = 0; i < bench->count; i++) {
		bench->names[i] = mem_printf("h%zu.d%zu.example.org", i, i % 997);
		(void)fprintf(file, "allow %s\n", bench->names[i]);
		if (names)
			(void)fprintf(names, "%s\n", bench->names[i]);
	}
	if (names && fclose(names) != 0)
		return -1;
	return fclose(file);
}

/* Loads the file and makes the image; returns it opened again, as a worker has it. */
static struct policy *load(struct bench *bench, const char *path)
{
	struct policy *policy = policy_new(), *opened = NULL;

	memory_restart();
	double before = memory_mib("VmRSS:");
	uint64_t start = now_ns();

	if (policy_load(policy, path) < 0 || policy_finish(policy) < 0) {
		(void)fputs(policy_errors(policy), stderr);
		return NULL;
	}
	double load_s = (double)(now_ns() - start) / 1e9;
	int fd = policy_image_make(policy, NULL);
	double whole_s = (double)(now_ns() - start) / 1e9, most = memory_mib("VmHWM:") - before;

	if (fd < 0)
		return NULL;
	double image = (double)lseek(fd, 0, SEEK_END) / (1 << 20);

	start = now_ns();
	if (policy_image_open(fd, &opened, NULL) < 0)
		return NULL;
	double open_s = (double)(now_ns() - start) / 1e9;

	(void)close(fd);
	policy_free(policy);
	(void)printf("policy           load %.2f s, with the image %.2f s, open %.3f s\n", load_s,
		     whole_s, open_s);
	(void)printf(
		"policy           image %.0f MiB (%.1f bytes a rule), most while loading %.0f MiB "
		"(%.2f images)\n",
		image, image * (1 << 20) / (double)bench->count, most, most / image);
	return opened;
}

static int fill(struct bench *bench, struct hsearch_data *table)
{
	double before = memory_mib("VmRSS:");
	uint64_t start = now_ns();

	if (!hcreate_r(bench->count * 2, table))
		return -1;
	for (size_t i = 0; i < bench->count; i++) {
		ENTRY *found;

		(void)hsearch_r((ENTRY){ .key = bench->names[i], .data = bench }, ENTER, &found,
				table);
	}
	(void)printf("hash table       fill %.2f s, %.0f MiB, without the names\n",
		     (double)(now_ns() - start) / 1e9, memory_mib("VmRSS:") - before);
	return 0;
}

static int run(struct bench *bench, const char *path, const char *names_path)
{
	struct hsearch_data table = { 0 };
	double median, late, floor_median, floor_late;

	if (make_file(bench, path, names_path) != 0)
		return 1;
	(void)printf("%zu rules\n", bench->count);
	struct policy *policy = load(bench, path);

	if (!policy || fill(bench, &table) < 0)
		return 1;
	time_policy(bench, policy); /* warm */
	size_t used = mallinfo2().uordblks;

	time_policy(bench, policy);
	(void)printf("policy_decide()  allocated %zu bytes in %u decisions\n",
		     mallinfo2().uordblks - used, LOOKUPS);
	report(bench, "policy_decide()", &median, &late);
	time_table(bench, &table);
	time_table(bench, &table);
	report(bench, "hash table", &floor_median, &floor_late);
	(void)printf("policy_decide() / hash table: p50 %.1f, p99 %.1f\n", median / floor_median,
		     late / floor_late);
	hdestroy_r(&table);
	policy_free(policy);
	return 0;
}

int main(int argc, char **argv)
{
	struct bench *bench = mem_new(sizeof(*bench));
	char path[] = "/tmp/bench-policy-XXXXXX";
	int fd = mkstemp(path);

	bench->count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	bench->random = 2463534242U;
	if (fd < 0 || bench->count == 0 || bench->count > 5000000)
		return 2;
	(void)close(fd);
	bench->names = mem_new_array(bench->count, sizeof(*bench->names));
	int status = run(bench, path, argc > 2 ? argv[2] : NULL);

	(void)unlink(path);
	for (size_t i = 0; i < bench->count; i++)
		free(bench->names[i]);
	free(bench->names);
	free(bench);
	return status;
}
