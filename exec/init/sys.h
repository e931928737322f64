/* sys: the system calls that init makes, by number. Init has no C library: a static one costs 0.9
 * ms per start, ten times what init itself takes. Every call returns the kernel's result: a value,
 * or -errno. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#define SYS_ALWAYS static inline __attribute__((always_inline, unused))

#if defined(__x86_64__)
SYS_ALWAYS long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}
#elif defined(__aarch64__)
SYS_ALWAYS long sys_call(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "init makes its own system calls; add sys_call() for this machine"
#endif

/* sys(close, fd): arguments are widened, missing ones are 0. */
#define SYS_ARG(value)        ((long)(value))
#define SYS_0(nr)             sys_call(nr, 0, 0, 0, 0, 0, 0)
#define SYS_1(nr, a)          sys_call(nr, SYS_ARG(a), 0, 0, 0, 0, 0)
#define SYS_2(nr, a, b)       sys_call(nr, SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define SYS_3(nr, a, b, c)    sys_call(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define SYS_4(nr, a, b, c, d) sys_call(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define SYS_5(nr, a, b, c, d, e)                                                                   \
	sys_call(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)
#define SYS_6(nr, a, b, c, d, e, f)                                                                \
	sys_call(nr, SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), SYS_ARG(f))
#define SYS_PICK(nr, a, b, c, d, e, f, name, ...) name
#define sys(name, ...)                                                                             \
	SYS_PICK(SYS_##name, ##__VA_ARGS__, SYS_6, SYS_5, SYS_4, SYS_3, SYS_2, SYS_1, SYS_0)       \
	(SYS_##name, ##__VA_ARGS__)

static inline _Noreturn void sys_exit(int status)
{
	for (;;)
		(void)sys(exit_group, status);
}

static inline size_t sys_length(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

/* The kernel's sigset_t: 64 bits on all our platforms. */
#define SYS_SIGSET_BYTES 8

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71 /* of socket(7); Linux 5.14 */
#endif
