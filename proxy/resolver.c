#include "proxy/resolve.h"

#include <errno.h>
#include <fcntl.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/mem.h"
#include "proxy/cares.h"
#include "proxy/known.h"
#include "proxy/nameservers.h"
#include "proxy/resolve_impl.h"

#define HOSTS_PATH       "/etc/hosts"
#define HOSTS_MAX        (32U << 20) /* lists of a million names exist */
#define RESOLV_CONF_PATH "/etc/resolv.conf"
#define RESOLV_CONF_MAX  65536U

/* A file that is not there is as good as empty. */
static int read_file(const char *path, size_t max_bytes, char **ret_text, struct err *why)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT) {
		*ret_text = mem_strdup("");
		return 0;
	}
	if (fd < 0)
		return err_errno(why, errno, "cannot open %s", path);
	int r = fd_read_all(fd, max_bytes, ret_text, NULL, why);
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
	LIST_INIT(&resolver->lookups);
	if (config->dns_addr.family != 0)
		(void)addr_port_text(&config->dns_addr, config->dns_port ? config->dns_port : 53,
				     servers);
	else
		r = read_host_config(servers, &hosts, why);
	if (r == 0)
		resolver->cares = cares_new(loop, servers, why);
	resolver->known = known_new(config, take(hosts));
	if (!resolver->cares) {
		resolver_free(resolver);
		return NULL;
	}
	return resolver;
}

void resolver_free(struct resolver *resolver)
{
	if (!resolver)
		return;
	resolve_drop_all(resolver);
	cares_free(resolver->cares); /* answers what is open, which frees the last lookups */
	known_free(resolver->known);
	free(resolver);
}
