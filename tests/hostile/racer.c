#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* racer CASE TRIES: executes programs while a second thread makes them others. Its working
 * directory holds two programs, copies of it with a mark: `good`, which may run, and `evil`, which
 * may not; nor may good with the word "evil". Either leaves a file when it ran. Prints how often
 * what happened. */

#define STACK_BYTES 65536
#define GOOD        33 /* exit statuses */
#define EVIL        66

static atomic_bool is_over;
static unsigned int good, evil, refused, killed, other;

/* What the racing thread changes. */
static char path[64] = "./good";
static char word[8] = "fine";
static char first[] = "./good", fine[] = "fine", wrong[] = "evil";
static char *words[] = { first, word, NULL };
static char *none[] = { NULL };
static int slot = 100; /* a descriptor's number */

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "racer: %s: %s\n", what, strerror(errno));
	exit(2);
}

static void leave(const char *name)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd >= 0)
		close(fd);
}

/* As one of the two programs. */
static int act(int argc, char **argv, bool is_evil)
{
	for (int i = 1; i < argc; i++)
		is_evil |= strcmp(argv[i], "evil") == 0;
	if (is_evil)
		leave("/tmp/evil-ran");
	return is_evil ? EVIL : GOOD;
}

/* Which copy this is: its last four bytes say so, whatever its name is by now. */
static bool is_marked(const char *mark)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char end[4] = "";

	if (fd < 0 || lseek(fd, -(off_t)sizeof(end), SEEK_END) < 0 ||
	    read(fd, end, sizeof(end)) != (ssize_t)sizeof(end))
		fail("/proc/self/exe");
	close(fd);
	return memcmp(end, mark, sizeof(end)) == 0;
}

static void count(int status)
{
	if (WIFSIGNALED(status))
		killed++;
	else if (WEXITSTATUS(status) == GOOD)
		good++;
	else if (WEXITSTATUS(status) == EVIL)
		evil++;
	else if (WEXITSTATUS(status) == EACCES)
		refused++;
	else
		other++;
}

typedef void (*flip_fn)(bool is_evil);
struct happy_eyeballs {
	const char *name;
	flip_fn flip;
	int (*execute)(void *arg); /* in the child; returns when it failed */
	int flags;                 /* of the child's clone, besides CLONE_VM | CLONE_VFORK */
};

/* The child shares our memory, so what the other thread changes is what it executes. */
static int by_path(void *arg)
{
	execve(path, words, none);
	_exit(errno == EACCES ? EACCES : 1);
}

static int by_slot(void *arg)
{
	syscall(SYS_execveat, slot, "", words, none, AT_EMPTY_PATH);
	_exit(errno == EACCES ? EACCES : 1);
}

static int by_link(void *arg)
{
	execve("./link", words, none);
	_exit(errno == EACCES ? EACCES : 1);
}

static int by_folder(void *arg)
{
	execve("./same", words, none);
	_exit(errno == EACCES ? EACCES : 1);
}

static int by_script(void *arg)
{
	execve("./script", words, none);
	_exit(errno == EACCES ? EACCES : 1);
}

static void flip_path(bool is_evil)
{
	memcpy(path + 2, is_evil ? "evil" : "good", 4);
}

static void flip_word(bool is_evil)
{
	memcpy(word, is_evil ? "evil" : "fine", 4);
}

static void flip_pointer(bool is_evil)
{
	*(char *volatile *)&words[1] = is_evil ? wrong : fine;
}

static void flip_link(bool is_evil)
{
	(void)unlink("turned");
	if (symlink(is_evil ? "evil" : "good", "turned") == 0)
		(void)rename("turned", "link");
}

static void flip_files(bool is_evil)
{
	(void)syscall(SYS_renameat2, AT_FDCWD, "link", AT_FDCWD, "spare", RENAME_EXCHANGE);
}

static void flip_slot(bool is_evil)
{
	static int files[2] = { -1, -1 };

	if (files[0] < 0) {
		files[0] = open("good", O_RDONLY | O_CLOEXEC);
		files[1] = open("evil", O_RDONLY | O_CLOEXEC);
	}
	(void)dup3(files[is_evil], slot, O_CLOEXEC);
}

