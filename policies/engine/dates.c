#include "policies/engine/dates_impl.h"

#include <string.h>
#include <time.h>

/* @form: '0' stands for a digit, every other character for itself. */
static bool dates_has_form(const char *text, size_t len, const char *form)
{
	if (len != strlen(form))
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_digit = text[i] >= '0' && text[i] <= '9';

		if (form[i] == '0' ? !is_digit : text[i] != form[i])
			return false;
	}
	return true;
}

static int dates_number(const char *text, size_t len)
{
	int value = 0;

	for (size_t i = 0; i < len; i++)
		value = value * 10 + (text[i] - '0');
	return value;
}

bool dates_parse(const char *text, size_t len, int64_t *ret)
{
	bool has_seconds = dates_has_form(text, len, "0000-00-00T00:00:00Z");
	bool has_time = has_seconds || dates_has_form(text, len, "0000-00-00T00:00Z");

	if (!has_time && !dates_has_form(text, len, "0000-00-00"))
		return false;
	struct tm parts = {
		.tm_year = dates_number(text, 4) - 1900,
		.tm_mon = dates_number(text + 5, 2) - 1,
		.tm_mday = dates_number(text + 8, 2),
		.tm_hour = has_time ? dates_number(text + 11, 2) : 0,
		.tm_min = has_time ? dates_number(text + 14, 2) : 0,
		.tm_sec = has_seconds ? dates_number(text + 17, 2) : 0,
	};
	struct tm again = parts;
	time_t seconds = timegm(&again);

	/* timegm() turns 31 February into 3 March: a changed value means an invalid date. */
	if (seconds < 0 || again.tm_year != parts.tm_year || again.tm_mon != parts.tm_mon ||
	    again.tm_mday != parts.tm_mday || again.tm_hour != parts.tm_hour ||
	    again.tm_min != parts.tm_min || again.tm_sec != parts.tm_sec)
		return false;
	*ret = seconds;
	return true;
}
