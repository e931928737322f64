/* The entry point: aligns the stack and calls init_main(), which does not return. And a thread, which has to begin on its own
   stack: __init_thread(flags, stack, fn, arg, child_tid) is clone(2), and the thread, or process, calls fn(arg). */
	.section .text
	.globl __init_start
	.type __init_start, %function
__init_start:
#if defined(__x86_64__)
	endbr64
	xorl %ebp, %ebp
	andq $-16, %rsp
	call init_main
	hlt
#elif defined(__aarch64__)
	bti c
	mov x29, #0
	mov x30, #0
	bl init_main
	brk #1
#endif
	.size __init_start, . - __init_start
	.globl __init_thread
	.type __init_thread, %function
__init_thread:
#if defined(__x86_64__)
	endbr64
	subq $16, %rsi
	movq %rdx, 0(%rsi)
	movq %rcx, 8(%rsi)
	xorl %edx, %edx
	movq %r8, %r10
	xorl %r8d, %r8d
	movl $56, %eax
	syscall
	testq %rax, %rax
	jz 1f
	ret
1:	xorl %ebp, %ebp
	popq %rax
	popq %rdi
	call *%rax
	movl $60, %eax
	xorl %edi, %edi
	syscall
	hlt
#elif defined(__aarch64__)
	bti c
	stp x2, x3, [x1, #-16]!
	mov x2, #0
	mov x3, #0
	mov x8, #220
	svc #0
	cbz x0, 1f
	ret
1:	mov x29, #0
	mov x30, #0
	ldp x1, x0, [sp], #16
	blr x1
	mov x8, #93
	mov x0, #0
	svc #0
	brk #1
#endif
	.size __init_thread, . - __init_thread
	.section .note.GNU-stack, "", %progbits
