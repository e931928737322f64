#include "tests/unit/exec/test_exec.h"

#include <string.h>

#include "base/mem.h"
#include "exec/sandbox/env.h"

#define HTTP  "http://127.0.0.1:61128"
#define SOCKS "socks5h://127.0.0.1:61080"
#define JVM                                                                                        \
	"-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=61128"                                        \
	" -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=61128"                                     \
	" -Dhttp.nonProxyHosts="

/* The exact set: a variable that goes or comes shows here. */
static const char *const injected[] = {
	"HTTP_PROXY=" HTTP,
	"HTTPS_PROXY=" HTTP,
	"http_proxy=" HTTP,
	"https_proxy=" HTTP,
	"WS_PROXY=" HTTP,
	"WSS_PROXY=" HTTP,
	"ws_proxy=" HTTP,
	"wss_proxy=" HTTP,
	"grpc_proxy=" HTTP,
	"ALL_PROXY=" HTTP,
	"all_proxy=" HTTP,
	"FTP_PROXY=" HTTP,
	"ftp_proxy=" HTTP,
	"npm_config_proxy=" HTTP,
	"npm_config_https_proxy=" HTTP,
	"NPM_CONFIG_PROXY=" HTTP,
	"NPM_CONFIG_HTTPS_PROXY=" HTTP,
	"YARN_HTTP_PROXY=" HTTP,
	"YARN_HTTPS_PROXY=" HTTP,
	"BUNDLE_HTTP_PROXY=" HTTP,
	"BUNDLE_HTTPS_PROXY=" HTTP,
	"PIP_PROXY=" HTTP,
	"CARGO_HTTP_PROXY=" HTTP,
	"DOCKER_HTTP_PROXY=" HTTP,
	"DOCKER_HTTPS_PROXY=" HTTP,
	"RSYNC_PROXY=127.0.0.1:61128",
	"NO_PROXY=",
	"no_proxy=",
	"no_grpc_proxy=",
	"npm_config_noproxy=",
	"NPM_CONFIG_NOPROXY=",
	"BUNDLE_NO_PROXY=",
	"NODE_USE_ENV_PROXY=1",
	"ELECTRON_GET_USE_PROXY=true",
	"MAVEN_OPTS=" JVM " -Daether.connector.http.useSystemProperties=true"
	" -Daether.transport.apache.useSystemProperties=true",
	"GRADLE_OPTS=" JVM,
	"SBT_OPTS=" JVM,
	"SALLYPORT_SOCKS=" SOCKS,
	"SALLYPORT_NETWORK=restricted",
	"CODEX_SANDBOX_NETWORK_DISABLED=1",
	"CODEX_SANDBOX=sallyport",
	"TMPDIR=/tmp",
	"SALLYPORT_ACTIVE=1",
};

START_TEST(injects_exactly_these)
{
	auto_free_list char **env = env_build(NULL, NULL, ENV_GATE, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(injected); i++) {
		auto_free char *text = env_injected(i, ENV_GATE, NULL);

		ck_assert_ptr_nonnull(env[i]);
		ck_assert_str_eq(env[i], injected[i]);
		ck_assert_str_eq(text, injected[i]);
	}
	ck_assert_ptr_null(env[ARRAY_SIZE(injected)]);
	ck_assert_ptr_null(env_injected(ARRAY_SIZE(injected), ENV_GATE, NULL));
}
END_TEST

static const char *find(char **env, const char *name)
{
	const char *found = NULL;

	for (; *env; env++)
		if (strncmp(*env, name, strlen(name)) == 0 && (*env)[strlen(name)] == '=') {
			ck_assert_msg(!found, "%s is listed twice", name);
			found = *env;
		}
	return found;
}

