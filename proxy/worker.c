#include "proxy/proxy.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "gateway/gateway.h"
#include "gateway/gateway_drain.h"
#include "gateway/gateway_let_go.h"
#include "gateway/gateway_names.h"
#include "gateway/gateway_note.h"
#include "policies/policies_image.h"
#include "proxy/confine.h"

struct worker {
	struct loop *loop;
	struct proxy *proxy;
	struct gateway_client *client;
	struct proxy_config config;
	struct policy *policy; /* a policy that replaced the first one, owned */
	bool has_failed;
};

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
	struct worker *worker = arg;
	int r;

	if (count == 0) {
		proxy_close(worker->proxy, exec);
		return;
	}
	if (count != PROXY_FDS) {
		log_error("exec %llu: got %zu descriptors instead of %d; its network stays closed",
			  (unsigned long long)exec, count, PROXY_FDS);
		fd_close_all(fds, count);
		return;
	}
	r = proxy_open(worker->proxy, exec, fds);
	if (r < 0)
		log_error("exec %llu: cannot listen: %s; its network stays closed",
			  (unsigned long long)exec, strerror(-r));
}

static void on_gone(void *arg)
{
	struct worker *worker = arg;

	loop_stop(worker->loop);
}

/* Without a readable policy nothing can be decided, and the old one is outdated: end the worker. */
static void on_image(int image, void *arg)
{
	struct worker *worker = arg;
	struct policy *policy;
	struct err why = { 0 };
	int r = policy_image_open(image, &policy, &why);

	fd_close(image);
	if (r < 0) {
		log_error("cannot use the changed policy: %s", why.text);
		worker->has_failed = true;
		loop_stop(worker->loop);
		return;
	}
	worker->config.policy = policy;
	gateway_client_decide_by(worker->client, policy);
	proxy_policy_changed(worker->proxy);
	policy_free(worker->policy);
	worker->policy = policy;
}

static void on_names(int resolv_conf, int hosts, void *arg)
{
	struct worker *worker = arg;

	proxy_names_changed(worker->proxy, resolv_conf, hosts);
}

static void on_note(uint64_t exec, const char *text, void *arg)
{
	struct worker *worker = arg;

	proxy_note_refused(worker->proxy, exec, text);
}

static void on_drain(void *arg)
{
	struct worker *worker = arg;

	proxy_drain(worker->proxy);
}

/* Signals that are meant for the command or for the whole run reach the entire process group. Only
 * the gateway ends the worker, or the kernel when the gateway dies. */
static int set_signals(struct err *why)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN); /* fails only for invalid numbers */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(why, -1, "cannot make the worker end with the gateway");
	return 0;
}

static int run(struct worker *worker, struct err *why)
{
	worker->proxy = proxy_new(worker->loop, worker->client, &worker->config, why);
	if (!worker->proxy)
		return -1;
	/* Every file that is needed is open; no hostile byte has been read. */
	if (set_signals(why) < 0 || confine_worker(why) < 0)
		return -1;
	return loop_run(worker->loop);
}

int proxy_worker(int socket, const struct proxy_config *config)
{
	struct worker worker = { .loop = loop_new(), .config = *config };
	struct err why = { 0 };
	int r = -1;

	worker.client = gateway_client_connect(worker.loop, socket, on_exec, on_gone, &worker);
	if (worker.client) {
		struct gateway_client *client = worker.client;

		gateway_client_decide_by(client, config->policy);
		gateway_client_on_image(client, on_image, &worker);
		gateway_client_on_names(client, on_names, &worker);
		gateway_client_on_note(client, on_note, &worker);
		gateway_client_on_drain(client, on_drain, &worker);
		r = run(&worker, &why);
	}
	if (r < 0)
		log_error("proxy worker: %s", why.text);
	proxy_free(worker.proxy);
	gateway_client_free(worker.client);
	loop_free(worker.loop);
	policy_free(worker.policy);
	return r < 0 || worker.has_failed ? 1 : 0;
}
