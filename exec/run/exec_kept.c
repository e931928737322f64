#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "exec/run/exec_impl.h"

/* Moves the edges of the omitted middle to UTF-8 character boundaries, where there are any. */
static void keep_characters(struct exec_kept *kept)
{
	size_t torn = text_torn(kept->head, kept->head_len), rest = 0;

	while (rest < TEXT_TORN_MAX && rest < kept->tail_len && (kept->tail[rest] & 0xc0) == 0x80)
		rest++;
	kept->head_len -= torn;
	kept->tail += rest;
	kept->tail_len -= rest;
	kept->omitted += torn + rest;
}

void exec_kept(struct exec *exec, enum exec_stream stream, struct exec_kept *ret)
{
	bool is_alone = stream == EXEC_MERGED && !exec->output.is_merged;
	enum exec_stream from = is_alone ? EXEC_STDOUT : stream;
	struct output_keep *keep = &exec->output.keeps[from];
	const struct output_spill *spill = &exec->output.spills[from];

	*ret = (struct exec_kept){
		.head = keep->head ? keep->head : "",
		.tail = ring_peek(&keep->tail),
		.head_len = keep->head_len,
		.tail_len = keep->tail.len,
		.omitted = keep->omitted,
		.spill = spill->fd,
		.spill_error = spill->error,
		.spill_bytes = spill->bytes,
	};
	if (ret->omitted > 0)
		keep_characters(ret);
}

char *exec_text(struct exec *exec, enum exec_stream stream, size_t *ret_len)
{
	struct exec_kept kept;
	char note[64] = "";

	exec_kept(exec, stream, &kept);
	bool is_mid_line = kept.head_len > 0 && kept.head[kept.head_len - 1] != '\n';

	if (kept.omitted > 0)
		(void)snprintf(note, sizeof(note), "%s[%" PRIu64 " bytes left out]\n",
			       is_mid_line ? "\n" : "", kept.omitted);
	size_t note_len = strlen(note), len = kept.head_len + note_len + kept.tail_len;
	char *text = mem_new(len + 1);

	memcpy(text, kept.head, kept.head_len);
	memcpy(text + kept.head_len, note, note_len + 1);
	memcpy(text + kept.head_len + note_len, kept.tail, kept.tail_len);
	*ret_len = len;
	return text;
}
