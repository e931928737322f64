#include "exec/probe/probe.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

#include "exec/init/sys.h"
#include "exec/probe/probe_impl.h"

/* It runs in the command's own process, after the last restriction and before the program, so that
 * what it is refused the command is refused, too. docs/decisions/0034 says what each part
 * proves. */

static const probe_fn functions[EXEC_WAYS] = {
#define WAY(id, name, function, what) [EXEC_WAY_##id] = (function),
#include "exec/probe/ways.def"
#undef WAY
};

const char *probe_bait(const struct probe_setting *setting, char kind)
{
	for (char *const *bait = setting->baits; *bait; bait++)
		if ((*bait)[0] == kind)
			return *bait + 1;
	return NULL;
}

long probe_number(const char *digits)
{
	long number = 0;

	for (; *digits >= '0' && *digits <= '9'; digits++)
		number = number * 10 + (*digits - '0');
	return number;
}

static size_t put(char *out, size_t size, size_t at, const char *text)
{
	for (; *text && at + 1 < size; text++)
		out[at++] = *text;
	return at;
}

void probe_name(char *out, unsigned long size, const char *before, long number, const char *after)
{
	char digits[PROBE_NUMBER_MAX];
	size_t from = sizeof(digits) - 1, at;

	digits[from] = '\0';
	do
		digits[--from] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	at = put(out, size, 0, before);
	at = put(out, size, at, digits + from);
	at = put(out, size, at, after);
	out[at] = '\0';
}

long probe_close(long fd)
{
	if (fd >= 0)
		(void)sys(close, fd);
	return fd;
}

long probe_refused(long result, long error, long other)
{
	return result == error || result == other ? result : PROBE_OPEN;
}

static enum exec_try judge(long result)
{
	if (result <= PROBE_SKIP_FROM)
		return (enum exec_try)(PROBE_SKIP_FROM - result);
	if (result >= 0)
		return EXEC_TRY_OPEN;
	/* Then the sandbox has not refused it. */
	return result == -EMFILE || result == -ENFILE || result == -ENOMEM || result == -ENOBUFS
		       ? EXEC_TRY_UNCLEAR
		       : EXEC_TRY_REFUSED;
}

static int64_t now_us(void)
{
	struct timespec now = { 0 };

	(void)sys(clock_gettime, CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void probe_try(const struct probe_setting *setting, struct exec_probe *ret)
{
	int64_t began = now_us();

	for (int way = 0; way < EXEC_WAYS; way++)
		ret->ways[way] = (uint8_t)judge(functions[way](setting));
	ret->micros = (uint32_t)(now_us() - began);
}
