/* sallyport-init as bytes in the gate's program: run from a sealed memfd, it needs no file that could be missing or replaced. */
	.section .rodata
	.balign 16
	.globl image_start
	.type image_start, %object
image_start:
	.incbin "sallyport-init"
	.globl image_end
image_end:
	.size image_start, . - image_start
	.section .note.GNU-stack, "", %progbits
