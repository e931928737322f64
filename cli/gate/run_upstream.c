#include "cli/gate/run_upstream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/crypto/tls.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/view/run_places.h"
#include "policies/policies_upstream.h"

#define LOGIN_MAX       4096       /* bytes of its file */
#define AUTHORITIES_MAX (4U << 20) /* the same; that of Debian has 220 KB */

/* The value of the variable @lower or @upper, as curl and others look for it; NULL: neither has
 * one. *@ret_name: which. */
static const char *variable(const char *lower, const char *upper, const char **ret_name)
{
	const char *value = getenv(lower);

	*ret_name = lower;
	if (value && value[0])
		return value;
	*ret_name = upper;
	value = getenv(upper);
	return value && value[0] ? value : NULL;
}

/* Reads the proxy of a variable; leaves @ret as it is when there is none. */
static int read_variable(const char *lower, const char *upper, struct policy_upstream *ret)
{
	const char *name, *value = variable(lower, upper, &name);
	struct err why = { 0 };

	if (!value || policy_upstream_parse(value, ret, &why) == 0)
		return CLI_OK;
	return cli_fail(CLI_NO_SANDBOX,
			"the environment variable %s: %s; correct it, or unset it, or write "
			"`upstream none` in a policy, to connect without a proxy",
			name, why.text);
}

static int read_environment(struct policy_upstreams *ret)
{
	int status = read_variable("all_proxy", "ALL_PROXY", &ret->other);

	ret->http = ret->https = ret->other;
	if (status == CLI_OK)
		status = read_variable("http_proxy", "HTTP_PROXY", &ret->http);
	if (status == CLI_OK)
		status = read_variable("https_proxy", "HTTPS_PROXY", &ret->https);
	/* Other protocols need a tunnel too. */
	if (ret->other.kind == POLICY_UPSTREAM_NONE)
		ret->other = ret->https;
	return status;
}

/* The path of a file of the `upstream` line, owned; NULL: an error was printed. */
static char *expand(const struct run_places *places, const char *word, const char *file)
{
	char *path = run_places_expand(places, file);

	if (!path)
		(void)cli_fail(CLI_NO_SANDBOX,
			       "HOME is not set, and the policy says %s %s; set HOME", word, file);
	return path;
}

/* Reads the login of the `upstream` line. */
static int read_login(const struct run_places *places, const char *file,
		      struct policy_upstream *upstream)
{
	auto_free char *path = expand(places, "credentials-file", file);
	auto_free char *text = NULL;
	struct err why = { 0 };
	size_t len = 0;

	if (!path)
		return CLI_NO_SANDBOX;
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int r = fd < 0 ? err_errno(&why, errno, "cannot open it")
		       : fd_read_all(fd, LOGIN_MAX, &text, &len, &why);

	if (r == 0)
		r = policy_upstream_set_login(upstream, text, &why);
	if (text)
		explicit_bzero(text, len);
	return r < 0 ? cli_fail(CLI_NO_SANDBOX, "credentials-file %s of `upstream`: %s", path,
				why.text)
		     : CLI_OK;
}

static int open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

const char *run_upstream_named_authorities(void)
{
	const char *named = getenv("SSL_CERT_FILE"); /* as OpenSSL and curl have it */

	return named && named[0] ? named : NULL;
}

int run_upstream_open_authorities(const char **ret_path)
{
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/ssl/ca-bundle.pem",             /* openSUSE */
		"/etc/ssl/cert.pem",
	};
	const char *named = run_upstream_named_authorities();
	int fd = -ENOENT;

	*ret_path = named ? named : bundles[0];
	if (named)
		return open_file(named);
	for (size_t i = 0; i < ARRAY_SIZE(bundles) && fd == -ENOENT; i++)
		fd = open_file(bundles[i]);
	return fd;
}

static bool has_tls(const struct policy_upstreams *upstreams)
{
	return upstreams->http.is_tls || upstreams->https.is_tls || upstreams->other.is_tls;
}

