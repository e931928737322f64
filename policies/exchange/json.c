#include <jansson.h>

#include "policies/exchange/exchange_impl.h"

/* Jansson checks strictly that the text is JSON, but its values have no line numbers. JSON is also
 * YAML, so libyaml walks through it. If the two disagree about a value, libyaml's counts: no value
 * of Jansson's is used. */
int json_read(struct exchange *exchange, const char *text, size_t len, exchange_item_fn each,
	      void *arg)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);

	if (!root)
		return exchange_refuse(exchange, why.line > 0 ? (uint32_t)why.line : 0,
				       "column %d: %s", why.column, why.text);
	json_decref(root);
	return yaml_read(exchange, text, len, each, arg);
}
