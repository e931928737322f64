#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policies/configured/configured_impl.h"

/* One mirror, kept until its end, when it is known whether it is blocked. */
struct maven {
	struct reading *reading;
	char *mirror; /* its URL */
	size_t mirror_line;
	bool is_blocked;
	bool has_all; /* a mirror of everything, or of the default repository */
};

static bool maven_is_at(const struct xml_element *element, const char *path)
{
	for (size_t i = 0; i < element->depth; i++) {
		size_t len = strlen(element->names[i]);

		if (strncmp(path, element->names[i], len) != 0)
			return false;
		path += len;
		if (i + 1 < element->depth && *path++ != '/')
			return false;
	}
	return *path == '\0';
}

/* Expands ${env.NAME}; other properties are not known here. */
static int maven_expand(struct reading *reading, const char *where, const char *text, size_t len,
			char **ret)
{
	static const char open[] = "${env.";
	const char *mark = memmem(text, len, "${", 2);
	const char *close = mark ? memchr(mark, '}', len - (size_t)(mark - text)) : NULL;
	size_t head = mark ? (size_t)(mark - text) : len;

	if (!mark) {
		*ret = mem_strndup(text, len);
		return 0;
	}
	if (!close || (size_t)(close - mark) < sizeof(open) - 1 ||
	    memcmp(mark, open, sizeof(open) - 1) != 0)
		return reading_refuse(reading, where,
				      "the URL has a property other than ${env...}");
	auto_free char *name =
		mem_strndup(mark + sizeof(open) - 1, (size_t)(close - mark) - (sizeof(open) - 1));
	const char *value = reading_variable(reading, name);
	size_t rest = len - (size_t)(close + 1 - text);

	if (!value)
		return reading_refuse(reading, where, "the URL has a variable that is not set");
	if (memmem(close + 1, rest, "${", 2))
		return reading_refuse(reading, where, "the URL has more than one property");
	*ret = mem_printf("%.*s%s%.*s", (int)head, text, value, (int)rest, close + 1);
	return 0;
}

static int maven_url(struct maven *maven, const char *text, size_t len, size_t line)
{
	struct reading *reading = maven->reading;
	auto_free char *where = mem_strdup(reading_where(reading, line));
	auto_free char *url = NULL;
	int r = maven_expand(reading, where, text, len, &url);

	return r == 0 && url ? reading_url(reading, where, url, strlen(url)) : r;
}

static int maven_end_mirror(struct maven *maven)
{
	int r = 0;

	if (maven->mirror && !maven->is_blocked)
		r = maven_url(maven, maven->mirror, strlen(maven->mirror), maven->mirror_line);
	free(maven->mirror);
	maven->mirror = NULL;
	maven->is_blocked = false;
	return r;
}

static int maven_element(const struct xml_element *element, void *arg)
{
	static const char *const repositories[] = {
		"settings/profiles/profile/repositories/repository/url",
		"settings/profiles/profile/pluginRepositories/pluginRepository/url",
	};
	struct maven *maven = arg;

	for (size_t i = 0; i < ARRAY_SIZE(repositories); i++) {
		if (maven_is_at(element, repositories[i]))
			return maven_url(maven, element->text, element->len, element->line);
	}
	if (maven_is_at(element, "settings/mirrors/mirror/url")) {
		free(maven->mirror);
		maven->mirror = mem_strndup(element->text, element->len);
		maven->mirror_line = element->line;
	} else if (maven_is_at(element, "settings/mirrors/mirror/blocked")) {
		maven->is_blocked = lines_is(element->text, element->len, "true");
	} else if (maven_is_at(element, "settings/mirrors/mirror/mirrorOf")) {
		/* "external:http:*" does not cover the default repository, which is https. */
		maven->has_all = maven->has_all || lines_is(element->text, element->len, "*") ||
				 lines_is(element->text, element->len, "external:*") ||
				 lines_is(element->text, element->len, "central");
	} else if (maven_is_at(element, "settings/mirrors/mirror")) {
		return maven_end_mirror(maven);
	}
	return 0;
}

static int maven_parse(struct reading *reading, const char *text, size_t len)
{
	struct maven maven = { .reading = reading };
	struct err why = { 0 };
	size_t line = 0;
	int r = xml_read(text, len, maven_element, &maven, &line, &why);

	free(maven.mirror);
	if (r < 0 && why.text[0])
		return reading_refuse(reading, reading_where(reading, line), "%s", why.text);
	return r < 0 || !maven.has_all ? r : reading_set(reading, "mirror", "*", 1, reading->file);
}

/* Reads the settings of the installation: from the folder that a variable names, or from the usual
 * folders of distributions. */
static int maven_read_shared(struct reading *reading)
{
	static const char *const variables[] = { "MAVEN_HOME", "M2_HOME" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(variables); i++)
		r = reading_below(reading, variables[i], NULL, "/conf/settings.xml", maven_parse);
	return r == 0 ? reading_file(reading, "/etc/maven/settings.xml", maven_parse) : r;
}

static int maven_read(struct reading *reading)
{
	int r = reading_below(reading, NULL, ".m2", "/settings.xml", maven_parse);

	if (r >= 0)
		r = maven_read_shared(reading);
	if (r >= 0 && !reading_get(reading, "mirror"))
		reading_remark(reading, "maven's settings name no mirror of everything or of its "
					"default repository, and maven cannot be asked for that");
	return r < 0 ? r : 0;
}

const struct configured_ops maven_ops = { .name = "maven", .read = maven_read };
