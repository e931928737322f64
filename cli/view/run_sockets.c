#include <stdlib.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/view/run_places.h"
#include "cli/view/run_view.h"
#include "policies/policies_load.h"

/* Adds the socket that the variable @name holds, and passes the variable on, because programs find
 * the socket by it. A variable that is not set is skipped. */
static int add_variable(struct run_view *view, const struct run_places *places, const char *name)
{
	const char *value = getenv(name);

	if (!value || value[0] == '\0')
		return CLI_OK;
	if (value[0] != '/')
		return cli_fail(CLI_ERROR,
				"the policy says socket $%s, and %s is not an absolute path; "
				"nothing was run",
				name, name);
	mem_append_list(&view->sockets, run_places_absolute(places, value));
	mem_append_list(&view->socket_names, mem_strdup(name));
	return CLI_OK;
}

static int add_path(struct run_view *view, const struct run_places *places, const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] == '~' && (!home || home[0] != '/'))
		return cli_fail(CLI_ERROR,
				"HOME is not set, and the policy says socket %s; set HOME", path);
	mem_append_list(&view->sockets, path[0] == '~' ? mem_printf("%s%s", home, path + 1)
						       : run_places_absolute(places, path));
	return CLI_OK;
}

int run_sockets_find(struct run_view *view, const struct policy *policy,
		     const struct run_places *places)
{
	int status = CLI_OK;
	const char *given;

	for (size_t i = 0;
	     status == CLI_OK && (given = policy_get_path(policy, POLICY_PATH_SOCKET, i)) != NULL;
	     i++)
		status = given[0] == '$' ? add_variable(view, places, given + 1)
					 : add_path(view, places, given);
	return status;
}
