/* seccomp_gen: prints a filter as a C header. It runs at build time, so that no program links
 * libseccomp or compiles rules when it starts. libseccomp makes the dispatch (ABI check, a binary
 * tree over the call numbers). libseccomp cannot express "equals none of these"; unrolled into
 * masks, that makes the filter and the time to load it three times as large. So calls with argument
 * rules jump to small blocks of ours behind the program of libseccomp: a RET that marks the call
 * becomes a jump to its block. `told` is the command's filter with notifications (see
 * seccomp_calls.h), `numbers` are the numbers of the calls of both tables. ARCH is the machine that
 * the filter is for, as libseccomp names it: it need not be this one. usage: seccomp_gen
 * command|worker|told|numbers plain|sanitize ARCH > HEADER */
#include "seccomp/filter.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_WORD 0
#else
#define LOW_WORD 4
#endif

struct program {
	struct sock_filter code[BPF_MAXINSNS];
	size_t count;
};

static void emit(struct program *program, uint16_t code, uint8_t yes, uint8_t no, uint32_t k)
{
	if (program->count == BPF_MAXINSNS) {
		fprintf(stderr, "seccomp_gen: the filter is too long\n");
		exit(EXIT_FAILURE);
	}
	program->code[program->count++] = (struct sock_filter){ code, yes, no, k };
}

static uint32_t return_of(int error)
{
	return error == 0 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | (uint32_t)error;
}

static uint32_t answer_of(const struct filter *filter, const struct filter_rule *rule)
{
	if (rule->told == SECCOMP_TOLD_NOTHING ||
	    (!filter->tells && rule->told != SECCOMP_TOLD_ADDRESS))
		return return_of(rule->error);
	return SECCOMP_RET_USER_NOTIF | (uint32_t)rule->told << SECCOMP_TOLD_SHIFT |
	       (uint32_t)rule->error;
}

/* Number of instructions of one argument's test, its load included. */
static size_t arg_size(const struct filter_arg *arg)
{
	switch (arg->test) {
	case FILTER_IN:
		return arg->count + 2;
	case FILTER_NOT_IN:
		return arg->count + 1;
	case FILTER_HAS:
	case FILTER_LACKS:
		return 2;
	case FILTER_ANY:
		break;
	}
	return 0;
}

/* Continues when the argument matches; otherwise skips the @next instructions that follow this
 * test. */
static void emit_arg(struct program *program, const struct filter_arg *arg, size_t next)
{
	uint32_t offset = offsetof(struct seccomp_data, args) + arg->index * 8 + LOW_WORD;

	emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, offset);
	for (size_t i = 0; i < arg->count && arg->test == FILTER_IN; i++)
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(arg->count - i), 0,
		     arg->values[i]);
	if (arg->test == FILTER_IN)
		emit(program, BPF_JMP | BPF_JA, 0, 0, (uint32_t)next);
	for (size_t i = 0; i < arg->count && arg->test == FILTER_NOT_IN; i++)
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint8_t)(next + arg->count - 1 - i), 0,
		     arg->values[i]);
	if (arg->test == FILTER_HAS)
		emit(program, BPF_JMP | BPF_JSET | BPF_K, 0, (uint8_t)next, arg->values[0]);
	if (arg->test == FILTER_LACKS)
		emit(program, BPF_JMP | BPF_JSET | BPF_K, (uint8_t)next, 0, arg->values[0]);
}

static void emit_rule(struct program *program, const struct filter *filter,
		      const struct filter_rule *rule)
{
	size_t rest = 1; /* the RET instruction */

	for (size_t i = 0; i < FILTER_ARGS_MAX; i++)
		rest += arg_size(&rule->args[i]);
	for (size_t i = 0; i < FILTER_ARGS_MAX && rule->args[i].test != FILTER_ANY; i++) {
		rest -= arg_size(&rule->args[i]);
		emit_arg(program, &rule->args[i], rest);
	}
	emit(program, BPF_RET | BPF_K, 0, 0, answer_of(filter, rule));
}

static bool is_left_out(const struct filter_rule *rule, bool is_sanitized)
{
	return rule->sanitize_only && !is_sanitized;
}

/* A call is marked by the index of its first rule; so no table may use SECCOMP_RET_TRACE itself. */
static uint32_t mark_of(size_t index)
{
	return SECCOMP_RET_TRACE | (uint32_t)index;
}

