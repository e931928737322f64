#include "cli/view/run_places.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "exec/exec_process.h"
#include "gateway/gateway_tools.h"

char *run_places_absolute(const struct run_places *places, const char *path)
{
	return path[0] == '/' ? mem_strdup(path) : mem_printf("%s/%s", places->cwd, path);
}

char *run_places_expand(const struct run_places *places, const char *path)
{
	const char *home = getenv("HOME");

	if (path[0] != '~')
		return run_places_absolute(places, path);
	return home && home[0] == '/' ? mem_printf("%s%s", home, path + 1) : NULL;
}

/* Makes the folder for records that are not in the log yet; no command can see it. */
static int find_audit_dir(struct run_places *places)
{
	places->audit_dir = cli_audit_dir();
	int r = places->audit_dir ? cli_make_dirs(places->audit_dir) : -ENOENT;

	if (r < 0)
		return cli_fail(CLI_NO_SANDBOX, "cannot make %s: %s",
				places->audit_dir ? places->audit_dir : "a state folder",
				strerror(-r));
	return CLI_OK;
}

int run_places_find(struct run_places *places, const char *audit)
{
	struct err why = { 0 };
	char cwd[PATH_MAX];

	if (exec_process_is_inside())
		return cli_fail(
			CLI_NO_SANDBOX,
			"this process already runs in a sandbox of sallyport, and a second one "
			"cannot be made in it; start the command itself: its connections are "
			"decided by the gate outside");
	if (!getcwd(cwd, sizeof(cwd)) || cwd[0] != '/')
		return cli_fail_cwd(CLI_NO_SANDBOX);
	places->cwd = mem_strdup(cwd);
	places->config_dir = cli_config_dir();
	places->state_dir = cli_state_dir();
	/* Made now so that it can be covered if the command may write there. If it cannot be made,
	 * the command cannot make it either. */
	if (places->config_dir)
		(void)cli_make_dirs(places->config_dir);
	if (places->config_dir)
		places->answers_path = mem_printf("%s/policy", places->config_dir);
	if (audit) {
		places->audit_path = run_places_absolute(places, audit);
	} else if (!places->state_dir) {
		return cli_fail(
			CLI_NO_SANDBOX,
			"there is no folder for the audit log; set HOME, or give --audit FILE");
	} else {
		int r = cli_make_dirs(places->state_dir);

		if (r < 0)
			return cli_fail(CLI_NO_SANDBOX, "cannot make %s: %s; give --audit FILE",
					places->state_dir, strerror(-r));
		places->audit_path = mem_printf("%s/audit.jsonl", places->state_dir);
	}
	if (places->state_dir)
		places->seen_path = mem_printf("%s/seen", places->state_dir);
	places->audit_head = mem_printf("%s.head", places->audit_path);
	places->control_dir = gateway_control_dir(&why);
	if (!places->control_dir)
		return cli_fail(CLI_NO_SANDBOX, "%s", why.text);
	return find_audit_dir(places);
}

void run_places_free(struct run_places *places)
{
	free(places->cwd);
	free(places->config_dir);
	free(places->state_dir);
	free(places->control_dir);
	free(places->audit_path);
	free(places->audit_head);
	free(places->audit_dir);
	free(places->answers_path);
	free(places->seen_path);
	*places = (struct run_places){ 0 };
}
