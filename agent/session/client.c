#include "agent/session/client.h"

void client_look(struct agent *agent)
{
	if (!agent->has_gone)
		loop_defer(agent->loop, &agent->ending, agent->on_look, agent);
}
