#include "policies/policies_credentials.h"

#include "base/mem.h"
#include "tests/unit/policies/policies_test.h"

static const struct {
	const char *entry;
	bool is_withheld;
} cases[] = {
	{ "GITHUB_TOKEN=abc", true },
	{ "NPM_TOKEN=abc", true },
	{ "VAULT_TOKEN=abc", true },
	{ "TOKEN=abc", true },
	{ "GH_PAT=abc", true },
	{ "github_token=abc", true },
	{ "npm_config_//registry.test/:_authToken=abc", true },
	{ "npm_config__auth=YTpi", true },
	{ "NODE_AUTH_TOKEN=abc", true },
	{ "AWS_SECRET_ACCESS_KEY=abc", true },
	{ "AWS_ACCESS_KEY_ID=AKIAABC", true },
	{ "AWS_SESSION_TOKEN=abc", true },
	{ "AWS_SOMETHING_NEW=abc", true },
	{ "OPENAI_API_KEY=abc", true },
	{ "ANTHROPIC_API_KEY=abc", true },
	{ "STRIPE_KEY=abc", true },
	{ "DEPLOY_KEY_BASE64=abc", true },
	{ "SECRET_KEY_BASE=abc", true },
	{ "CLIENT_SECRET=abc", true },
	{ "SUPABASE_SERVICE_ROLE_KEY=abc", true },
	{ "PGPASSWORD=abc", true },
	{ "MYSQL_PWD=abc", true },
	{ "DB_PASS=abc", true },
	{ "SSHPASS=abc", true },
	{ "GPG_PASSPHRASE=a b", true },
	{ "GOOGLE_CREDENTIALS={\"a\": 1}", true },
	{ "DOCKER_AUTH_CONFIG={\"auths\": {}}", true },
	{ "REDISCLI_AUTH=abc", true },
	{ "SESSION_COOKIE=abc", true },
	{ "DATABASE_URL=postgres://u:p@h/d", true },
	{ "REDIS_URL=redis://:p@h", true },
	{ "PIP_INDEX_URL=https://t@h/simple", true },
	{ "ANYTHING=AccountName=x;AccountKey=abc", true },
	{ "ANYTHING=ghp_0123456789abcdef", true },
	{ "ANYTHING=-----BEGIN OPENSSH PRIVATE KEY-----", true },
	{ "OP_SESSION_my=abc", true },
	{ "BW_SESSION=abc", true },
	{ "CI_JOB_JWT_V2=abc", true },
	{ "SERVICE_JWT=abc", true },
	{ "PRIVATEKEY=abc", true },
	{ "LDAP_BINDPW=abc", true },
	{ "DEPLOY_CREDS=abc", true },
	{ "AUTHORIZATION=abc", true },
	{ "WALLET_MNEMONIC=a b c", true },
	{ "SLACK_WEBHOOK=abc", true },
	{ "SLACK_URL=https://hooks.slack.com/services/T0/B0/abc", true },
	{ "NOTIFY=https://discord.com/api/webhooks/1/abc", true },
	{ "GIT_CONFIG_VALUE_0=Authorization: Basic abc", true },
	{ "DATABASE_DSN=user:abc@tcp(db:3306)/x", true },
	{ "ANYTHING={\"user\": 1, \"password\": \"abc\"}", true },
	{ "ANYTHING={\"private_key\": \"abc\"}", true },
	/* false friends */
	{ "DESKTOP_SESSION=gnome", false },
	{ "XDG_SESSION_ID=2", false },
	{ "JWT_ALGORITHM=HS256", false },
	{ "CREDIT=abc", false },
	{ "PARAPHRASE=abc", false },
	{ "PATH=/usr/bin", false },
	{ "PWD=/w", false },
	{ "OLDPWD=/w", false },
	{ "KEYBOARD=us", false },
	{ "KEY=a", false },
	{ "XKB_KEYMAP=us", false },
	{ "PUBLIC_KEY=abc", false },
	{ "CACHE_KEY=linux-1", false },
	{ "SSH_AUTH_SOCK=/run/x", false },
	{ "GPG_AGENT_INFO=/run/x:1:1", false },
	{ "SSH_ASKPASS=/usr/bin/askpass", false },
	{ "GIT_ASKPASS=/usr/bin/askpass", false },
	{ "PASSWORD_STORE_DIR=/home/ana/.store", false },
	{ "GOOGLE_APPLICATION_CREDENTIALS=/home/ana/key.json", false },
	{ "AWS_WEB_IDENTITY_TOKEN_FILE=/run/token", false },
	{ "AWS_REGION=eu-west-1", false },
	{ "AWS_PROFILE=work", false },
	{ "TOKENIZERS_PARALLELISM=false", false },
	{ "MAX_OUTPUT_TOKENS=4096", false },
	{ "AUTHOR=ana", false },
	{ "GIT_AUTHOR_NAME=ana", false },
	{ "npm_config_registry=https://registry.test/", false },
	{ "npm_config_always_auth=true", false },
	{ "OAUTH_TOKEN_URL=https://a.test/token", false },
	{ "COMPASS=north", false },
	{ "BYPASS=abc", false },
	{ "GIT_URL=ssh://git@a.test/x", false },
	{ "SSL_KEY=/etc/ssl/key.pem", false },
	{ "HOME=/home/ana", false },
	{ "GITHUB_TOKEN=", false },
	{ "SECRETARY=ana", false },
};

START_TEST(what_looks_like_a_credential)
{
	ck_assert_msg(policy_credentials_has(cases[_i].entry) == cases[_i].is_withheld, "%s",
		      cases[_i].entry);
}
END_TEST

TCase *credentials_cases(void)
{
	TCase *tcase = tcase_create("credentials");

	tcase_add_loop_test(tcase, what_looks_like_a_credential, 0, (int)ARRAY_SIZE(cases));
	return tcase;
}
