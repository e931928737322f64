#include "exec/sandbox/env.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "exec/exec_egress.h"

#define TEXT_OF(number) #number
#define NUMBER(number)  TEXT_OF(number)
#define HTTP_HOST_PORT  "127.0.0.1:" NUMBER(EXEC_HTTP_PORT)
#define HTTP_ENDPOINT   "http://" HTTP_HOST_PORT
#define SOCKS_ENDPOINT  "socks5h://127.0.0.1:" NUMBER(EXEC_SOCKS_PORT)
#define JVM_ENDPOINT                                                                               \
	"-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" NUMBER(                                     \
		EXEC_HTTP_PORT) " -Dhttps."                                                        \
				"proxyHost=127.0.0."                                               \
				"1 "                                                               \
				"-Dhttps."                                                         \
				"proxyPort=" NUMBER(EXEC_HTTP_PORT) " -Dhttp.nonProxyHosts="
/* Its transports use the JVM's properties only if told to; 1.x and 2.x have different options. */
#define MAVEN_ENDPOINT                                                                             \
	JVM_ENDPOINT " -Daether.connector.http.useSystemProperties=true"                           \
		     " -Daether.transport.apache.useSystemProperties=true"

struct variable {
	const char *name, *value;
	bool is_appended; /* to the host's value: options, of which the last one counts */
	bool is_general;  /* not one of the gate's variables */
};

/* Go, Deno, gRPC, AWS and the docker command line read the first block. ALL_PROXY is an HTTP URL,
 * too: httpx and Chromium fail on socks5h. npm warns of a variable that is no option of its own.
 * NO_PROXY and similar variables are empty, so that no program connects directly: the command's own
 * servers on loopback are reached through the gate, which connects inside. */
