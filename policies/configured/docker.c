#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "policies/configured/configured_impl.h"

static void docker_free(json_t **value)
{
	json_decref(*value);
}
#define auto_json __attribute__((cleanup(docker_free)))

/* -EBADMSG, or *@ret is an object, returned owned. */
static int docker_load(struct reading *reading, const char *text, size_t len, json_t **ret)
{
	json_error_t error;

	*ret = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);
	if (!*ret) /* error.text may quote the file, which may contain passwords */
		return reading_refuse(
			reading, reading_where(reading, error.line > 0 ? (size_t)error.line : 1),
			"not JSON");
	if (!json_is_object(*ret))
		return reading_refuse(reading, reading->file, "the file is not a JSON object");
	return 0;
}

/* "docker.example.org", "docker.example.org:5000" or a URL. An address block is refused: it does
 * not name one registry. */
static int docker_host(struct reading *reading, const char *where, const char *text,
		       bool is_plain_too)
{
	const char *slash = strchr(text, '/');

	if (strstr(text, "://"))
		return reading_url(reading, where, text, strlen(text));
	if (slash && slash[1] && slash[1 + strspn(slash + 1, "0123456789")] == '\0') {
		reading_remark(reading, "%s: left out, because it is a block of addresses", where);
		return 0;
	}
	return reading_host(reading, where, text, strlen(text), is_plain_too);
}

static int docker_list(struct reading *reading, const json_t *object, const char *key,
		       bool is_plain_too)
{
	const json_t *list = json_object_get(object, key);
	auto_free char *where = mem_printf("%s: %s", reading->file, key);

	if (!list || json_is_null(list))
		return 0;
	if (!json_is_array(list))
		return reading_refuse(reading, where, "not a list");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *text = json_string_value(json_array_get(list, i));
		int r = text ? docker_host(reading, where, text, is_plain_too)
			     : reading_refuse(reading, where, "not a list of texts");

		if (r < 0)
			return r;
	}
	return 0;
}

static int docker_keys(struct reading *reading, json_t *object, const char *key)
{
	json_t *hosts = json_object_get(object, key);
	auto_free char *where = mem_printf("%s: %s", reading->file, key);
	const char *host;
	json_t *value;

	if (!hosts || json_is_null(hosts))
		return 0;
	if (!json_is_object(hosts))
		return reading_refuse(reading, where, "not an object");
	json_object_foreach(hosts, host, value)
	{
		int r = docker_host(reading, where, host, false);

		if (r < 0)
			return r;
	}
	return 0;
}

static int docker_parse_daemon(struct reading *reading, const char *text, size_t len)
{
	auto_json json_t *object = NULL;
	int r = docker_load(reading, text, len, &object);

	if (r == 0)
		r = docker_list(reading, object, "registry-mirrors", false);
	if (r == 0)
		r = docker_list(reading, object, "insecure-registries", true);
	return r;
}

static int docker_parse_client(struct reading *reading, const char *text, size_t len)
{
	auto_json json_t *object = NULL;
	int r = docker_load(reading, text, len, &object);

	if (r == 0)
		r = docker_keys(reading, object, "auths");
	if (r == 0)
		r = docker_keys(reading, object, "credHelpers");
	return r;
}

static int docker_read(struct reading *reading)
{
	int r = reading_file(reading, "/etc/docker/daemon.json", docker_parse_daemon);

	if (r >= 0)
		r = reading_below(reading, "XDG_CONFIG_HOME", ".config", "/docker/daemon.json",
				  docker_parse_daemon);
	if (r >= 0)
		r = reading_below(reading, "DOCKER_CONFIG", ".docker", "/config.json",
				  docker_parse_client);
	if (r >= 0)
		reading_remark(reading, "docker's default registry is not named by any file, and "
					"docker cannot be asked for it");
	return r < 0 ? r : 0;
}

const struct configured_ops docker_ops = { .name = "docker", .read = docker_read };
