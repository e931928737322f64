/* test_agent: the parts of the agent's protocol that need no command. */
#pragma once

#include <check.h>

TCase *test_acp(void);
TCase *test_channel(void);
TCase *test_fields(void);
TCase *test_mcp(void);
TCase *test_piece(void);
TCase *test_rpc(void);