static const struct variable variables[] = {
	{ .name = "HTTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "HTTPS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "http_proxy", .value = HTTP_ENDPOINT },
	{ .name = "https_proxy", .value = HTTP_ENDPOINT },
	{ .name = "WS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "WSS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "ws_proxy", .value = HTTP_ENDPOINT },
	{ .name = "wss_proxy", .value = HTTP_ENDPOINT },
	{ .name = "grpc_proxy", .value = HTTP_ENDPOINT },
	{ .name = "ALL_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "all_proxy", .value = HTTP_ENDPOINT },
	{ .name = "FTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "ftp_proxy", .value = HTTP_ENDPOINT },

	{ .name = "npm_config_proxy", .value = HTTP_ENDPOINT },
	{ .name = "npm_config_https_proxy", .value = HTTP_ENDPOINT },
	{ .name = "NPM_CONFIG_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "NPM_CONFIG_HTTPS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "YARN_HTTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "YARN_HTTPS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "BUNDLE_HTTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "BUNDLE_HTTPS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "PIP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "CARGO_HTTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "DOCKER_HTTP_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "DOCKER_HTTPS_PROXY", .value = HTTP_ENDPOINT },
	{ .name = "RSYNC_PROXY", .value = HTTP_HOST_PORT },

	{ .name = "NO_PROXY", .value = "" },
	{ .name = "no_proxy", .value = "" },
	{ .name = "no_grpc_proxy", .value = "" },
	{ .name = "npm_config_noproxy", .value = "" },
	{ .name = "NPM_CONFIG_NOPROXY", .value = "" },
	{ .name = "BUNDLE_NO_PROXY", .value = "" },

	{ .name = "NODE_USE_ENV_PROXY", .value = "1" },
	{ .name = "ELECTRON_GET_USE_PROXY", .value = "true" },
	{ .name = "MAVEN_OPTS", .value = MAVEN_ENDPOINT, .is_appended = true },
	{ .name = "GRADLE_OPTS", .value = JVM_ENDPOINT, .is_appended = true },
	{ .name = "SBT_OPTS", .value = JVM_ENDPOINT, .is_appended = true },

	{ .name = "SALLYPORT_SOCKS", .value = SOCKS_ENDPOINT },

	/* Programs read these names of other sandboxes to find out that they are in one. */
	{ .name = "SALLYPORT_NETWORK", .value = "restricted" },
	{ .name = "CODEX_SANDBOX_NETWORK_DISABLED", .value = "1" },
	{ .name = "CODEX_SANDBOX", .value = "sallyport", .is_general = true },

	{ .name = "TMPDIR", .value = "/tmp", .is_general = true },
	{ .name = "SALLYPORT_ACTIVE", .value = "1", .is_general = true },
};

/* Variables that lead to programs outside (agents, buses, multiplexers, displays, service
 * managers), or that change the resolver. A name ending in '*' is a prefix. */
static const char *const dropped[] = {
	"SSH_AUTH_SOCK",
	"SSH_AGENT_PID",
	"GPG_AGENT_INFO",
	"GNOME_KEYRING_*",
	"DBUS_*",
	"TMUX",
	"TMUX_*",
	"STY",
	"XDG_RUNTIME_DIR",
	"DISPLAY",
	"XAUTHORITY",
	"WAYLAND_*",
	"SESSION_MANAGER",
	"NOTIFY_SOCKET",
	"LISTEN_*",
	"LD_*",
	"LOCALDOMAIN",
	"RES_OPTIONS",
	"HOSTALIASES",
	"SALLYPORT_*",
	"TMP",
	"TEMP",
	"TEMPDIR",
};

static const char own_prefix[] = "SALLYPORT_";

static size_t name_length(const char *entry)
{
	return strcspn(entry, "=");
}

static bool has_name(const char *entry, const char *name, size_t len)
{
	return entry[0] == name[0] && strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* A proxy that is configured for the host is unreachable inside, and its address may contain a
 * password. */
static bool is_proxy(const char *entry)
{
	static const char suffix[] = "_proxy";
	size_t len = name_length(entry);

	return len >= sizeof(suffix) - 1 &&
	       strncasecmp(entry + len - (sizeof(suffix) - 1), suffix, sizeof(suffix) - 1) == 0;
}

static bool is_dropped(const char *entry, enum env_kind kind)
{
	if (kind == ENV_UNCONFINED)
		return strncmp(entry, own_prefix, sizeof(own_prefix) - 1) == 0;
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
		size_t len = strlen(dropped[i]);

		if (dropped[i][len - 1] == '*' ? strncmp(entry, dropped[i], len - 1) == 0
					       : has_name(entry, dropped[i], len))
			return true;
	}
	return kind == ENV_GATE && is_proxy(entry);
}

static const char *find(const char *const *list, const char *name, size_t len)
{
	for (; list && *list; list++)
		if (has_name(*list, name, len))
			return *list;
	return NULL;
}

struct env {
	char **list;
	size_t count;
};

/* Takes @entry; it replaces one of the same name. */
static void put(struct env *env, char *entry)
{
	size_t len = name_length(entry);

	for (size_t i = 0; i < env->count; i++)
		if (has_name(env->list[i], entry, len)) {
			free(env->list[i]);
			env->list[i] = entry;
			return;
		}
	env->list[env->count++] = entry;
}

static bool is_injected(const struct variable *variable, enum env_kind kind)
{
	return kind == ENV_GATE || (kind == ENV_HOST_NETWORK && variable->is_general);
}

static char *value_of(const struct variable *variable, const char *const *host, const char *tmpdir)
{
	if (tmpdir && strcmp(variable->name, "TMPDIR") == 0)
		return mem_printf("TMPDIR=%s", tmpdir);

	const char *there = find(host, variable->name, strlen(variable->name));

	if (variable->is_appended && there)
		return mem_printf("%s %s", there, variable->value);
	return mem_printf("%s=%s", variable->name, variable->value);
}

char **env_build(const char *const *host, const char *const *set, enum env_kind kind,
		 const char *tmpdir)
{
	size_t room = mem_count_list(host) + ARRAY_SIZE(variables) + mem_count_list(set) + 1;
	struct env env = { .list = mem_new_array(room, sizeof(char *)) };

	/* Names set once need no search: an environment can be large. */
	for (const char *const *at = host; at && *at; at++)
		if ((*at)[name_length(*at)] == '=' && !is_dropped(*at, kind))
			env.list[env.count++] = mem_strdup(*at);
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (is_injected(&variables[i], kind))
			put(&env, value_of(&variables[i], host, tmpdir));
	for (const char *const *at = set; at && *at; at++) {
		size_t len = name_length(*at);
		const char *entry = (*at)[len] == '=' ? *at : find(host, *at, len);

		if (entry && len > 0)
			put(&env, mem_strdup(entry));
	}
	return env.list;
}

static const struct variable *find_variable(const char *entry)
{
	size_t len = name_length(entry);

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (strlen(variables[i].name) == len &&
		    strncasecmp(entry, variables[i].name, len) == 0)
			return &variables[i];
	return NULL;
}

/* @entry comes from a party that may not change the gate's variables: is the current value kept? */
static bool is_ours(const char *entry, const struct variable *variable, enum env_kind kind)
{
	if (strncasecmp(entry, own_prefix, sizeof(own_prefix) - 1) == 0)
		return true;
	return kind == ENV_GATE &&
	       (is_proxy(entry) || (variable && !variable->is_general && !variable->is_appended));
}

char **env_add(char **given, const char *const *host, const char *const *asked, enum env_kind kind)
{
	struct env env = { .list = given, .count = mem_count_list(given) };

	env.list = mem_grow(env.list, env.count + mem_count_list(asked) + 1, sizeof(*env.list));
	for (; asked && *asked; asked++) {
		size_t len = name_length(*asked);
		const char *entry = (*asked)[len] == '=' ? *asked : find(host, *asked, len);
		const struct variable *variable = find_variable(*asked);

		if (!entry || len == 0 || is_ours(*asked, variable, kind))
			continue;
		if (kind == ENV_GATE && variable && variable->is_appended)
			put(&env, mem_printf("%s %s", entry, variable->value));
		else
			put(&env, mem_strdup(entry));
	}
	env.list[env.count] = NULL;
	return env.list;
}

/* The entry of @name in @env, NULL-terminated; if there is none, a new place at the end, which is
 * NULL. */
static char **place_of(char ***env, const char *name)
{
	size_t len = strlen(name), n = 0;

	while ((*env)[n] && !has_name((*env)[n], name, len))
		n++;
	if (!(*env)[n]) {
		*env = mem_grow(*env, n + 2, sizeof(**env));
		(*env)[n] = (*env)[n + 1] = NULL;
	}
	return &(*env)[n];
}

/* @entry is taken. */
static void replace(char **place, char *entry)
{
	free(*place);
	*place = entry;
}

bool env_has(char *const *env, const char *name)
{
	return find((const char *const *)env, name, strlen(name)) != NULL;
}

char **env_append(char **env, const char *name, const char *value)
{
	char **place = place_of(&env, name);
	bool is_empty = !*place || (*place)[strlen(name) + 1] == '\0';

	replace(place,
		is_empty ? mem_printf("%s=%s", name, value) : mem_printf("%s %s", *place, value));
	return env;
}

char **env_set(char **env, const char *name, const char *value)
{
	replace(place_of(&env, name), mem_printf("%s=%s", name, value));
	return env;
}

char *env_injected(size_t index, enum env_kind kind, const char *tmpdir)
{
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
		if (is_injected(&variables[i], kind) && index-- == 0)
			return value_of(&variables[i], NULL, tmpdir);
	return NULL;
}