static int number_of(const struct filter_rule *rule, uint32_t arch)
{
	int call = seccomp_syscall_resolve_name_arch(arch, rule->name);

	return call == __NR_SCMP_ERROR && rule->number != 0 ? rule->number : call;
}

static bool is_unknown(const struct filter_rule *rule, uint32_t arch)
{
	return arch != seccomp_arch_native() && rule->number != 0 &&
	       seccomp_syscall_resolve_name_arch(arch, rule->name) == __NR_SCMP_ERROR;
}

static int add_dispatch(scmp_filter_ctx dispatch, const struct filter *filter, size_t index)
{
	const struct filter_rule *rule = &filter->rules[index];
	/* libseccomp takes this machine's number, and translates it. */
	int call = number_of(rule, SCMP_ARCH_NATIVE);
	uint32_t action = return_of(rule->error);

	if (index > 0 && strcmp(rule->name, filter->rules[index - 1].name) == 0)
		return 0; /* the block of the first rule has it */
	if (rule->args[0].test != FILTER_ANY || answer_of(filter, rule) != action)
		action = mark_of(index);
	/* A misspelt name must not open a hole. (A call that this machine lacks has a pseudo
	 * number.) */
	int r = call == __NR_SCMP_ERROR ? -ENOSYS : seccomp_rule_add(dispatch, action, call, 0);
	if (r < 0)
		fprintf(stderr, "seccomp_gen: %s: %s\n", rule->name, strerror(-r));
	return r;
}

static int build_dispatch(scmp_filter_ctx dispatch, const struct filter *filter, bool is_sanitized,
			  uint32_t arch)
{
	/* Other ABIs have other numbers for the same calls (x32: the same with a bit set). */
	int r = seccomp_attr_set(dispatch, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (r == 0 && arch != seccomp_arch_native()) {
		r = seccomp_arch_remove(dispatch, SCMP_ARCH_NATIVE);
		if (r == 0)
			r = seccomp_arch_add(dispatch, arch);
	}
	if (r == 0) /* a binary tree over the numbers instead of a list */
		r = seccomp_attr_set(dispatch, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	for (size_t i = 0; i < filter->count && r == 0; i++) {
		if (!is_left_out(&filter->rules[i], is_sanitized) &&
		    !is_unknown(&filter->rules[i], arch))
			r = add_dispatch(dispatch, filter, i);
	}
	return r;
}

static int export_program(scmp_filter_ctx dispatch, struct program *program)
{
	FILE *file = tmpfile();

	if (file == NULL)
		return -errno;
	int r = seccomp_export_bpf(dispatch, fileno(file));
	rewind(file);
	size_t count = fread(program->code + program->count, sizeof(program->code[0]),
			     BPF_MAXINSNS - program->count, file);
	fclose(file);
	program->count += count;
	return r == 0 && count == 0 ? -EIO : r;
}

/* libseccomp cannot translate the number of a call that it does not know. Since Linux 5.0 a new
 * call has the same number on every machine, so these calls are answered before its dispatch. */
static void emit_unknown(struct program *program, const struct filter *filter, uint32_t arch)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];

		if (!is_unknown(rule, arch))
			continue;
		emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, arch));
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, arch);
		emit(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (uint32_t)rule->number);
		emit(program, BPF_RET | BPF_K, 0, 0, answer_of(filter, rule));
	}
}

/* Turns each mark into a jump to the block of its call. */
static int link_blocks(struct program *program, const struct filter *filter)
{
	size_t dispatch_count = program->count;

	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];
		size_t block = program->count, marks = 0;

		for (size_t at = 0; at < dispatch_count; at++) {
			struct sock_filter *code = &program->code[at];
			if (code->code != (BPF_RET | BPF_K) || code->k != mark_of(i))
				continue;
			*code = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JA,
							     (uint32_t)(block - at - 1), 0, 0);
			marks++;
		}
		if (marks == 0)
			continue;
		for (size_t same = i; same < filter->count; same++) {
			if (strcmp(filter->rules[same].name, rule->name) != 0)
				break;
			emit_rule(program, filter, &filter->rules[same]);
		}
		emit(program, BPF_RET | BPF_K, 0, 0, return_of(filter->default_error));
	}
	for (size_t at = 0; at < program->count; at++) {
		const struct sock_filter *code = &program->code[at];
		if (code->code == (BPF_RET | BPF_K) &&
		    (code->k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_TRACE)
			return -EINVAL;
	}
	return 0;
}

