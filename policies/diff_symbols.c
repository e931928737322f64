#include "policies/diff_symbols_impl.h"

#include <string.h>

#include "policies/policy_impl.h"
#include "policies/request_impl.h"

static void symbols_add(struct diff_symbols *symbols, const struct diff_symbol *symbol)
{
	symbols->list = rules_reserve(symbols->list, &symbols->room, symbols->count + 1,
				      sizeof(*symbols->list));
	symbols->list[symbols->count++] = *symbol;
}

static void symbols_plain(struct diff_symbols *symbols)
{
	static const char *const never[] = { "%\\?", "%&;", "\r\n" };
	static const char *const special[] = { "/.;", "=+", "" };
	static const char order[] = "/xyzqwvabcdefghijklmnoprstu0123456789-_=.ABCDEFGHIJKLMNOPQRS"
				    "TUVWXYZ~!$&'()*+,:;@[]^`{|}<>\"# ";
	bool is_done[256] = { [0] = true }, has_other = false;

	/* Only a path has to begin with the slash. */
	for (size_t i = symbols->grammar != DIFF_PATHS; i < sizeof(order) - 1 + 255; i++) {
		uint8_t byte = i < sizeof(order) - 1 ? (uint8_t)order[i]
						     : (uint8_t)(i - sizeof(order) + 2);
		bool is_alone = symbols->is_named[byte] || strchr(special[symbols->grammar], byte);

		if (is_done[byte] || strchr(never[symbols->grammar], byte) ||
		    (!is_alone && has_other))
			continue;
		is_done[byte] = true;
		has_other |= !is_alone;
		symbols_add(symbols,
			    &(struct diff_symbol){ .sent = { byte },
						   .len = 1,
						   .read = symbols->grammar == DIFF_PARAMETERS &&
									   byte == '+'
								   ? ' '
								   : byte });
	}
}

/* May this escape stand in a text that has one reading? */
static bool symbols_may_escape(const struct diff_symbols *symbols, int byte)
{
	if (symbols->grammar == DIFF_PATHS)
		return byte >= 0x20 && byte != 0x7f && !strchr("/\\.%;", byte);
	return byte > 0;
}

static bool symbols_is_alike(const struct diff_symbols *symbols, uint8_t left, uint8_t right)
{
	return left == right || (!symbols->is_named[left] && !symbols->is_named[right]);
}

static void symbols_escape(struct diff_symbols *symbols, const struct diff_symbol *symbol)
{
	for (size_t i = 0; i < symbols->count; i++) {
		const struct diff_symbol *other = &symbols->list[i];

		if (other->len == 3 && symbols_is_alike(symbols, other->sent[1], symbol->sent[1]) &&
		    symbols_is_alike(symbols, other->sent[2], symbol->sent[2]) &&
		    symbols_is_alike(symbols, other->read, symbol->read))
			return;
	}
	symbols_add(symbols, symbol);
}

void diff_symbols_fill(struct diff_symbols *symbols, enum diff_grammar grammar)
{
	static const char digits[] = "0123456789abcdefABCDEF";

	symbols->grammar = grammar;
	symbols_plain(symbols);
	if (symbols->grammar == DIFF_VALUES)
		return;
	for (const char *high = digits; *high; high++) {
		for (const char *low = digits; *low; low++) {
			const char text[] = { '%', *high, *low, '\0' };
			int byte = request_escape(text);

			if (symbols_may_escape(symbols, byte))
				symbols_escape(symbols,
					       &(struct diff_symbol){ .sent = { '%', (uint8_t)*high,
										(uint8_t)*low },
								      .len = 3,
								      .read = (uint8_t)byte });
		}
	}
	/* A NUL that is escaped stands for all that is read in several ways. */
	if (symbols->grammar == DIFF_PARAMETERS)
		symbols_add(symbols, &(struct diff_symbol){
					     .sent = { '%', '0', '0' }, .len = 3, .is_bad = true });
}
