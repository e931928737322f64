#include "exec/notify/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "exec/notify/program_file.h"
#include "seccomp/seccomp_calls.h"

#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000
#endif

#define POINTERS_AT 64 /* read at once */
#define PAGE        4096U

struct words {
	char *text;
	size_t used, room;
	size_t *at; /* start of each; offsets, because the text is reallocated */
	size_t count, at_room;
};

/* Appends one word to @words. 0 or -errno. */
static int read_word(pid_t task, uint64_t address, struct words *words)
{
	for (;;) {
		ssize_t n = inside_read_string(task, address, words->text + words->used,
					       words->room - words->used);

		if (n >= 0) {
			words->at[words->count++] = words->used;
			words->used += (size_t)n + 1;
			return 0;
		}
		if (n != -ENAMETOOLONG)
			return (int)n;
		if (words->room == PROGRAM_BYTES_MAX)
			return -E2BIG;
		words->room *= 2;
		words->text = mem_grow(words->text, words->room, 1);
	}
}

/* Reads @count pointers, but not beyond the end of the page. */
static int read_pointers(pid_t task, uint64_t address, uint64_t *pointers, size_t *ret_count)
{
	size_t size = sizeof(*pointers), left = (PAGE - (size_t)(address % PAGE)) / size;

	*ret_count = left == 0 ? 1 : left < POINTERS_AT ? left : POINTERS_AT;
	return inside_read(task, address, pointers, *ret_count * size);
}

static int read_all_words(pid_t task, uint64_t address, struct words *words)
{
	uint64_t pointers[POINTERS_AT] = { 0 };
	size_t count = 0;

	for (size_t next = 0;; next++) {
		if (next == count) {
			address += count * sizeof(pointers[0]);
			next = 0;
			int r = read_pointers(task, address, pointers, &count);

			if (r < 0)
				return r;
		}
		if (pointers[next] == 0)
			return 0;
		if (words->count == PROGRAM_WORDS_MAX)
			return -E2BIG;
		if (words->count == words->at_room) {
			words->at_room = words->at_room * 2 + POINTERS_AT;
			words->at = mem_grow(words->at, words->at_room, sizeof(*words->at));
		}
		int r = read_word(task, pointers[next], words);

		if (r < 0)
			return r;
	}
}

static int read_words(pid_t task, uint64_t address, struct program *program)
{
	struct words words = { .room = PAGE };

	words.text = mem_new_array(words.room, 1);
	int r = read_all_words(task, address, &words);

	program->words = words.text;
	program->words_len = words.used;
	program->argc = words.count;
	program->argv = mem_new_array(words.count + 1, sizeof(char *));
	for (size_t i = 0; i < words.count; i++)
		program->argv[i] = words.text + words.at[i];
	free(words.at);
	return r == 0 && words.count == 0 ? -EINVAL : r;
}

struct target {
	int directory, flags;
	uint64_t words;
	char name[PATH_MAX];
};

static int read_target(const struct seccomp_notif *request, struct target *ret)
{
	struct seccomp_call call;
	const __u64 *args = request->data.args;
	uint64_t copy[6];

	memcpy(copy, args, sizeof(copy));
	seccomp_look_up(request->data.nr, copy, &call);
	bool is_at = strcmp(call.name, "execveat") == 0;

	ret->directory = is_at ? (int)args[0] : AT_FDCWD;
	ret->flags = is_at ? (int)args[4] : 0;
	ret->words = args[is_at ? 2 : 1];
	ssize_t n = inside_read_string((pid_t)request->pid, args[is_at ? 1 : 0], ret->name,
				       sizeof(ret->name));

	if (n < 0)
		return (int)n;
	if ((ret->flags & ~(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_EXECVE_CHECK)) != 0)
		return -EINVAL;
	if (n == 0 && (ret->flags & AT_EMPTY_PATH) == 0)
		return -ENOENT;
	return 0;
}

