/* test_exec: the cases of each file, gathered into one program. */
#pragma once

#include <check.h>

TCase *test_ansi(void);
TCase *test_egress(void);
TCase *test_env(void);
TCase *test_files(void);
TCase *test_hold(void);
TCase *test_intercept(void);
TCase *test_lifetime(void);
TCase *test_notify(void);
TCase *test_paths(void);
TCase *test_plan(void);
TCase *test_script(void);
TCase *test_pty(void);
TCase *test_read(void);
TCase *test_refusal(void);
TCase *test_result(void);
TCase *test_sockets(void);
TCase *test_view(void);
