/* test_base: the cases of each file, gathered into one program. */
#pragma once

#include <check.h>

TCase *test_addr(void);
TCase *test_digest(void);
TCase *test_frame(void);
TCase *test_aside(void);
TCase *test_helper(void);
TCase *test_keeper(void);
TCase *test_loop(void);
TCase *test_local(void);
TCase *test_page_head(void);
TCase *test_page_peer(void);
TCase *test_replace(void);
TCase *test_sign(void);
TCase *test_text(void);
TCase *test_user(void);
TCase *test_watch(void);
TCase *test_log(void);
TCase *test_toml(void);
