#include "proxy/upstream/resolve.h"

#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "proxy/upstream/cares.h"
#include "proxy/config.h"
#include "proxy/upstream/static_hosts.h"
#include "proxy/upstream/nameservers.h"
#include "proxy/upstream/resolve_impl.h"

#define HOSTS_PATH       "/etc/hosts"
#define HOSTS_MAX        (32U << 20) /* large enough for lists of a million names */
#define RESOLV_CONF_PATH "/etc/resolv.conf"
#define RESOLV_CONF_MAX  65536U

/* A missing file (-1) is like an empty one. */
static int read_open(int fd, size_t max_bytes, char **ret_text, struct err *why)
{
	if (fd >= 0)
		return fd_read_all(fd, max_bytes, ret_text, NULL, why);
	*ret_text = mem_strdup("");
	return 0;
}

static int read_file(const char *path, size_t max_bytes, char **ret_text, struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno != ENOENT)
		return err_errno(why, errno, "cannot open %s", path);
	int r = read_open(fd, max_bytes, ret_text, why);
	return r < 0 ? err_prefix(why, r, "%s", path) : 0;
}

static int read_host_config(char servers[NAMESERVERS_TEXT_MAX], char **ret_hosts, struct err *why)
{
	auto_free char *text = NULL;
	int r = read_file(RESOLV_CONF_PATH, RESOLV_CONF_MAX, &text, why);

	if (r < 0)
		return r;
	nameservers_parse(text, servers);
	return read_file(HOSTS_PATH, HOSTS_MAX, ret_hosts, why);
}

struct resolver *resolver_new(struct loop *loop, const struct proxy_config *config, struct err *why)
{
	struct resolver *resolver = mem_new(sizeof(*resolver));
	auto_free char *hosts = NULL;
	char servers[NAMESERVERS_TEXT_MAX];
	int r = 0;

	resolver->loop = loop;
	resolver->is_fixed = config->dns_addr.family != 0;
	LIST_INIT(&resolver->lookups);
	LIST_INIT(&resolver->kept);
	if (resolver->is_fixed)
		(void)addr_port_text(&config->dns_addr, config->dns_port ? config->dns_port : 53,
				     servers);
	else
		r = read_host_config(servers, &hosts, why);
	if (r == 0)
		resolver->cares = cares_new(loop, servers, resolver->is_fixed, why);
	resolver->known = static_hosts_new(config, take(hosts));
	if (!resolver->cares) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

void resolver_take_files(struct resolver *resolver, int resolv_conf, int hosts)
{
	auto_close int first = resolv_conf, second = hosts;
	auto_free char *text = NULL, *names = NULL;
	char servers[NAMESERVERS_TEXT_MAX];
	struct err why = { 0 };

	if (resolver->is_fixed)
		return;
	resolve_forget_all(resolver);
	if (read_open(first, RESOLV_CONF_MAX, &text, &why) == 0) {
		nameservers_parse(text, servers);
		cares_set_servers(resolver->cares, servers);
	} else {
		log_warn("cannot read %s again: %s", RESOLV_CONF_PATH, why.text);
	}
	if (read_open(second, HOSTS_MAX, &names, &why) == 0)
		static_hosts_set_hosts(resolver->known, take(names));
	else
		log_warn("cannot read %s again: %s", HOSTS_PATH, why.text);
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	resolve_drop_all(resolver);
	cares_free(resolver->cares); /* answers open questions, which frees the last lookups */
	static_hosts_free(resolver->known);
	free(resolver);
}