static void flip_folder(bool is_evil)
{
	if (chdir(is_evil ? "../d-evil" : "../d-good") < 0)
		perror("racer: chdir");
}

/* Which program the script's first line means. */
static void flip_interpreter(bool is_evil)
{
	(void)unlink("turned");
	if (symlink(is_evil ? "evil" : "good", "turned") == 0)
		(void)rename("turned", "interpreter");
}

/* What the script's first line is. */
static void flip_script(bool is_evil)
{
	(void)syscall(SYS_renameat2, AT_FDCWD, "script", AT_FDCWD, "spare", RENAME_EXCHANGE);
}

static const struct happy_eyeballs races[] = {
	{ "path", flip_path, by_path, 0 },
	{ "word", flip_word, by_path, 0 },
	{ "pointer", flip_pointer, by_path, 0 },
	{ "link", flip_link, by_link, 0 },
	{ "rename", flip_files, by_link, 0 },
	{ "descriptor", flip_slot, by_slot, CLONE_FILES },
	{ "folder", flip_folder, by_folder, CLONE_FS },
	{ "interpreter", flip_interpreter, by_script, 0 },
	{ "script", flip_script, by_script, 0 },
};

static void *flip_on(void *arg)
{
	const struct happy_eyeballs *race = arg;
	unsigned int pause = 0;

	for (bool is_evil = false; !is_over; is_evil = !is_evil) {
		race->flip(is_evil);
		/* Each time another while: one that fits is among them. */
		pause = pause * 1103515245 + 12345;
		for (volatile unsigned int i = 0; i < (pause >> 16) % 20000; i++)
			;
	}
	return NULL;
}

static void put_script(const char *name, const char *interpreter)
{
	FILE *file = fopen(name, "we");

	if (!file || fprintf(file, "#!%s\n", interpreter) < 0 || fclose(file) != 0 ||
	    chmod(name, 0755) < 0)
		fail(name);
}

static void prepare(const char *name)
{
	char here[512];

	if (!getcwd(here, sizeof(here)))
		fail("getcwd");
	if (strcmp(name, "rename") == 0 && (link("good", "link") < 0 || link("evil", "spare") < 0))
		fail("link");
	if (strcmp(name, "link") == 0 && symlink("good", "link") < 0)
		fail("symlink");
	if (strcmp(name, "interpreter") == 0 && symlink("good", "interpreter") < 0)
		fail("symlink");
	if (strcmp(name, "interpreter") == 0)
		put_script("script", "./interpreter");
	if (strcmp(name, "script") == 0) {
		put_script("script", "./good");
		put_script("spare", "./evil");
	}
	if (strcmp(name, "folder") == 0 &&
	    (mkdir("d-good", 0755) < 0 || mkdir("d-evil", 0755) < 0 ||
	     link("good", "d-good/same") < 0 || link("evil", "d-evil/same") < 0 ||
	     chdir("d-good") < 0))
		fail("folders");
	if (strcmp(name, "descriptor") == 0)
		flip_slot(false);
}

static void run_race(const struct happy_eyeballs *race, unsigned int tries)
{
	static char stack[STACK_BYTES] __attribute__((aligned(16)));
	pthread_t thread;

	prepare(race->name);
	if (pthread_create(&thread, NULL, flip_on, (void *)(uintptr_t)race) != 0)
		fail("pthread_create");
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = clone(race->execute, stack + sizeof(stack),
				  CLONE_VM | CLONE_VFORK | SIGCHLD | race->flags, NULL);

		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			fail("clone");
		count(status);
	}
	is_over = true;
	pthread_join(thread, NULL);
}

static void execute_good(void)
{
	execve("./good", words, none);
	_exit(errno);
}

/* Killed somewhere between the question and its answer. */
static void run_kills(unsigned int tries)
{
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			execute_good();
		(void)usleep(i * 97 % 5000);
		if (pid < 0 || kill(pid, SIGKILL) < 0 || waitpid(pid, &status, 0) != pid)
			fail("kill");
		count(status);
	}
}