static int print_header(const struct program *program, const char *name)
{
	printf("/* Generated by seccomp_gen from seccomp/filter_%s.c. */\n#pragma once\n\n"
	       "#include <linux/filter.h>\n\nstatic const struct sock_filter seccomp_%s[] = {\n",
	       name, name);
	for (size_t i = 0; i < program->count; i++)
		printf("\t{ 0x%02x, %u, %u, 0x%08x },\n", program->code[i].code,
		       program->code[i].jt, program->code[i].jf, program->code[i].k);
	printf("};\nenum { seccomp_%s_len = %zu };\n", name, program->count);
	return fflush(stdout) == 0 ? 0 : -EIO;
}

static int generate(const struct filter *filter, bool is_sanitized, uint32_t arch)
{
	struct program program = { 0 };
	scmp_filter_ctx dispatch = seccomp_init(return_of(filter->default_error));

	if (dispatch == NULL)
		return -ENOMEM;
	int r = build_dispatch(dispatch, filter, is_sanitized, arch);
	emit_unknown(&program, filter, arch);
	if (r == 0)
		r = export_program(dispatch, &program);
	if (r == 0)
		r = link_blocks(&program, filter);
	if (r == 0)
		r = print_header(&program, filter->name);
	seccomp_release(dispatch);
	return r;
}

/* Puts the rules of one call next to each other and keeps their order: link_blocks() needs that. */
static void gather(struct filter_rule *rules, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		size_t at = i;

		for (size_t j = 0; j < i; j++)
			if (strcmp(rules[j].name, rules[i].name) == 0)
				at = j + 1;
		struct filter_rule moved = rules[i];

		memmove(rules + at + 1, rules + at, (i - at) * sizeof(*rules));
		rules[at] = moved;
	}
}

/* The denials come first: a call that both tables name stays denied. */
static int generate_told(bool is_sanitized, uint32_t arch)
{
	size_t count = filter_command.count + filter_told.count;
	struct filter_rule *rules = calloc(count, sizeof(*rules));

	if (rules == NULL)
		return -ENOMEM;
	memcpy(rules, filter_command.rules, filter_command.count * sizeof(*rules));
	memcpy(rules + filter_command.count, filter_told.rules, filter_told.count * sizeof(*rules));
	gather(rules, count);

	const struct filter both = {
		.name = filter_told.name, .rules = rules, .count = count, .tells = 1
	};
	int r = generate(&both, is_sanitized, arch);
	free(rules);
	return r;
}

static int print_numbers(const struct filter *filter, uint32_t arch)
{
	printf("static const int seccomp_numbers_%s[] = {\n", filter->name);
	for (size_t i = 0; i < filter->count; i++) {
		int call = number_of(&filter->rules[i], arch);

		if (call == __NR_SCMP_ERROR)
			return -ENOSYS;
		printf("\t%d, /* %s */\n", call, filter->rules[i].name);
	}
	printf("};\n");
	return fflush(stdout) == 0 ? 0 : -EIO;
}

static int generate_numbers(uint32_t arch)
{
	printf("/* Generated by seccomp_gen. */\n#pragma once\n\n");
	int r = print_numbers(&filter_command, arch);
	return r == 0 ? print_numbers(&filter_told, arch) : r;
}

int main(int argc, char **argv)
{
	bool is_sanitized = argc == 4 && strcmp(argv[2], "sanitize") == 0;
	uint32_t arch = argc == 4 ? seccomp_arch_resolve_name(argv[3]) : 0;
	int r = -EINVAL;

	if (arch == 0)
		fprintf(stderr,
			"usage: seccomp_gen command|worker|told|numbers plain|sanitize ARCH\n");
	else if (strcmp(argv[1], filter_command.name) == 0)
		r = generate(&filter_command, is_sanitized, arch);
	else if (strcmp(argv[1], filter_worker.name) == 0)
		r = generate(&filter_worker, is_sanitized, arch);
	else if (strcmp(argv[1], filter_told.name) == 0)
		r = generate_told(is_sanitized, arch);
	else if (strcmp(argv[1], "numbers") == 0)
		r = generate_numbers(arch);
	if (r < 0)
		fprintf(stderr, "seccomp_gen: %s\n", strerror(-r));
	return r == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
