/* exchange_test: functions that the cases of this folder share. */
#pragma once

#include <check.h>

TCase *export_cases(void);

/* @text without comments and without "version 1". Returned owned. */
char *exchange_test_rules(const char *text);
