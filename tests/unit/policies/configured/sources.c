#include "tests/unit/policies/configured/configured_test.h"

#include "base/mem.h"

#define CARGO    CASE_HOME "/.cargo/config.toml"
#define SETTINGS CASE_HOME "/.m2/settings.xml"
#define APT      "/etc/apt/sources.list"
#define DAEMON   "/etc/docker/daemon.json"
#define CLIENT   CASE_HOME "/.docker/config.json"

#define MIRROR(url)                                                                                \
	"<settings><mirrors><mirror><mirrorOf>x</mirrorOf><url>" url                               \
	"</url></mirror></mirrors></settings>"

static const struct configured_case cases[] = {
	{ .name = "cargo: a mirror",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CARGO,
		       "[build]\nrustflags = [\n  \"-C\", # why\n  'link-arg=x',\n]\njobs = 4\n"
		       "[source.crates-io]\nreplace-with = \"company\"\n"
		       "[source.company]\nregistry = \"sparse+https://crates.example.org/\"\n"
		       "[registries]\nteam = { index = \"https://git.example.org:8443/i\" }\n"
		       "[net]\ngit-fetch-with-cli = true\n" } },
	  .want = "https://crates.example.org:443 /home/ana/.cargo/config.toml:10\n"
		  "https://git.example.org:8443 /home/ana/.cargo/config.toml:12\n" },
	{ .name = "cargo: dotted and quoted keys, ssh",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CARGO, "registries.\"a.b\".index = 'ssh://git@git.example.org/index.git'\n"
			      "source.vendored.directory = \"vendor\"\n"
			      "source.crates-io.replace-with = \"vendored\"\n" } },
	  .want = "tcp://git.example.org:22 /home/ana/.cargo/config.toml:1\n",
	  .says = "the source that replaces it names no host" },
	{ .name = "cargo: a folder of its own, the old name",
	  .tool = CONFIGURED_CARGO,
	  .files = { { "/opt/cargo/config", "[registries.x]\nindex='https://x.test'\n" } },
	  .variables = { { "CARGO_HOME", "/opt/cargo" } },
	  .want = "https://x.test:443 /opt/cargo/config:2\n",
	  .says = "sh could not be asked" },
	{ .name = "cargo: its variables are not read",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CARGO, "[registries.x]\nindex = \"https://x.test\"\n" } },
	  .variables = { { "CARGO_REGISTRIES_X_INDEX", "https://y.test" } },
	  .want = "https://x.test:443 /home/ana/.cargo/config.toml:2\n",
	  .says = "sh could not be asked" },
	{ .name = "cargo: its default",
	  .tool = CONFIGURED_CARGO,
	  .answer = "    Updating index\nerror: failed to fetch `https://crates.example.org/i`\n",
	  .want = "https://crates.example.org:443 cargo search\n" },
	{ .name = "cargo: its default is not known",
	  .tool = CONFIGURED_CARGO,
	  .answer = "sh: 1: cargo: not found\n",
	  .want = "",
	  .says = "cargo did not tell it" },
	{ .name = "cargo: the project's file",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CASE_CWD "/.cargo/config.toml",
		       "[registries.x]\nindex='https://x.test'\n" } },
	  .want = "",
	  .says = "/project/.cargo/config.toml: not read" },
	{ .name = "cargo: not closed",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CARGO, "[registries.x]\n\nindex = \"https://x.test\n" } },
	  .says = "/home/ana/.cargo/config.toml:3: the string is not closed" },
	{ .name = "cargo: a wildcard",
	  .tool = CONFIGURED_CARGO,
	  .files = { { CARGO, "[registries.x]\nindex = \"https://*/\"\n" } },
	  .says = "/home/ana/.cargo/config.toml:2: the host of the URL" },

	{ .name = "maven: mirrors and profiles",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { SETTINGS,
		       "<?xml version=\"1.0\"?>\n<settings xmlns=\"http://maven.example.org/x\">\n"
		       "<servers><server><id>a</id><password>" CASE_SECRET
		       "</password></server></servers>\n"
		       "<!-- "
		       "<mirrors><mirror><url>https://not.example.org</url></mirror></mirrors> "
		       "-->\n"
		       "<mirrors><mirror>\n<id>m</id><mirrorOf>*</mirrorOf>\n"
		       "<url>https://ana:" CASE_SECRET "@maven.example.org/r?a=1&amp;b=2</url>\n"
		       "</mirror></mirrors>\n"
		       "<profiles><profile><repositories><repository>\n"
		       "<url>${env.REPO}/releases</url></repository></repositories>\n"
		       "<pluginRepositories><pluginRepository><url>\nhttp://p.example.org:8081/\n"
		       "</url></pluginRepository></pluginRepositories></profile></profiles>\n"
		       "</settings>\n" } },
	  .variables = { { "REPO", "https://repo.example.org" } },
	  .want = "https://maven.example.org:443 /home/ana/.m2/settings.xml:7\n"
		  "https://repo.example.org:443 /home/ana/.m2/settings.xml:10\n"
		  "http://p.example.org:8081 /home/ana/.m2/settings.xml:11\n" },
	{ .name = "maven: a blocked mirror is no destination",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { "/etc/maven/settings.xml",
		       "<settings><mirrors><mirror><mirrorOf>external:http:*</mirrorOf>"
		       "<url>http://0.0.0.0/</url><blocked>true</blocked></mirror>"
		       "<mirror><mirrorOf>central</mirrorOf><url>https://a.test</url></mirror>"
		       "</mirrors></settings>" } },
	  .want = "https://a.test:443 /etc/maven/settings.xml:1\n" },
	{ .name = "maven: the installation's file",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { "/opt/maven/conf/settings.xml", MIRROR("https://a.test") } },
	  .variables = { { "MAVEN_HOME", "/opt/maven" } },
	  .want = "https://a.test:443 /opt/maven/conf/settings.xml:1\n",
	  .says = "name no mirror" },
	{ .name = "maven: the installation's file, by the old variable",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { "/opt/maven/conf/settings.xml", MIRROR("https://a.test") } },
	  .variables = { { "M2_HOME", "/opt/maven" } },
	  .want = "https://a.test:443 /opt/maven/conf/settings.xml:1\n",
	  .says = "name no mirror" },
	{ .name = "maven: a wider property",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { SETTINGS, "<settings><mirrors><mirror>\n<url>${my.url}</url>"
				 "</mirror></mirrors></settings>" } },
	  .says = "/home/ana/.m2/settings.xml:2: the URL has a property" },
	{ .name = "maven: entities that grow",
	  .tool = CONFIGURED_MAVEN,
	  .files = { { SETTINGS, "<!DOCTYPE s [<!ENTITY a \"b\">]>\n<settings>&a;</settings>" } },
	  .says = "/home/ana/.m2/settings.xml:1: column 13: a document type" },
	{ .name = "maven: nothing",
	  .tool = CONFIGURED_MAVEN,
	  .want = "",
	  .says = "name no mirror" },

	{ .name = "apt: the one-line form",
	  .tool = CONFIGURED_APT,
	  .files = { { APT, "# comment\n\n"
			    "deb [arch=amd64 signed-by=/usr/share/keyrings/x.gpg] "
			    "https://deb.example.org/debian bookworm main # why\n"
			    "deb-src http://deb.example.org/debian bookworm main\n"
			    "deb cdrom:[Disc]/ bookworm main\n"
			    "deb http://u:" CASE_SECRET "@apt.example.org:8080/x ./\n" } },
	  .want = "https://deb.example.org:443 /etc/apt/sources.list:3\n"
		  "http://deb.example.org:80 /etc/apt/sources.list:4\n"
		  "http://apt.example.org:8080 /etc/apt/sources.list:6\n" },
	{ .name = "apt: mirrors and other ways",
	  .tool = CONFIGURED_APT,
	  .files = { { APT, "deb mirror+https://m.example.org/list bookworm main\n"
			    "deb tor+http://x.example.org/ bookworm main\n" } },
	  .want = "https://m.example.org:443 /etc/apt/sources.list:1\n",
	  .says = "/etc/apt/sources.list:2: left out" },
	{ .name = "apt: no suite",
	  .tool = CONFIGURED_APT,
	  .files = { { APT, "deb https://deb.example.org/\n" } },
	  .says = "/etc/apt/sources.list:1: the line has no URI and no suite" },
	{ .name = "apt: another word",
	  .tool = CONFIGURED_APT,
	  .files = { { APT, "rpm https://deb.example.org/ x y\n" } },
	  .says = "/etc/apt/sources.list:1: the line begins with neither deb nor deb-src" },
	{ .name = "apt: open options",
	  .tool = CONFIGURED_APT,
	  .files = { { APT, "deb [arch=amd64 https://deb.example.org/ x y\n" } },
	  .says = "/etc/apt/sources.list:1: the options have no closing ]" },

	{ .name = "docker: mirrors and insecure registries",
	  .tool = CONFIGURED_DOCKER,
	  .files = { { DAEMON,
		       "{\"registry-mirrors\": [\"https://mirror.example.org\"],\n"
		       " \"insecure-registries\": [\"reg.example.org:5000\", \"10.0.0.0/8\"]}" },
		     { CLIENT,
		       "{\"auths\": {\"https://hub.example.org/v1/\": {\"auth\": \"" CASE_SECRET
		       "\"}, \"c.example.org:5001\": {}}}" } },
	  .want = "https://mirror.example.org:443 /etc/docker/daemon.json: registry-mirrors\n"
		  "https://reg.example.org:5000 /etc/docker/daemon.json: insecure-registries\n"
		  "http://reg.example.org:5000 /etc/docker/daemon.json: insecure-registries\n"
		  "https://hub.example.org:443 /home/ana/.docker/config.json: auths\n"
		  "https://c.example.org:5001 /home/ana/.docker/config.json: auths\n",
	  .says = "left out, because it is a block of addresses" },
	{ .name = "docker: a folder of its own, credential helpers",
	  .tool = CONFIGURED_DOCKER,
	  .files = { { "/opt/docker/config.json",
		       "{\"credHelpers\": {\"reg.example.org\": \"pass\"}}" },
		     { CLIENT, "{\"auths\": {\"other.example.org\": {}}}" } },
	  .variables = { { "DOCKER_CONFIG", "/opt/docker" } },
	  .want = "https://reg.example.org:443 /opt/docker/config.json: credHelpers\n",
	  .says = "docker cannot be asked for it" },
	{ .name = "docker: not JSON",
	  .tool = CONFIGURED_DOCKER,
	  .files = { { CLIENT, "{\n \"auths\": {\"a\": \"" CASE_SECRET " }\n}" } },
	  .says = "/home/ana/.docker/config.json:" },
	{ .name = "docker: not a list",
	  .tool = CONFIGURED_DOCKER,
	  .files = { { DAEMON, "{\"registry-mirrors\": \"https://a.test\"}" } },
	  .says = "/etc/docker/daemon.json: registry-mirrors: not a list" },
	{ .name = "docker: a wildcard",
	  .tool = CONFIGURED_DOCKER,
	  .files = { { DAEMON, "{\"insecure-registries\": [\"*\"]}" } },
	  .says = "/etc/docker/daemon.json: insecure-registries: the host of the URL" },
};

START_TEST(source_tools)
{
	configured_test_case(&cases[_i]);
}
END_TEST

TCase *sources_cases(void)
{
	TCase *tcase = tcase_create("cargo, maven, apt, docker");

	tcase_add_loop_test(tcase, source_tools, 0, ARRAY_SIZE(cases));
	return tcase;
}
