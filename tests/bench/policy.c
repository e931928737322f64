#include <inttypes.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "policies/policies.h"

/* usage: bench-policy RULES. What a policy of so many hosts costs, beside a plain hash table of the
 * same names. */

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

static double memory_mib(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;

	if (file) {
		(void)!fscanf(file, "%*u %lu", &pages);
		(void)fclose(file);
	}
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1024.0 * 1024.0);
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
	qsort(bench->times, LOOKUPS, sizeof(bench->times[0]), compare_times);
	*ret_median = bench->times[LOOKUPS / 2];
	*ret_late = bench->times[LOOKUPS / 100 * 99];
	(void)printf("%-16s p50 %5.0f ns   p99 %5.0f ns\n", what, *ret_median, *ret_late);
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

static char *make_text(struct bench *bench)
{
	size_t used = 13, room = bench->count * 40 + 64;
	char *text = mem_new(room);

	(void)snprintf(text, room, "default deny\n");
	for (size_t i = 0; i < bench->count; i++) {
		bench->names[i] = mem_printf("h%zu.d%zu.example.org", i, i % 997);
		used += (size_t)snprintf(text + used, room - used, "allow %s\n", bench->names[i]);
	}
	return text;
}

static int run(struct bench *bench)
{
	auto_free char *text = make_text(bench);
	struct hsearch_data table = { 0 };
	struct policy *policy = policy_new();
	double before = memory_mib(), median, late, floor_median, floor_late;
	uint64_t start = now_ns();

	if (policy_load_text(policy, "bench", text) < 0 || policy_finish(policy) < 0)
		return 1;
	double load_s = (double)(now_ns() - start) / 1e9, policy_mib = memory_mib() - before;

	before = memory_mib();
	start = now_ns();
	if (!hcreate_r(bench->count * 2, &table))
		return 1;
	for (size_t i = 0; i < bench->count; i++) {
		ENTRY *found;

		(void)hsearch_r((ENTRY){ .key = bench->names[i], .data = bench }, ENTER, &found,
				&table);
	}
	double table_s = (double)(now_ns() - start) / 1e9, table_mib = memory_mib() - before;

	(void)printf("%zu rules, %.1f MiB of text\n", bench->count,
		     (double)strlen(text) / (1 << 20));
	(void)printf("policy           load %.2f s, %.0f MiB (%.0f bytes a rule)\n", load_s,
		     policy_mib, policy_mib * (1 << 20) / (double)bench->count);
	(void)printf("hash table       fill %.2f s, %.0f MiB, without the names\n", table_s,
		     table_mib);
	time_policy(bench, policy); /* warm */
	time_policy(bench, policy);
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

	bench->count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	bench->random = 2463534242U;
	if (bench->count == 0 || bench->count > 5000000)
		return 2;
	bench->names = mem_new_array(bench->count, sizeof(*bench->names));
	int status = run(bench);

	for (size_t i = 0; i < bench->count; i++)
		free(bench->names[i]);
	free(bench->names);
	free(bench);
	return status;
}
