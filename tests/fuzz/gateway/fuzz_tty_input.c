#include <string.h>

#include "gateway/approvers/screen/tty_input.h"
#include "tests/fuzz/fuzz.h"

/* Whatever a terminal has sent: CAN ends it, and then a key is a key, unless it is pasted. */
static void check_end(struct tty_input input)
{
	enum tty_event event;

	(void)tty_input_feed(&input, 0x18);
	fuzz_must(input.state == TTY_GROUND);
	event = tty_input_feed(&input, 'y');
	fuzz_must(event == (input.is_paste ? TTY_NOTHING : TTY_KEY));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct tty_input input = { .is_text = len % 2 != 0 };

	for (size_t i = 0; i < len; i++) {
		bool was_open = input.state == TTY_GROUND && !input.is_paste;
		enum tty_event event = tty_input_feed(&input, bytes[i]);

		fuzz_must(event != TTY_KEY || (was_open && bytes[i] < 0x80 && bytes[i] != 0x1b));
		fuzz_must(event != TTY_READY || bytes[i] == 'n');
		fuzz_must(input.len <= sizeof(input.sequence));
	}
	check_end(input);
	return 0;
}
