/* setting: what the requests of one orchestrator share: its configuration, and what it
 * remembers. */
#pragma once

#include "base/loop.h"
#include "exec/orchestrator/questions/approvals.h"
#include "exec/orchestrator/orchestrator_ops.h"

struct setting {
	struct loop *loop;
	struct orchestrator_config config;
	struct command_rules *no_rules;
	struct approvals approvals;
	uint64_t last_number; /* of requests and stores: unique */
};

void setting_init(struct setting *setting, struct loop *loop,
		  const struct orchestrator_config *config);
void setting_done(struct setting *setting);
const struct command_rules *setting_rules(const struct setting *setting);
int64_t setting_now_ms(const struct setting *setting);
