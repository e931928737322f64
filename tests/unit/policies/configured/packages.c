#include "tests/unit/policies/configured/configured_test.h"

#include "base/mem.h"

#define NPMRC   CASE_HOME "/.npmrc"
#define PIPCONF CASE_HOME "/.config/pip/pip.conf"
#define GOENV   CASE_HOME "/.config/go/env"

static const struct configured_case cases[] = {
	{ .name = "npm: a mirror and a scope",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "; mirror of the company\n"
			      "registry=https://packages.example.org/npm/\n"
			      "@team:registry = \"https://team.example.org:8443/\"\n"
			      "//packages.example.org/npm/:_authToken=" CASE_SECRET "\n"
			      "proxy=http://proxy.example.org:3128\n" } },
	  .want = "https://packages.example.org:443 /home/ana/.npmrc:2\n"
		  "https://team.example.org:8443 /home/ana/.npmrc:3\n" },
	{ .name = "npm: the variable beats the file",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://packages.example.org/\n" } },
	  .variables = { { "NPM_CONFIG_REGISTRY", "https://ana:" CASE_SECRET "@ci.example.org/" } },
	  .want = "https://ci.example.org:443 $npm_config_registry\n" },
	{ .name = "npm: the user's file beats the global one",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://a.test\nprefix=/opt/node\n" },
		     { "/opt/node/etc/npmrc",
		       "registry=https://b.test\n@b:registry=http://c.test" },
		     { "/etc/npmrc", "@b:registry=http://d.test\n@d:registry=http://e.test" } },
	  .want = "https://a.test:443 /home/ana/.npmrc:1\n"
		  "http://c.test:80 /opt/node/etc/npmrc:2\n"
		  "http://e.test:80 /etc/npmrc:2\n" },
	{ .name = "npm: another user file",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://a.test\n" },
		     { "/etc/ci/npmrc", "registry=https://b.test\n" } },
	  .variables = { { "NPM_CONFIG_USERCONFIG", "/etc/ci/npmrc" } },
	  .want = "https://b.test:443 /etc/ci/npmrc:1\n" },
	{ .name = "npm: the project's file is the command's to write",
	  .tool = CONFIGURED_NPM,
	  .files = { { CASE_CWD "/.npmrc", "registry=https://evil.test\n" },
		     { NPMRC, "registry=https://a.test\n" } },
	  .want = "https://a.test:443 /home/ana/.npmrc:1\n",
	  .says = "/home/ana/project/.npmrc: not read, because a command could write it" },
	{ .name = "npm: a trusted project comes first",
	  .tool = CONFIGURED_NPM,
	  .files = { { CASE_CWD "/.npmrc", "registry=https://p.test\n" },
		     { NPMRC, "registry=https://a.test\n" } },
	  .is_project_trusted = true,
	  .want = "https://p.test:443 /home/ana/project/.npmrc:1\n" },
	{ .name = "npm: a user file put into the project",
	  .tool = CONFIGURED_NPM,
	  .files = { { CASE_CWD "/rc", "registry=https://evil.test\n" } },
	  .variables = { { "npm_config_userconfig", CASE_CWD "/rc" } },
	  .answer = "https://evil.test/\n",
	  .want = "",
	  .says = "npm was not asked for its default, because it would use the file" },
	{ .name = "npm: the project's file does not count for npm elsewhere",
	  .tool = CONFIGURED_NPM,
	  .files = { { CASE_CWD "/.npmrc", "registry=https://evil.test\n" } },
	  .answer = "https://a.test/\n",
	  .want = "https://a.test:443 npm config get registry\n",
	  .says = "/home/ana/project/.npmrc: not read" },
	{ .name = "go: a user file put into the project",
	  .tool = CONFIGURED_GO,
	  .files = { { CASE_CWD "/env", "GOPROXY=https://evil.test\n" } },
	  .variables = { { "GOENV", CASE_CWD "/env" } },
	  .answer = "https://evil.test\noff\n",
	  .want = "",
	  .says = "go was not asked for its default" },
	{ .name = "npm: nothing written, npm says",
	  .tool = CONFIGURED_NPM,
	  .answer = "https://asked.example.org/\n",
	  .want = "https://asked.example.org:443 npm config get registry\n" },
	{ .name = "npm: a scope alone leaves the default to be asked for",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "@team:registry=https://team.example.org\n" } },
	  .answer = "https://asked.example.org/\n",
	  .want = "https://team.example.org:443 /home/ana/.npmrc:1\n"
		  "https://asked.example.org:443 npm config get registry\n" },
	{ .name = "npm: not installed",
	  .tool = CONFIGURED_NPM,
	  .want = "",
	  .says = "npm could not be asked for its default (\"npm config get registry\"): it is "
		  "not installed" },
	{ .name = "npm: says undefined",
	  .tool = CONFIGURED_NPM,
	  .answer = "undefined\n",
	  .want = "",
	  .says = "npm names no registry" },
	{ .name = "npm: says something else",
	  .tool = CONFIGURED_NPM,
	  .answer = "npm ERR! no\n",
	  .says = "npm config get registry: the URL has blanks" },
	{ .name = "npm: a variable in the file",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://${REG}/npm\n" } },
	  .variables = { { "REG", "r.example.org" } },
	  .want = "https://r.example.org:443 /home/ana/.npmrc:1\n" },
	{ .name = "npm: a variable that is not set",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "\nregistry=https://${REG}/npm\n" } },
	  .says = "/home/ana/.npmrc:2: the value has a variable in ${} that is not set" },
	{ .name = "npm: a wildcard is no host",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://*.example.org/\n" } },
	  .says = "/home/ana/.npmrc:1: the host of the URL" },
	{ .name = "npm: everything is no host",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://*/\n" } },
	  .says = "/home/ana/.npmrc:1: the host of the URL" },
	{ .name = "npm: no URL",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=packages.example.org\n" } },
	  .says = "/home/ana/.npmrc:1: this is not a URL" },
	{ .name = "npm: a secret in a broken URL",
	  .tool = CONFIGURED_NPM,
	  .files = { { NPMRC, "registry=https://ana:" CASE_SECRET "@x@y.test/\n" } },
	  .says = "/home/ana/.npmrc:1: the URL has more than one @" },

	{ .name = "pip: index and extra indexes",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF,
		       "[global]\nindex-url = https://u:" CASE_SECRET "@pypi.example.org/simple\n"
		       "extra_index_url:\n    https://one.example.org/simple\n"
		       "    # in between\n    http://two.example.org:8080/simple\n"
		       "timeout = 60\n[install]\nfind-links =\n    /srv/wheels\n"
		       "    https://wheels.example.org/\n" } },
	  .want = "https://pypi.example.org:443 /home/ana/.config/pip/pip.conf:2\n"
		  "https://one.example.org:443 /home/ana/.config/pip/pip.conf:3\n"
		  "http://two.example.org:8080 /home/ana/.config/pip/pip.conf:3\n"
		  "https://wheels.example.org:443 /home/ana/.config/pip/pip.conf:9\n" },
	{ .name = "pip: variables beat files, one by one",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF,
		       "[global]\nindex-url=https://a.test\nextra-index-url=https://b.test" } },
	  .variables = { { "PIP_INDEX_URL", "https://c.test/simple" } },
	  .want = "https://c.test:443 $PIP_INDEX_URL\n"
		  "https://b.test:443 /home/ana/.config/pip/pip.conf:3\n" },
	{ .name = "pip: several extra indexes in a variable",
	  .tool = CONFIGURED_PIP,
	  .variables = { { "PIP_INDEX_URL", "https://a.test" },
			 { "PIP_EXTRA_INDEX_URL", "https://b.test  http://c.test" } },
	  .want = "https://a.test:443 $PIP_INDEX_URL\nhttps://b.test:443 $PIP_EXTRA_INDEX_URL\n"
		  "http://c.test:80 $PIP_EXTRA_INDEX_URL\n" },
	{ .name = "pip: links in a variable",
	  .tool = CONFIGURED_PIP,
	  .variables = { { "PIP_INDEX_URL", "https://a.test" },
			 { "PIP_FIND_LINKS", "https://f.test/links" } },
	  .want = "https://a.test:443 $PIP_INDEX_URL\nhttps://f.test:443 $PIP_FIND_LINKS\n" },
	{ .name = "pip: the user's file beats the machine's",
	  .tool = CONFIGURED_PIP,
	  .files = { { "/etc/pip.conf", "[global]\nindex-url=https://etc.test\n" },
		     { CASE_HOME "/.pip/pip.conf", "[global]\nindex-url=https://home.test\n" } },
	  .want = "https://home.test:443 /home/ana/.pip/pip.conf:2\n" },
	{ .name = "pip: a virtual environment in the project",
	  .tool = CONFIGURED_PIP,
	  .files = { { CASE_CWD "/.venv/pip.conf", "[global]\nindex-url=https://evil.test\n" },
		     { "/etc/pip.conf", "[global]\nindex-url=https://etc.test\n" } },
	  .variables = { { "VIRTUAL_ENV", CASE_CWD "/.venv" } },
	  .want = "https://etc.test:443 /etc/pip.conf:2\n",
	  .says = "/.venv/pip.conf: not read" },
	{ .name = "pip: no files",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF, "[global]\nindex-url=https://a.test\n" } },
	  .variables = { { "PIP_CONFIG_FILE", "/dev/null" } },
	  .want = "",
	  .says = "could not be asked for its default" },
	{ .name = "pip: nothing written, pip says",
	  .tool = CONFIGURED_PIP,
	  .answer = "https://index.example.org/simple\nhttps://files.example.org\n",
	  .want = "https://index.example.org:443 the index built into pip\n"
		  "https://files.example.org:443 the index built into pip\n" },
	{ .name = "pip: an index of one's own leaves the built-in one out",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF, "[global]\nindex-url=https://a.test\n" } },
	  .answer = "https://index.example.org/simple\n",
	  .want = "https://a.test:443 /home/ana/.config/pip/pip.conf:2\n" },
	{ .name = "pip: no sections",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF, "index-url=https://a.test\n" } },
	  .says = "/home/ana/.config/pip/pip.conf:1: the value is before the first [section]" },
	{ .name = "pip: an open section",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF, "# x\n[global\nindex-url=https://a.test\n" } },
	  .says = "/home/ana/.config/pip/pip.conf:2: this is not the name of a section" },
	{ .name = "pip: an invalid port",
	  .tool = CONFIGURED_PIP,
	  .files = { { PIPCONF, "[global]\nindex-url=https://a.test:99999/\n" } },
	  .says = "/home/ana/.config/pip/pip.conf:2: the port of the URL" },

	{ .name = "go: a list of proxies",
	  .tool = CONFIGURED_GO,
	  .variables = { { "GOPROXY", "https://go.example.org,https://go2.example.org|direct" },
			 { "GOSUMDB", "sum.example.org+1234+abcd" } },
	  .want = "https://go.example.org:443 $GOPROXY\nhttps://go2.example.org:443 $GOPROXY\n"
		  "https://sum.example.org:443 $GOSUMDB\n",
	  .says = "\"direct\" means the hosts of the modules" },
	{ .name = "go: its own file",
	  .tool = CONFIGURED_GO,
	  .files = { { GOENV, "# written by go env -w\nGOPROXY=https://go.example.org\n"
			      "GOSUMDB=sum.example.org https://go.example.org/sumdb\n" } },
	  .want = "https://go.example.org:443 /home/ana/.config/go/env:2\n" },
	{ .name = "go: the installation's file",
	  .tool = CONFIGURED_GO,
	  .files = { { "/opt/go/go.env", "GOPROXY=https://go.example.org\nGOSUMDB=off\n" } },
	  .variables = { { "GOROOT", "/opt/go" } },
	  .want = "https://go.example.org:443 /opt/go/go.env:1\n" },
	{ .name = "go: off",
	  .tool = CONFIGURED_GO,
	  .variables = { { "GOPROXY", "off" }, { "GOSUMDB", "off" } },
	  .want = "" },
	{ .name = "go: no file",
	  .tool = CONFIGURED_GO,
	  .files = { { GOENV, "GOPROXY=https://go.example.org\n" } },
	  .variables = { { "GOENV", "off" } },
	  .answer = "https://asked.example.org,file:///srv/go\nsum.example.org\n",
	  .want = "https://asked.example.org:443 go env GOPROXY GOSUMDB\n"
		  "https://sum.example.org:443 go env GOPROXY GOSUMDB\n" },
	{ .name = "go: what is set is not overridden by the answer",
	  .tool = CONFIGURED_GO,
	  .variables = { { "GOPROXY", "https://mine.example.org" } },
	  .answer = "https://asked.example.org\nsum.example.org\n",
	  .want = "https://mine.example.org:443 $GOPROXY\n"
		  "https://sum.example.org:443 go env GOPROXY GOSUMDB\n" },
	{ .name = "go: not installed",
	  .tool = CONFIGURED_GO,
	  .want = "",
	  .says = "go could not be asked" },
	{ .name = "go: an invalid line",
	  .tool = CONFIGURED_GO,
	  .files = { { GOENV, "GOPROXY https://go.example.org\n" } },
	  .says = "/home/ana/.config/go/env:1: the line is not NAME=value" },
};

START_TEST(package_tools)
{
	configured_test_case(&cases[_i]);
}
END_TEST

TCase *packages_cases(void)
{
	TCase *tcase = tcase_create("npm, pip, go");

	tcase_add_loop_test(tcase, package_tools, 0, ARRAY_SIZE(cases));
	return tcase;
}
