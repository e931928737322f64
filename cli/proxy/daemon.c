/* `sallyport proxy`: a gate without commands. Its clients are programs that run in no sandbox of
 * ours; each that is known has an exec, so that rules, questions, answers and records tell them
 * apart. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/gate/conclude.h"
#include "cli/gate/gate.h"
#include "cli/gate/run_reload.h"
#include "cli/options.h"
#include "cli/proxy/clients.h"
#include "cli/proxy/listeners.h"
#include "cli/proxy/local_socket.h"
#include "cli/proxy/manager.h"
#include "cli/report/run_summary.h"
#include "cli/run/run_options.h"
#include "gateway/gateway.h"
#include "gateway/gateway_drain.h"

#define DRAIN_DEFAULT_MS 30000
#define FINISH_MS        2000 /* for the worker to report the requests that are left */

static const int watched[] = { SIGINT, SIGTERM, SIGHUP };

/* In the order of its end. */
enum daemon_state { DAEMON_SERVING, DAEMON_DRAINING, DAEMON_FINISHING };

struct daemon {
	struct run_options options;
	struct clients clients;
	struct proxy_service service;
	struct local_sockets sockets;
	struct gate gate;
	struct event signals[ARRAY_SIZE(watched)];
	enum daemon_state state;
	bool has_signals, is_failed, is_reloading;
	char failure[GATE_WHY_MAX];
	int64_t drain_ms, started_ms;
	struct loop_timer patience;
};

static void on_finished(void *arg)
{
	struct daemon *daemon = arg;

	loop_stop(daemon->gate.loop);
}

/* Ends what is still open. */
static void finish(void *arg)
{
	struct daemon *daemon = arg;
	struct gateway *gateway = daemon->gate.gateway;

	if (daemon->state == DAEMON_FINISHING)
		return;
	daemon->state = DAEMON_FINISHING;
	gate_workers_end_starters(&daemon->gate);
	loop_timer_stop(&daemon->patience);
	for (size_t i = 0; i < daemon->clients.count; i++)
		gateway_exec_end(gateway, i + 1, 0);
	gateway_finish(gateway, FINISH_MS, on_finished, daemon);
}

static void drain(struct daemon *daemon)
{
	daemon->state = DAEMON_DRAINING;
	gate_workers_end_starters(&daemon->gate);
	manager_tell("STOPPING=1");
	loop_timer_start(daemon->gate.loop, &daemon->patience, daemon->drain_ms, finish, daemon);
	gateway_drain(daemon->gate.gateway, finish, daemon);
}

static void reload(struct daemon *daemon)
{
	daemon->is_reloading = true;
	manager_tell_reloading();
	run_reload_now(daemon->gate.reload);
}

static void on_read(void *arg)
{
	struct daemon *daemon = arg;

	if (!daemon->is_reloading)
		return;
	daemon->is_reloading = false;
	manager_tell("READY=1");
}

/* The first signal lets open connections end; the second ends them. */
static void on_signal(evutil_socket_t signal, short what, void *arg)
{
	struct daemon *daemon = arg;

	if (signal != SIGHUP && daemon->state == DAEMON_SERVING)
		drain(daemon);
	else if (signal != SIGHUP)
		finish(daemon);
	else if (daemon->state == DAEMON_SERVING)
		reload(daemon);
}

static void on_worker_gone(const char *why, void *arg)
{
	struct daemon *daemon = arg;

	(void)snprintf(daemon->failure, sizeof(daemon->failure), "%s", why);
	daemon->is_failed = true;
	loop_stop(daemon->gate.loop);
}

static void watch_signals(struct daemon *daemon)
{
	for (size_t i = 0; i < ARRAY_SIZE(watched); i++) {
		event_assign(&daemon->signals[i], loop_base(daemon->gate.loop), watched[i],
			     EV_SIGNAL | EV_PERSIST, on_signal, daemon);
		event_add(&daemon->signals[i], NULL);
	}
	daemon->has_signals = true;
	gate_ignore_signals();
}

/* Its words are what `from` of a rule names: "client NAME". */
static void begin_client(struct daemon *daemon, size_t index)
{
	const char *const argv[] = { "client", daemon->clients.names[index], NULL };
	auto_free char *command = mem_printf("%s %s", argv[0], argv[1]);

	gateway_exec_begin(daemon->gate.gateway, index + 1, command);
	gateway_exec_set_argv(daemon->gate.gateway, index + 1, argv);
}

