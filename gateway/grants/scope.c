#include "base/mem.h"
#include "gateway/gateway.h"

const char *gateway_scope_name(enum gateway_scope scope)
{
	static const char *const names[] = {
		[GATEWAY_ONCE] = "once",
		[GATEWAY_EXEC] = "exec",
		[GATEWAY_SESSION] = "session",
		[GATEWAY_ALWAYS] = "always",
	};

	return (unsigned int)scope < ARRAY_SIZE(names) ? names[scope] : "";
}
