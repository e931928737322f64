/* test_seccomp: the cases of each file, gathered into one program. */
#pragma once

#include <check.h>

TCase *test_tables(void);
TCase *test_kernel(void);
TCase *test_told(void);