static int start_workers(struct daemon *daemon)
{
	daemon->gate.service = &daemon->service;
	int status = gate_workers_start(&daemon->gate);

	for (size_t i = 1; status == CLI_OK && i < daemon->service.shares; i++) {
		status = listeners_repeat(&daemon->service);
		if (status == CLI_OK)
			status = gate_workers_start(&daemon->gate);
	}
	return status;
}

static int begin(struct daemon *daemon)
{
	const struct gate_calls calls = {
		.on_worker_gone = on_worker_gone,
		.on_read = on_read,
		.arg = daemon,
	};
	int status = gate_prepare(&daemon->gate, &daemon->options);

	if (status == CLI_OK)
		status = gate_open(&daemon->gate, &calls);
	if (status == CLI_OK)
		status = gate_keep_files(&daemon->gate);
	if (status != CLI_OK)
		return status;
	for (size_t i = 0; i < daemon->clients.count; i++)
		begin_client(daemon, i);
	return start_workers(daemon);
}

static int conclude_daemon(const struct daemon *daemon)
{
	struct run_summary summary = { 0 };
	int status =
		conclude(&daemon->gate, &summary, daemon->is_failed, CLI_OK, daemon->started_ms);

	if (daemon->is_failed)
		(void)cli_fail(0, "%s", daemon->failure);
	return status;
}

static int serve(struct daemon *daemon)
{
	int status = begin(daemon);

	if (status != CLI_OK)
		return status;
	daemon->started_ms = loop_now_ms(daemon->gate.loop);
	gate_watch(&daemon->gate);
	gate_forget_writable(&daemon->gate);
	watch_signals(daemon); /* after the fork: the worker inherits no handlers */
	listeners_announce(&daemon->service, &daemon->sockets);
	listeners_close(&daemon->service); /* the worker has them */
	manager_tell("READY=1");
	if (loop_run(daemon->gate.loop) < 0)
		return cli_fail(CLI_NO_SANDBOX,
				"the event loop failed; all connections are closed");
	return conclude_daemon(daemon);
}

static void daemon_done(struct daemon *daemon)
{
	for (size_t i = 0; daemon->has_signals && i < ARRAY_SIZE(watched); i++)
		event_del(&daemon->signals[i]);
	loop_timer_stop(&daemon->patience);
	gate_close(&daemon->gate);
	gate_free(&daemon->gate);
	listeners_close(&daemon->service);
	local_socket_remove(&daemon->sockets);
	clients_free(&daemon->clients);
	run_options_free(&daemon->options);
}

static int take_options(struct daemon *daemon, const struct options *given)
{
	/* The name of the gate in records; this command is never run. */
	static const char *const command[] = { "sallyport-proxy", NULL };
	const char *time = options_get(given, OPT_DRAIN),
		   *workers = options_get(given, OPT_WORKERS);
	uint64_t count = 1;
	int status = run_options_take(&daemon->options, given);

	daemon->options.command = command;
	daemon->drain_ms = DRAIN_DEFAULT_MS;
	if (status == CLI_OK && time && text_to_duration_ms(time, &daemon->drain_ms) < 0)
		status = options_wrong(CLI_PROXY, "--drain needs a time such as 30s");
	if (status == CLI_OK && workers &&
	    (text_to_u64(workers, strlen(workers), GATE_WORKERS_MAX, &count) < 0 || count == 0))
		status = options_wrong(CLI_PROXY, "--workers needs a number from 1 to %d",
				       GATE_WORKERS_MAX);
	daemon->service.shares = (size_t)count;
	return status == CLI_OK ? clients_take(&daemon->clients, given) : status;
}

int cli_proxy(const struct options *options)
{
	struct daemon daemon = { .gate = GATE_NONE };
	int status = take_options(&daemon, options);

	if (status == CLI_OK)
		status = listeners_open(options, &daemon.clients, &daemon.sockets, &daemon.service);
	clients_fill(&daemon.clients, &daemon.service);
	if (status == CLI_OK)
		status = serve(&daemon);
	daemon_done(&daemon);
	return status;
}
