#include "exec/init/init.h"
#include "exec/init/sys.h"
#include "exec/stages/stages.h"

#define LINE_MAX_BYTES 48

static char *put_number(char *at, uint32_t number)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while ((number /= 10) > 0);
	while (n > 0)
		*at++ = digits[--n];
	return at;
}

static int write_file(const char *path, const char *text, size_t len)
{
	long fd = sys(openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return (int)fd;
	long n = sys(write, fd, text, len);

	(void)sys(close, fd); /* the result of write() decides */
	return n < 0 ? (int)n : 0;
}

/* "ID ID 1" */
static int write_map(struct init *init, const char *path, uint32_t id)
{
	char line[LINE_MAX_BYTES];
	char *at = put_number(line, id);

	*at++ = ' ';
	at = put_number(at, id);
	*at++ = ' ';
	*at++ = '1';
	init->detail = path;
	return write_file(path, line, (size_t)(at - line));
}

int ids_map(struct init *init)
{
	const struct wire_plan *head = init->plan.head;
	int r = write_map(init, "/proc/self/uid_map", head->uid);

	/* Without this a process in a group that a file denies could leave the group and read it:
	 * user_namespaces(7). The kernel requires it of a process without CAP_SETGID outside. */
	if (r == 0) {
		init->detail = "/proc/self/setgroups";
		r = write_file(init->detail, "deny", 4);
	}
	if (r == 0)
		r = write_map(init, "/proc/self/gid_map", head->gid);
	if (r == 0)
		init->detail = "";
	return r;
}