/* The name that the kernel passes to an interpreter: bprm->filename of fs/exec.c. */
static char *name_for_interpreter(const struct target *target)
{
	if (target->name[0] == '/' || target->directory == AT_FDCWD)
		return mem_strdup(target->name);
	if (target->name[0] == '\0')
		return mem_printf("/dev/fd/%d", target->directory);
	return mem_printf("/dev/fd/%d/%s", target->directory, target->name);
}

static int open_target(const struct inside *inside, const struct seccomp_notif *request,
		       const struct target *target, struct program *ret)
{
	bool follows = (target->flags & AT_SYMLINK_NOFOLLOW) == 0;

	if (target->name[0] == '\0') {
		ret->fd = inside_descriptor((pid_t)request->pid, target->directory);
		return ret->fd < 0 ? ret->fd : 0;
	}
	char path[PATH_MAX];
	int r = inside_absolute(inside, (pid_t)request->pid, target->directory, target->name, path);

	if (r < 0)
		return r;
	ret->fd = program_file_open(inside, (pid_t)request->pid, ret->process, path, follows);
	return ret->fd < 0 ? ret->fd : 0;
}

static void append_line(struct program *program, const char *word)
{
	size_t len = strlen(word) + 1;

	program->line = mem_grow(program->line, program->line_len + len, 1);
	memcpy(program->line + program->line_len, word, len);
	program->line_len += len;
}

/* The expected command line of a file that is not a script: argv unchanged. */
static void expect_line(struct program *program, char *const *head, size_t count)
{
	for (size_t i = 0; i < count; i++)
		append_line(program, head[i]);
	for (size_t i = count > 0 ? 1 : 0; i < program->argc; i++)
		append_line(program, program->argv[i]);
}

static int describe(const struct inside *inside, struct program *program)
{
	char path[PATH_MAX];
	struct stat what;

	if (fstat(program->interpreter, &what) < 0)
		return -errno;
	if (!S_ISREG(what.st_mode) || what.st_nlink == 0)
		return -EACCES;
	int r = inside_name(inside, program->interpreter, path);

	if (r < 0)
		return r;
	program->by_path = mem_strdup(path);
	program->by = (struct exec_program){ .path = program->by_path,
					     .device = what.st_dev,
					     .inode = what.st_ino };
	return 0;
}

/* Follows the #! lines. 0 or -errno. */
static int find_interpreter(const struct inside *inside, const struct seccomp_notif *request,
			    struct program *ret)
{
	/* The script, and two words for each interpreter, also for the one that is refused. */
	char *head[1 + 2 * (PROGRAM_SCRIPTS_MAX + 1)] = { NULL };
	size_t count = 0;
	int r = 0, current = ret->fd;
	const char *name = ret->named;

	for (int depth = 0; r == 0; depth++) {
		char *interpreter = NULL, *argument = NULL;
		char path[PATH_MAX];

		r = program_file_script(current, &interpreter, &argument);
		if (r <= 0)
			break;
		r = depth == PROGRAM_SCRIPTS_MAX ? -ELOOP : 0;
		/* Words are added at the front: interpreter, its argument, the script. */
		size_t more = argument ? 2 : 1;

		if (count == 0)
			head[count++] = mem_strdup(name);
		memmove(head + more, head, count * sizeof(head[0]));
		head[0] = interpreter;
		if (argument)
			head[1] = argument;
		count += more;
		if (r == 0)
			r = inside_absolute(inside, (pid_t)request->pid, AT_FDCWD, interpreter,
					    path);
		if (r < 0)
			break;
		int next = program_file_open(inside, (pid_t)request->pid, ret->process, path, true);

		fd_close(ret->interpreter);
		ret->interpreter = current = next;
		r = next < 0 ? next : 0;
	}
	if (r == 0) {
		expect_line(ret, head, count);
		r = count > 0 ? describe(inside, ret) : 0;
	}
	for (size_t i = 0; i < count; i++)
		free(head[i]);
	return r;
}

