/* The entry point: aligns the stack and calls init_main(), which does not return. */
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
	.section .note.GNU-stack, "", %progbits
