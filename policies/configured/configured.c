#include <string.h>

#include "base/err.h"
#include "policies/configured/configured_impl.h"

bool configured_find(const char *name, size_t len, enum configured_tool *ret_tool)
{
	for (unsigned int tool = 0; tool < CONFIGURED_TOOLS; tool++) {
		if (!lines_is(name, len, configured_table[tool]->name))
			continue;
		*ret_tool = (enum configured_tool)tool;
		return true;
	}
	return false;
}

const char *configured_name(enum configured_tool tool)
{
	return configured_table[tool]->name;
}

int configured_read(enum configured_tool tool, const struct configured_environment *env,
		    const struct configured_hearer *hearer, struct err *why)
{
	struct err unheard = { 0 };
	struct reading reading = { .env = env, .why = why ? why : &unheard };
	int r = configured_table[tool]->read(&reading);

	for (size_t i = 0; r == 0 && i < reading.found_count; i++)
		hearer->found(reading.found[i].key, reading.found[i].where, hearer->arg);
	for (size_t i = 0; r == 0 && hearer->note && i < reading.note_count; i++)
		hearer->note(reading.notes[i], hearer->arg);
	reading_done(&reading);
	return r;
}