/* All at once, and more than are answered at a time. */
static void run_crowd(unsigned int tries)
{
	for (unsigned int i = 0; i < tries; i++) {
		pid_t pid = fork();

		if (pid == 0)
			execute_good();
		if (pid < 0)
			fail("fork");
	}
	for (int status; wait(&status) > 0;)
		count(status);
}

/* Somebody inside traces the program: it could be made anything. */
static void run_debugger(unsigned int tries)
{
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			(void)raise(SIGSTOP);
			execute_good();
		}
		if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid ||
		    ptrace(PTRACE_SEIZE, pid, NULL, NULL) < 0 || kill(pid, SIGCONT) < 0)
			fail("seize");
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
			(void)ptrace(PTRACE_CONT, pid, NULL, NULL);
		count(status);
	}
}

static void *execute_in_thread(void *arg)
{
	execute_good();
	return NULL;
}

/* Not the first thread of its process executes, and others do at the same time. */
static void run_threads(unsigned int tries)
{
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			pthread_t threads[4];

			for (size_t j = 0; j < 4; j++)
				(void)pthread_create(&threads[j], NULL, execute_in_thread, NULL);
			if (i % 2 == 0)
				execute_good();
			(void)pause();
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			fail("fork");
		count(status);
	}
}

/* Signals while it waits for the answer. */
static void run_signals(unsigned int tries)
{
	(void)signal(SIGUSR1, SIG_IGN);
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			execute_good();
		for (int j = 0; j < 50 && waitpid(pid, &status, WNOHANG) == 0; j++) {
			(void)kill(pid, j % 2 ? SIGCONT : SIGSTOP);
			(void)kill(pid, SIGUSR1);
		}
		(void)kill(pid, SIGCONT);
		(void)waitpid(pid, &status, 0);
		count(status);
	}
}

static void run_memory_file(unsigned int tries)
{
	char bytes[65536];
	int in = open("good", O_RDONLY | O_CLOEXEC);
	int out = memfd_create("good", MFD_CLOEXEC);
	ssize_t n;

	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		if (write(out, bytes, (size_t)n) != n)
			fail("write");
	slot = out;
	for (unsigned int i = 0; i < tries; i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0)
			by_slot(NULL);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			fail("fork");
		count(status);
	}
}

static void try_long(char **argv)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		execve("./good", argv, none);
		_exit(errno == E2BIG ? EACCES : 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		fail("fork");
	count(status);
}

/* More words, or longer ones, than are read. Both go with the kernel. */
static void run_long(unsigned int tries)
{
	static char *many[20001], *few[9], text[40000];

	for (size_t i = 0; i < 20000; i++)
		many[i] = fine;
	memset(text, 'x', sizeof(text) - 1);
	for (size_t i = 0; i < 8; i++)
		few[i] = text;
	for (unsigned int i = 0; i < tries; i++) {
		try_long(many);
		try_long(few);
	}
}

static const struct {
	const char *name;
	void (*run)(unsigned int tries);
} cases[] = {
	{ "kills", run_kills },     { "crowd", run_crowd },     { "debugger", run_debugger },
	{ "threads", run_threads }, { "signals", run_signals }, { "memory-file", run_memory_file },
	{ "long", run_long },
};

int main(int argc, char **argv)
{
	bool is_found = false;

	if (is_marked("EVIL") || is_marked("GOOD"))
		return act(argc, argv, is_marked("EVIL"));
	if (argc != 3)
		return 2;
	unsigned int tries = (unsigned int)strtoul(argv[2], NULL, 10);

	for (size_t i = 0; i < sizeof(races) / sizeof(races[0]); i++)
		if (strcmp(argv[1], races[i].name) == 0) {
			run_race(&races[i], tries);
			is_found = true;
		}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run(tries);
			is_found = true;
		}
	if (access("/tmp/evil-ran", F_OK) == 0)
		evil++;
	printf("good %u evil %u refused %u killed %u other %u\n", good, evil, refused, killed,
	       other);
	return is_found ? 0 : 2;
}
