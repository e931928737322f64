#include "seccomp/seccomp_calls.h"

#include <errno.h>
#include <stdbool.h>

#include "seccomp/filter.h"
#include "seccomp_numbers.h"

static bool is_one_of(const struct filter_arg *arg, uint32_t value)
{
	for (size_t i = 0; i < arg->count; i++)
		if (arg->values[i] == value)
			return true;
	return false;
}

/* Compares as the filter does: the low 32 bits only. */
static bool holds(const struct filter_arg *arg, const uint64_t args[6])
{
	uint32_t value = (uint32_t)args[arg->index];

	switch (arg->test) {
	case FILTER_IN:
		return is_one_of(arg, value);
	case FILTER_NOT_IN:
		return !is_one_of(arg, value);
	case FILTER_HAS:
		return (value & arg->values[0]) != 0;
	case FILTER_LACKS:
		return (value & arg->values[0]) == 0;
	case FILTER_ANY:
		break;
	}
	return true;
}

static bool find(const struct filter *filter, const int *numbers, int number,
		 const uint64_t args[6], struct seccomp_call *ret)
{
	for (size_t i = 0; i < filter->count; i++) {
		const struct filter_rule *rule = &filter->rules[i];
		bool matches = numbers[i] == number && rule->told != SECCOMP_TOLD_NOTHING;

		for (size_t j = 0; j < FILTER_ARGS_MAX && matches; j++)
			matches = holds(&rule->args[j], args);
		if (!matches)
			continue;
		*ret = (struct seccomp_call){ rule->name, rule->told, rule->error };
		return true;
	}
	return false;
}

void seccomp_look_up(int number, const uint64_t args[6], struct seccomp_call *ret)
{
	if (!find(&filter_command, seccomp_numbers_command, number, args, ret) &&
	    !find(&filter_told, seccomp_numbers_told, number, args, ret))
		*ret = (struct seccomp_call){ "", SECCOMP_TOLD_DENIAL, ENOSYS };
}
