/* parse_test: the cases of one file each, on bytes that may hold NULs. */
#pragma once

#include <check.h>

#include "tests/unit/base/http1/http1_test.h"

TCase *dns_cases(void);
TCase *handshake_cases(void);
TCase *hello_cases(void);
TCase *packet_cases(void);
TCase *socks5_cases(void);
