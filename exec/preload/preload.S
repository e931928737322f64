/* What the gate puts into the sandbox, as NUL-terminated text in its program (exec/sandbox/files.c says where each goes). */
	.section .rodata
	.globl preload_node
	.type preload_node, %object
preload_node:
	.incbin "node.cjs"
	.byte 0
	.size preload_node, . - preload_node
	.section .note.GNU-stack, "", %progbits
