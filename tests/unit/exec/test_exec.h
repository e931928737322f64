/* test_exec: the cases of each file, gathered into one program. */
#pragma once

#include <check.h>

TCase *test_ansi(void);
TCase *test_changed(void);
TCase *test_clock(void);
TCase *test_drain(void);
TCase *test_egress(void);
TCase *test_env(void);
TCase *test_cgroup(void);
TCase *test_files(void);
TCase *test_hold(void);
TCase *test_intercept(void);
TCase *test_exec_run(void);
TCase *test_exec_free(void);
TCase *test_exec_session(void);
TCase *test_exec_stop(void);
TCase *test_lifetime(void);
TCase *test_notify(void);
TCase *test_notify_network(void);
TCase *test_output(void);
TCase *test_modes(void);
TCase *test_git_config(void);
TCase *test_paths(void);
TCase *test_plan(void);
TCase *test_program(void);
TCase *test_script(void);
TCase *test_pty(void);
TCase *test_read(void);
TCase *test_refusal(void);
TCase *test_result(void);
TCase *test_sandbox(void);
TCase *test_sockets(void);
TCase *test_stdio(void);
TCase *test_unconfined(void);
TCase *test_view(void);