static enum program_flaw fail(int error, int *ret_error)
{
	*ret_error = -error;
	return error == -E2BIG || error == -ESRCH ? PROGRAM_REFUSED : PROGRAM_FAILS;
}

enum program_flaw program_find(const struct plan *plan, const struct inside *inside,
			       const struct seccomp_notif *request, struct program *ret,
			       int *ret_error)
{
	char path[PATH_MAX] = "";
	struct target target;
	struct stat what;

	*ret = (struct program){ .fd = -1, .interpreter = -1 };
	ret->process = inside_number((pid_t)request->pid, "\nTgid:");
	ret->path = mem_strdup("");
	if (ret->process < 0)
		return fail(ret->process, ret_error);
	int r = read_target(request, &target);

	if (r == 0)
		r = open_target(inside, request, &target, ret);
	if (r == 0 && fstat(ret->fd, &what) < 0)
		r = -errno;
	if (r == 0 && !S_ISREG(what.st_mode))
		r = -EACCES;
	if (r < 0)
		return fail(r, ret_error);
	ret->device = what.st_dev;
	ret->inode = what.st_ino;
	*ret_error = EACCES;
	/* A file without a name, a memory file or one that was removed, cannot be identified. */
	bool has_name = inside_name(inside, ret->fd, path) == 0 && what.st_nlink > 0;

	free(ret->path);
	ret->path = mem_strdup(path);
	if (!has_name)
		return PROGRAM_REFUSED;
	ret->named = name_for_interpreter(&target);
	r = inside_absolute(inside, (pid_t)request->pid, AT_FDCWD, "", path);
	if (r == 0) {
		ret->cwd = mem_strdup(path);
		r = read_words((pid_t)request->pid, target.words, ret);
	}
	if (r == 0)
		r = find_interpreter(inside, request, ret);
	if (r < 0)
		return fail(r, ret_error);
	if (ret->interpreter >= 0 && !program_file_is_steady(plan, inside, ret->named, ret->path))
		return PROGRAM_REFUSED;
	return PROGRAM_FINE;
}

void program_done(struct program *program)
{
	fd_close(program->fd);
	fd_close(program->interpreter);
	free(program->argv);
	free(program->words);
	free(program->path);
	free(program->named);
	free(program->by_path);
	free(program->cwd);
	free(program->line);
	*program = (struct program){ .fd = -1, .interpreter = -1 };
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool has_line(const struct program *program, pid_t process)
{
	char path[64];
	auto_free char *line = mem_new_array(program->line_len + 1, 1);
	size_t len = 0;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)process);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	/* Reads one byte more than expected, to notice a longer command line. */
	while (len <= program->line_len &&
	       (n = read(fd, line + len, program->line_len + 1 - len)) > 0)
		len += (size_t)n;
	return len == program->line_len && memcmp(line, program->line, len) == 0;
}

/* The interpreter opens the script by its name: is that still the same file? */
static bool has_script(const struct program *program, const struct inside *inside, pid_t process)
{
	char path[PATH_MAX];
	struct stat want, is;

	if (inside_absolute(inside, process, AT_FDCWD, program->named, path) < 0)
		return false;
	auto_close int fd = program_file_open(inside, process, process, path, true);

	return fd >= 0 && fstat(fd, &is) == 0 && fstat(program->fd, &want) == 0 &&
	       is_same(&is, &want);
}

bool program_is(const struct program *program, const struct inside *inside, pid_t process)
{
	char path[64];
	struct stat want, is;
	bool is_script = program->interpreter >= 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)process);
	if (stat(path, &is) < 0 ||
	    fstat(is_script ? program->interpreter : program->fd, &want) < 0 ||
	    !is_same(&is, &want))
		return false;
	return has_line(program, process) && (!is_script || has_script(program, inside, process));
}
