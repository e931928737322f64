#include "exec/exec_platform.h"

#include <stddef.h>

const char *const *exec_platform(void)
{
	static const char *const paths[] = {
		/* programs and libraries */
		"/usr",
		"/bin",
		"/sbin",
		"/lib",
		"/lib32",
		"/lib64",
		"/libx32",
		"/nix/store",
		"/gnu/store",
		"/etc/alternatives",
		"/etc/ld.so.cache",
		"/etc/ld.so.conf",
		"/etc/ld.so.conf.d",
		/* certificates, without private keys */
		"/etc/ssl/certs",
		"/etc/ssl/cert.pem",
		"/etc/ssl/openssl.cnf",
		"/etc/pki/tls/certs",
		"/etc/pki/tls/openssl.cnf",
		"/etc/pki/ca-trust/extracted",
		"/etc/crypto-policies",
		/* names of users, hosts, ports and zones */
		"/etc/passwd",
		"/etc/group",
		"/etc/nsswitch.conf",
		"/etc/hosts",
		"/etc/host.conf",
		"/etc/protocols",
		"/etc/services",
		"/etc/mime.types",
		"/etc/locale.alias",
		"/etc/localtime",
		"/etc/timezone",
		"/etc/os-release",
		"/etc/terminfo",
		NULL,
	};

	return paths;
}