/* One variable of the host, and its value inside (NULL: it is removed). */
static const struct {
	const char *host, *want;
} hosts[] = {
	{ "HOME=/home/ana", "HOME=/home/ana" },
	{ "EMPTY=", "EMPTY=" },
	{ "PATH=/bin", "PATH=/bin" },
	{ "SSH_AUTH_SOCK=/run/agent", NULL },
	{ "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus", NULL },
	{ "DBUS_STARTER_ADDRESS=x", NULL },
	{ "TMUX=/tmp/tmux-0/default,1,0", NULL },
	{ "TMUX_PANE=%1", NULL },
	{ "STY=1.pts", NULL },
	{ "XDG_RUNTIME_DIR=/run/user/0", NULL },
	{ "XDG_CONFIG_HOME=/c", "XDG_CONFIG_HOME=/c" },
	{ "DISPLAY=:0", NULL },
	{ "DISPLAYED=1", "DISPLAYED=1" },
	{ "WAYLAND_DISPLAY=w", NULL },
	{ "LD_PRELOAD=/evil.so", NULL },
	{ "LD_LIBRARY_PATH=/x", NULL },
	{ "GPG_AGENT_INFO=x", NULL },
	{ "LOCALDOMAIN=corp.test", NULL },
	{ "RES_OPTIONS=ndots:5", NULL },
	{ "HOSTALIASES=/x", NULL },
	{ "NOTIFY_SOCKET=/run/x", NULL },
	{ "LISTEN_FDS=3", NULL },
	{ "SALLYPORT_TOKEN=x", NULL },
	{ "SALLYPORT_ACTIVE=0", "SALLYPORT_ACTIVE=1" },
	{ "SALLYPORT_NETWORK=enabled", "SALLYPORT_NETWORK=restricted" },
	{ "CODEX_SANDBOX=seatbelt", "CODEX_SANDBOX=sallyport" },
	{ "CODEX_SANDBOX_NETWORK_DISABLED=", "CODEX_SANDBOX_NETWORK_DISABLED=1" },
	{ "TMPDIR=/var/big", "TMPDIR=/tmp" },
	{ "TEMP=/var/big", NULL },
	{ "http_proxy=http://ana:secret@proxy.corp.test:3128", "http_proxy=" HTTP },
	{ "HTTPS_PROXY=http://ana:secret@proxy.corp.test:3128", "HTTPS_PROXY=" HTTP },
	{ "NO_PROXY=localhost,10.0.0.0/8", "NO_PROXY=" },
	{ "YARN_NO_PROXY=x", NULL },
	{ "Socks_Proxy=socks://ana:secret@x.test", NULL },
	{ "GOPROXY=https://proxy.example.org", "GOPROXY=https://proxy.example.org" },
	{ "JAVA_TOOL_OPTIONS=-Xmx1g", "JAVA_TOOL_OPTIONS=-Xmx1g" }, /* its value is printed */
	{ "GRADLE_OPTS=-Dx=y", "GRADLE_OPTS=-Dx=y " JVM },
	{ "npm_config_noproxy=example.org", "npm_config_noproxy=" },
	{ "NOTHING", NULL }, /* no '=': not a variable */
};

START_TEST(passes_or_drops_the_hosts)
{
	const char *const host[] = { hosts[_i].host, NULL };
	auto_free_list char **env = env_build(host, NULL, ENV_GATE, NULL);
	auto_free char *name = mem_strndup(hosts[_i].host, strcspn(hosts[_i].host, "="));
	const char *found = find(env, name);

	if (!hosts[_i].want)
		ck_assert_ptr_null(found);
	else
		ck_assert_str_eq(found, hosts[_i].want);
}
END_TEST

/* --env NAME[=VALUE] against a host that has LD_PRELOAD, DISPLAY and HTTP_PROXY. */
static const struct {
	const char *set, *name, *want;
} sets[] = {
	{ "LD_PRELOAD", "LD_PRELOAD", "LD_PRELOAD=/mine.so" },
	{ "DISPLAY", "DISPLAY", "DISPLAY=:0" },
	{ "HTTP_PROXY", "HTTP_PROXY", "HTTP_PROXY=http://corp.test:1" },
	{ "ABSENT", "ABSENT", NULL },
	{ "NEW=a=b", "NEW", "NEW=a=b" },
	{ "TMPDIR=/w", "TMPDIR", "TMPDIR=/w" },
	{ "NO_PROXY=localhost", "NO_PROXY", "NO_PROXY=localhost" },
	{ "EMPTY=", "EMPTY", "EMPTY=" },
	{ "=x", "", NULL },
};

START_TEST(obeys_env_options)
{
	const char *const host[] = { "LD_PRELOAD=/mine.so", "DISPLAY=:0",
				     "HTTP_PROXY=http://corp.test:1", NULL };
	const char *const set[] = { sets[_i].set, NULL };
	auto_free_list char **env = env_build(host, set, ENV_GATE, NULL);
	const char *found = find(env, sets[_i].name);

	if (!sets[_i].want)
		ck_assert_ptr_null(found);
	else
		ck_assert_str_eq(found, sets[_i].want);
}
END_TEST

TCase *test_env(void)
{
	TCase *tcase = tcase_create("env");

	tcase_add_test(tcase, injects_exactly_these);
	tcase_add_loop_test(tcase, passes_or_drops_the_hosts, 0, ARRAY_SIZE(hosts));
	tcase_add_loop_test(tcase, obeys_env_options, 0, ARRAY_SIZE(sets));
	return tcase;
}
