#include "proxy/proxy.h"

#include <signal.h>
#include <sys/prctl.h>

#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/loop.h"
#include "gateway/gateway.h"
#include "policies/policies_image.h"
#include "proxy/confine.h"

/* Listeners and the channel to the exec's init, in the order of enum exec_egress_fd (exec/exec.h),
 * which this layer does not see. */
enum { WORKER_HTTP, WORKER_SOCKS, WORKER_INNER, WORKER_FDS };

struct worker {
	struct loop *loop;
	struct proxy *proxy;
	struct proxy_config config;
	struct policy *policy; /* one that came later than the first, owned */
	bool has_failed;
};

static void close_all(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		fd_close(fds[i]);
}

static void on_exec(uint64_t exec, int *fds, size_t count, void *arg)
{
	struct worker *worker = arg;
	int r;

	if (count == 0) {
		proxy_close(worker->proxy, exec);
		return;
	}
	if (count != WORKER_FDS) {
		log_error("exec %llu: %zu descriptors where %d were due: no way out",
			  (unsigned long long)exec, count, WORKER_FDS);
		close_all(fds, count);
		return;
	}
	r = proxy_open(worker->proxy, exec, fds[WORKER_HTTP], fds[WORKER_SOCKS], fds[WORKER_INNER]);
	if (r < 0)
		log_error("exec %llu: cannot listen: errno %d: no way out",
			  (unsigned long long)exec, -r);
}

static void on_gone(void *arg)
{
	struct worker *worker = arg;

	loop_stop(worker->loop);
}

/* What cannot be read cannot be gone by, and neither can what was: the way out closes. */
static void on_image(int image, void *arg)
{
	struct worker *worker = arg;
	struct policy *policy;
	struct err why = { 0 };
	int r = policy_image_open(image, &policy, &why);

	fd_close(image);
	if (r < 0) {
		log_error("the changed policy cannot be used: %s", why.text);
		worker->has_failed = true;
		loop_stop(worker->loop);
		return;
	}
	worker->config.policy = policy;
	proxy_policy_changed(worker->proxy);
	policy_free(worker->policy);
	worker->policy = policy;
}

/* What is meant for the command, or for the run as a whole, reaches the whole process group. The
 * worker's end is the gateway's to say, or the kernel's when the gateway dies. */
static int set_signals(struct err *why)
{
	static const int ignored[] = { SIGPIPE, SIGINT, SIGQUIT, SIGHUP, SIGTERM };

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		(void)signal(ignored[i], SIG_IGN); /* fails only for numbers that are no signals */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(why, -1, "the worker cannot tie its life to the gateway's");
	return 0;
}

static int run(struct worker *worker, struct gateway_client *client, struct err *why)
{
	worker->proxy = proxy_new(worker->loop, client, &worker->config, why);
	if (!worker->proxy)
		return -1;
	/* Everything that needs a file is open; not one hostile byte has been read. */
	if (set_signals(why) < 0 || confine_worker(why) < 0)
		return -1;
	return loop_run(worker->loop);
}

int proxy_worker(int socket, const struct proxy_config *config)
{
	struct worker worker = { .loop = loop_new(), .config = *config };
	struct gateway_client *client =
		gateway_client_connect(worker.loop, socket, on_exec, on_gone, &worker);
	struct err why = { 0 };
	int r = -1;

	if (client) {
		gateway_client_on_image(client, on_image, &worker);
		r = run(&worker, client, &why);
	}
	if (r < 0)
		log_error("proxy worker: %s", why.text);
	proxy_free(worker.proxy);
	gateway_client_free(client);
	loop_free(worker.loop);
	policy_free(worker.policy);
	return r < 0 || worker.has_failed ? 1 : 0;
}