/* Puts the authorities behind @upstreams, because the worker opens no file. @named: NULL: the
 * policy names no file of them. */
static int read_authorities(struct policy_upstreams **upstreams, const char *named)
{
	struct err why = { 0 };
	auto_free char *text = NULL;
	struct tls_trust *trust = NULL;
	const char *path = named;
	size_t len = 0;
	auto_close int fd = named ? open_file(named) : run_upstream_open_authorities(&path);
	int r = fd < 0 ? err_errno(&why, -fd, "cannot open it")
		       : fd_read_all(fd, AUTHORITIES_MAX, &text, &len, &why);

	if (r == 0)
		r = tls_trust_new(text, len, &trust, &why);
	tls_trust_free(trust);
	if (r < 0)
		return cli_fail(CLI_NO_SANDBOX,
				"the upstream proxy has TLS, and whom to trust is read from %s: "
				"%s; %s to a file of certificates",
				path, why.text, named ? "set its ca-file" : "set SSL_CERT_FILE");
	*upstreams = mem_grow(*upstreams, 1, sizeof(**upstreams) + len + 1);
	char *end = (char *)(*upstreams + 1);

	memcpy(end, text, len);
	end[len] = '\0';
	(*upstreams)->authorities = end;
	return CLI_OK;
}

static int find(const struct policy *policy, const struct run_places *places,
		struct policy_upstreams *ret, char **ret_authorities)
{
	const char *name, *direct = variable("no_proxy", "NO_PROXY", &name);
	struct policy_upstream_files files;
	int status = CLI_OK;

	ret->direct = direct ? direct : "";
	if (!policy_get_upstream(policy, &ret->https, &files))
		return read_environment(ret);
	if (files.login)
		status = read_login(places, files.login, &ret->https);
	ret->http = ret->other = ret->https;
	if (status != CLI_OK || !files.authorities)
		return status;
	*ret_authorities = expand(places, "ca-file", files.authorities);
	return *ret_authorities ? CLI_OK : CLI_NO_SANDBOX;
}

int run_upstream_find(const struct policy *policy, const struct run_places *places,
		      struct policy_upstreams **ret)
{
	struct policy_upstreams *upstreams = mem_new(sizeof(*upstreams));
	auto_free char *authorities = NULL;
	int status = find(policy, places, upstreams, &authorities);

	if (status == CLI_OK && has_tls(upstreams))
		status = read_authorities(&upstreams, authorities);
	if (status != CLI_OK || (upstreams->http.kind == POLICY_UPSTREAM_NONE &&
				 upstreams->https.kind == POLICY_UPSTREAM_NONE)) {
		free(upstreams);
		return status;
	}
	*ret = upstreams;
	return CLI_OK;
}

char *run_upstream_text(const struct policy_upstreams *upstreams)
{
	char http[POLICY_UPSTREAM_TEXT_MAX] = "", https[POLICY_UPSTREAM_TEXT_MAX] = "";
	char other[POLICY_UPSTREAM_TEXT_MAX] = "";

	if (!upstreams)
		return NULL;
	if (upstreams->https.kind != POLICY_UPSTREAM_NONE)
		(void)policy_upstream_text(&upstreams->https, https);
	if (upstreams->http.kind != POLICY_UPSTREAM_NONE)
		(void)policy_upstream_text(&upstreams->http, http);
	if (upstreams->other.kind != POLICY_UPSTREAM_NONE)
		(void)policy_upstream_text(&upstreams->other, other);
	bool has_http = http[0] && strcmp(http, https) != 0;
	bool has_other = other[0] && strcmp(other, https) != 0 && strcmp(other, http) != 0;

	return mem_printf("%s%s%s%s%s", https, https[0] && has_http ? " and " : "",
			  has_http ? http : "", has_other ? " and " : "", has_other ? other : "");
}
