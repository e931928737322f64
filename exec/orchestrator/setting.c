#include "exec/orchestrator/setting.h"

void setting_init(struct setting *setting, struct loop *loop,
		  const struct orchestrator_config *config)
{
	setting->loop = loop;
	setting->config = *config;
	setting->no_rules = command_rules_new();
	approvals_init(&setting->approvals);
}

void setting_done(struct setting *setting)
{
	approvals_done(&setting->approvals);
	command_rules_free(setting->no_rules);
}

const struct command_rules *setting_rules(const struct setting *setting)
{
	return setting->config.rules ? setting->config.rules : setting->no_rules;
}

int64_t setting_now_ms(const struct setting *setting)
{
	return loop_now_ms(setting->loop);
}
