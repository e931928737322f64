#include "cli/gate/run_helpers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crypto/digest.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/view/reach.h"
#include "cli/view/run_places.h"
#include "cli/view/trusted.h"
#include "gateway/gateway_tools.h"
#include "policies/policies_agent.h"

#define WORDS_MAX         64
#define FILE_MAX_BYTES    (1 << 20) /* a larger file is identified by its name only */
#define COMMAND_TEXT_MAX  200
#define URL_MAX_BYTES     2048
#define ORIGIN_MAX_BYTES  256
#define ORIGIN_UPPER      "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define KEY_MIN_BYTES     32
#define KEY_MAX_BYTES     4096
#define DIGEST_TEXT_BYTES (DIGEST_TEXT_MAX - 1)
/* The kinds of questions that --reviewer gets, if they are asked here. */
#define GIVEN_KINDS                                                                                \
	(POLICY_HELPS_NETWORK | POLICY_HELPS_EXEC | POLICY_HELPS_PATCH | POLICY_HELPS_PERMISSIONS)

/* The variables of our environment that a helper gets. */
static const char *const passed[] = {
	"HOME",
	"USER",
	"LOGNAME",
	"LANG",
	"LC_ALL",
	"TZ",
	"TMPDIR",
	"XDG_RUNTIME_DIR",
	"DISPLAY",
	"WAYLAND_DISPLAY",
	"DBUS_SESSION_BUS_ADDRESS",
};

struct run_helpers {
	struct gateway_helpers helpers;
	struct gateway_reviewer reviewer;
	char *reviewer_rule; /* its line in the policy; NULL: --reviewer */
	struct reach *reach; /* NULL: not known, so that a command could have written everything */
	char *path;          /* the PATH of trusted folders */
	char **environment;  /* owned list of owned strings, as the next one */
	char **reviewer_words;
	char *reviewer_program, *reviewer_command, *trust_dir;
	char reviewer_digest[DIGEST_TEXT_MAX];
	struct gateway_program notify;
	char *notify_program;
	struct gateway_webhook webhook;
	char *curl_program, *webhook_key;
	struct gateway_hook *hooks;
	struct policy_helper *written; /* from the policy; each hook borrows from its own */
};

static char **make_environment(const char *path)
{
	char **list = mem_new_array(ARRAY_SIZE(passed) + 2, sizeof(*list));
	size_t count = 0;

	list[count++] = mem_printf("PATH=%s", path);
	for (size_t i = 0; i < ARRAY_SIZE(passed); i++) {
		const char *value = getenv(passed[i]);

		if (value)
			list[count++] = mem_printf("%s=%s", passed[i], value);
	}
	return list;
}

/* Returns the word at @at, owned, and moves @at behind it. The word is plain, or in "…", where \"
 * and \\ stand for " and \. NULL: a quote that does not end, or that touches another word. */
static char *take_word(const char **at)
{
	bool is_quoted = **at == '"';
	const char *from = *at + is_quoted;
	auto_free char *word = mem_new(strlen(from) + 1);
	size_t len = 0;

	while (*from != '\0' && (is_quoted ? *from != '"' : *from != ' ' && *from != '\t')) {
		if (!is_quoted && *from == '"')
			return NULL;
		if (is_quoted && *from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		word[len++] = *from++;
	}
	if (is_quoted && *from++ != '"')
		return NULL;
	if (*from != '\0' && *from != ' ' && *from != '\t')
		return NULL;
	*at = from;
	return take(word);
}

/* Splits a line into words, as in a policy file. Returned owned; NULL: it has no words or too many,
 * or a quote is wrong. */
static char **split_words(const char *line)
{
	auto_free_list char **words = mem_new_array(WORDS_MAX + 1, sizeof(*words));
	size_t count = 0;

	for (const char *at = line + strspn(line, " \t"); *at != '\0'; at += strspn(at, " \t")) {
		char *word = count < WORDS_MAX ? take_word(&at) : NULL;

		if (!word)
			return NULL;
		words[count++] = word;
	}
	return count > 0 ? take(words) : NULL;
}

/* Could a command have written it, too? */
static bool is_writable(const struct run_helpers *self, const char *path,
			const struct run_places *places, char *const *writable)
{
	auto_free char *whole = run_places_absolute(places, path);

	if (trusted_is_within(path, places->cwd) || reach_may_be_theirs(self->reach, whole))
		return true;
	for (size_t i = 0; writable && writable[i]; i++) {
		if (trusted_is_within(path, writable[i]))
			return true;
	}
	return false;
}

/* A file that a judge's line names may decide the judge's answers, so the command must not be able
 * to write it. @what: the option or line, for the message. */
static int check_words(const struct run_helpers *self, const char *what, char *const *words,
		       const struct run_places *places, char *const *writable)
{
	for (size_t i = 1; words[i]; i++) {
		auto_free char *shown = text_visible_dup(words[i]);

		if (words[i][0] == '/' && access(words[i], F_OK) == 0 &&
		    is_writable(self, words[i], places, writable))
			return cli_fail(CLI_USAGE,
					"%s: the command could write %s; put it where the command "
					"cannot write",
					what, shown);
		if (words[i][0] != '/' && words[i][0] != '-' && access(words[i], F_OK) == 0)
			return cli_fail(CLI_USAGE, "%s: %s is a file; write its absolute path",
					what, shown);
	}
	return CLI_OK;
}

static int find_reviewer(struct run_helpers *self, const struct run_places *places,
			 char *const *writable)
{
	const char *name = self->reviewer_words[0];
	const char *what = self->reviewer_rule ? self->reviewer_rule : "--reviewer";
	auto_free char *shown = text_visible_dup(name);
	struct stat status;

	self->reviewer_program = strchr(name, '/')
					 ? run_places_absolute(places, name)
					 : trusted_find(self->path, name, places->cwd, self->reach);
	if (!self->reviewer_program || stat(self->reviewer_program, &status) < 0 ||
	    !S_ISREG(status.st_mode) || access(self->reviewer_program, X_OK) < 0)
		return cli_fail(CLI_USAGE, "%s: there is no program %s", what, shown);
	if (is_writable(self, self->reviewer_program, places, writable))
		return cli_fail(
			CLI_USAGE,
			"%s: the command could write %s; put it where the command cannot write",
			what, shown);
	return check_words(self, what, self->reviewer_words, places, writable);
}

/* Adds the file's content to @digest, so that another script with the same name counts as another
 * reviewer. */
static int digest_file(const char *path, char digest[DIGEST_TEXT_MAX])
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	auto_free char *text = NULL;
	struct stat status;
	size_t len;

	if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
	    status.st_size > FILE_MAX_BYTES)
		return 0;
	int r = fd_read_all(fd, FILE_MAX_BYTES, &text, &len, NULL);

	return r < 0 ? r : digest_text(digest, DIGEST_TEXT_BYTES, text, len, digest);
}

static int digest_reviewer(struct run_helpers *self)
{
	char *digest = self->reviewer_digest;
	int r = digest_text(self->reviewer_program, strlen(self->reviewer_program), "", 0, digest);

	for (size_t i = 0; r == 0 && self->reviewer_words[i]; i++)
		r = digest_text(digest, DIGEST_TEXT_BYTES, self->reviewer_words[i],
				strlen(self->reviewer_words[i]), digest);
	if (r == 0)
		r = digest_file(self->reviewer_program, digest);
	for (size_t i = 1; r == 0 && self->reviewer_words[i]; i++) {
		if (self->reviewer_words[i][0] == '/')
			r = digest_file(self->reviewer_words[i], digest);
	}
	return r;
}

/* A reviewer may answer only after its record has shown how it judges. */
static int check_trust(const struct run_helpers *self)
{
	struct gateway_trust trust;
	struct err why = { 0 };

	if (!self->trust_dir)
		return cli_fail(CLI_USAGE, "--reviewer-mode answer: there is no state folder with "
					   "the reviewer's record; set HOME");
	if (gateway_trust_read(self->trust_dir, self->reviewer_digest, &trust, &why) < 0)
		return cli_fail(CLI_USAGE, "%s", why.text);
	if (gateway_trust_is_enough(&trust))
		return CLI_OK;
	return cli_fail(CLI_USAGE,
			"--reviewer-mode answer: this reviewer may not answer yet; it needs %d "
			"comparisons with people, %d of them denials, and none where it allowed "
			"what a person denied (see `sallyport approve reviewer`)",
			GATEWAY_TRUST_COMPARED, GATEWAY_TRUST_DENIED);
}

static int make_reviewer(struct run_helpers *self, const struct run_helper_options *options,
			 const struct run_places *places, char *const *writable)
{
	int status = find_reviewer(self, places, writable);

	if (status != CLI_OK)
		return status;
	if (digest_reviewer(self) < 0)
		return cli_fail(CLI_NO_SANDBOX, "the reviewer cannot be read");
	self->reviewer_command =
		text_command_line((const char *const *)self->reviewer_words, COMMAND_TEXT_MAX);
	if (places->state_dir && cli_make_dirs(places->state_dir) == 0)
		self->trust_dir = mem_printf("%s/reviewers", places->state_dir);
	self->reviewer = (struct gateway_reviewer){
		.program = { self->reviewer_program, (const char *const *)self->reviewer_words,
			     (const char *const *)self->environment },
		.may_answer =
			options->may_answer || (self->reviewer.is_trusted && !options->is_shadow),
		.is_trusted = self->reviewer.is_trusted,
		.timeout_ms = options->reviewer_timeout_ms,
		.kinds = self->reviewer.kinds,
		.digest = self->reviewer_digest,
		.command = self->reviewer_command,
		.trust_dir = self->trust_dir,
	};
	self->helpers.reviewer = &self->reviewer;
	return options->may_answer && !self->reviewer.is_trusted ? check_trust(self) : CLI_OK;
}

/* A desktop notification is optional: a failure is a warning and does not end the run. */
static void make_notify(struct run_helpers *self, const struct run_places *places)
{
	static const char *const argv[] = { "notify-send", "--app-name=sallyport", "--", NULL };

	self->notify_program = trusted_find(self->path, argv[0], places->cwd, self->reach);
	if (!self->notify_program) {
		log_warn(
			"--notify: notify-send is not installed; no desktop notification is shown");
		return;
	}
	self->notify = (struct gateway_program){ self->notify_program, argv,
						 (const char *const *)self->environment };
	self->helpers.notify = &self->notify;
}

static bool is_url(const char *text)
{
	size_t len = strlen(text);

	if (strncmp(text, "https://", 8) != 0 && strncmp(text, "http://", 7) != 0)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x21 || text[i] > 0x7e)
			return false;
	}
	return len <= URL_MAX_BYTES;
}

/* A process that can read the key can forge questions. */
static int read_key(struct run_helpers *self, const char *path, const struct run_places *places,
		    char *const *writable)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct err why = { 0 };
	struct stat status;
	size_t len;

	if (fd < 0 || fstat(fd, &status) < 0)
		return cli_fail(CLI_USAGE, "--webhook-key: cannot open %s: %s", path,
				strerror(errno));
	if (!S_ISREG(status.st_mode) || (status.st_mode & 077) != 0)
		return cli_fail(CLI_USAGE, "--webhook-key: %s must be closed to others (mode 0600)",
				path);
	if (is_writable(self, path, places, writable))
		return cli_fail(CLI_USAGE,
				"--webhook-key: the command could write %s; put it where the "
				"command cannot write",
				path);
	if (fd_read_all(fd, KEY_MAX_BYTES, &self->webhook_key, &len, &why) < 0)
		return cli_fail(CLI_USAGE, "--webhook-key: %s: %s", path, why.text);
	self->webhook_key[strcspn(self->webhook_key, "\r\n")] = '\0';
	if (strlen(self->webhook_key) < KEY_MIN_BYTES)
		return cli_fail(CLI_USAGE,
				"--webhook-key: %s must hold a line of at least %d bytes", path,
				KEY_MIN_BYTES);
	return CLI_OK;
}

/* Is @text an origin in the form that a browser sends? The page must be at the root of its host,
 * and the host's field must hold only a host and a port. */
static bool is_origin(const char *text)
{
	const char *authority = strstr(text, "://");

	return is_url(text) && strlen(text) < ORIGIN_MAX_BYTES && authority[3] != '\0' &&
	       strpbrk(authority + 3, "/?#@") == NULL && !strpbrk(text, ORIGIN_UPPER);
}

static int make_webhook(struct run_helpers *self, const struct run_helper_options *options,
			const struct run_places *places, char *const *writable)
{
	if (!options->webhook || !options->webhook_key)
		return cli_fail(CLI_USAGE, "--webhook and --webhook-key must be given together");
	if (options->webhook_answer && !is_origin(options->webhook_answer))
		return cli_fail(CLI_USAGE, "--webhook-answer needs http:// or https:// and a host "
					   "in lower case, with its port, and nothing behind it");
	if (!is_url(options->webhook))
		return cli_fail(CLI_USAGE, "--webhook needs an http:// or https:// URL");
	self->curl_program = trusted_find(self->path, "curl", places->cwd, self->reach);
	if (!self->curl_program)
		return cli_fail(CLI_USAGE, "--webhook: curl is not installed");
	int status = read_key(self, options->webhook_key, places, writable);

	self->webhook = (struct gateway_webhook){
		.curl = { self->curl_program, NULL, (const char *const *)self->environment },
		.url = options->webhook,
		.key = self->webhook_key,
	};
	self->helpers.webhook = &self->webhook;
	return status;
}

/* A program in the policy may be named relative to the home directory. */
static void expand_home(char **word)
{
	const char *home = getenv("HOME");
	char *path;

	if (strncmp(*word, "~/", 2) != 0)
		return;
	path = mem_printf("%s/%s", home ? home : "", *word + 2);
	free(*word);
	*word = path;
}

/* Takes one reviewer line of the policy. A second line must name the same program. */
static int note_reviewer(struct run_helpers *self, struct policy_helper *helper)
{
	expand_home(&helper->argv[0]);
	self->reviewer.kinds |= helper->kinds;
	if (!self->reviewer_words) {
		self->reviewer_words = take(helper->argv);
		self->reviewer_rule = mem_strdup(helper->rule);
		self->reviewer.is_trusted = helper->is_trusted;
		return CLI_OK;
	}
	if (mem_is_same_list((const char *const *)self->reviewer_words,
			     (const char *const *)helper->argv)) {
		/* The first of the policy's lines; later ones only restrict. */
		self->reviewer.is_trusted =
			helper->is_trusted && (self->reviewer.is_trusted || !self->reviewer_rule);
		if (!self->reviewer_rule)
			self->reviewer_rule = mem_strdup(helper->rule);
		return CLI_OK;
	}
	return cli_fail(
		CLI_USAGE,
		"%s: only one reviewer is allowed, and there is another: %s; nothing was run",
		helper->rule, self->reviewer_rule ? self->reviewer_rule : "--reviewer");
}

/* Chooses the reviewer, from the option or from the policy, and the kinds of questions it gets. */
static int choose_reviewer(struct run_helpers *self, const struct run_helper_options *options,
			   const struct policy *policy)
{
	struct policy_helper helper;
	int status = CLI_OK;

	if (options->reviewer) {
		self->reviewer_words = split_words(options->reviewer);
		if (!self->reviewer_words)
			return cli_fail(CLI_USAGE, "--reviewer needs a program and its arguments, "
						   "with all quotes closed");
		self->reviewer.kinds = options->kinds & GIVEN_KINDS;
	}
	for (size_t i = 0;
	     status == CLI_OK && policy_get_helper(policy, options->kinds, i, &helper); i++) {
		if (helper.is_reviewer)
			status = note_reviewer(self, &helper);
		policy_helper_done(&helper);
	}
	if (status == CLI_OK && options->may_answer && !self->reviewer_words)
		status = cli_fail(CLI_USAGE,
				  "--reviewer-mode needs a reviewer; name one with --reviewer");
	return status;
}

/* A command that could write a hook's program could allow itself anything. */
static int add_hook(struct run_helpers *self, struct policy_helper *helper,
		    const struct run_places *places, char *const *writable)
{
	size_t at = self->helpers.hook_count;

	expand_home(&helper->argv[0]);
	self->hooks = mem_grow(self->hooks, at + 1, sizeof(*self->hooks));
	self->written = mem_grow(self->written, at + 1, sizeof(*self->written));
	self->written[at] = *helper;
	self->hooks[at] = (struct gateway_hook){ .kinds = helper->kinds };
	self->helpers.hook_count++;
	if (access(helper->argv[0], X_OK) < 0)
		return cli_fail(CLI_NO_SANDBOX, "%s: %s; nothing was run", helper->rule,
				strerror(errno));
	if (is_writable(self, helper->argv[0], places, writable))
		return cli_fail(CLI_NO_SANDBOX,
				"%s: commands could write this program; nothing was run",
				helper->rule);
	return check_words(self, helper->rule, helper->argv, places, writable);
}

static int make_hooks(struct run_helpers *self, const struct policy *policy, unsigned int kinds,
		      const struct run_places *places, char *const *writable)
{
	struct policy_helper helper;
	int status = CLI_OK;

	for (size_t i = 0; status == CLI_OK && policy_get_helper(policy, kinds, i, &helper); i++) {
		if (helper.is_reviewer)
			policy_helper_done(&helper);
		else
			status = add_hook(self, &helper, places, writable);
	}
	/* The arrays do not move any more, so the hooks may point into them. */
	for (size_t i = 0; i < self->helpers.hook_count; i++)
		self->hooks[i].program =
			(struct gateway_program){ self->written[i].argv[0],
						  (const char *const *)self->written[i].argv,
						  (const char *const *)self->environment };
	self->helpers.hooks = self->hooks;
	return status;
}

/* A policy may serve several commands: lines about questions that are not asked here are skipped.
 */
static bool has_programs(const struct policy *policy, unsigned int kinds)
{
	struct policy_helper helper;
	bool is_there = false;

	for (size_t i = 0; policy_get_helper(policy, POLICY_HELPS_ALL, i, &helper); i++) {
		is_there = is_there || (helper.kinds & kinds);
		if (!(helper.kinds & kinds))
			log_info("not used, because no such questions are asked here: %s",
				 helper.rule);
		policy_helper_done(&helper);
	}
	return is_there;
}

static struct reach *open_reach(const struct run_places *places, char *const *writable)
{
	struct reach *reach = reach_open(places->state_dir, NULL);

	if (reach)
		reach_add(reach, writable, places->config_dir);
	return reach;
}

char *run_helpers_find(const char *name, const struct run_places *places, char *const *writable)
{
	struct reach *reach = open_reach(places, writable);
	auto_free char *path = trusted_path(getenv("PATH"), places->cwd, reach);
	char *program = trusted_find(path, name, places->cwd, reach);

	reach_close(reach);
	return program;
}

int run_helpers_make(const struct run_helper_options *options, const struct run_places *places,
		     char *const *writable, const struct policy *policy, struct run_helpers **ret)
{
	bool has_webhook = options->webhook || options->webhook_key || options->webhook_answer;
	bool has_lines = has_programs(policy, options->kinds);

	if (!options->reviewer && !options->may_answer && !options->has_notify && !has_webhook &&
	    !has_lines)
		return CLI_OK;
	struct run_helpers *self = mem_new(sizeof(*self));

	self->reach = open_reach(places, writable);
	self->path = trusted_path(getenv("PATH"), places->cwd, self->reach);
	self->environment = make_environment(self->path);
	int status = choose_reviewer(self, options, policy);

	if (status == CLI_OK && self->reviewer_words)
		status = make_reviewer(self, options, places, writable);
	if (status == CLI_OK && has_webhook)
		status = make_webhook(self, options, places, writable);
	if (status == CLI_OK)
		status = make_hooks(self, policy, options->kinds, places, writable);
	if (status == CLI_OK && options->has_notify)
		make_notify(self, places);
	if (status == CLI_OK)
		*ret = self;
	else
		run_helpers_free(self);
	return status;
}

/* A script that is passed to its interpreter is part of the program. */
static void add_files(char ***list, char *const *argv)
{
	for (char *const *word = argv + 1; *word; word++) {
		if (**word == '/')
			mem_append_list(list, mem_strdup(*word));
	}
}

char **run_helpers_programs(const struct run_helpers *helpers)
{
	const char *const named[] = {
		helpers ? helpers->reviewer_program : NULL,
		helpers ? helpers->notify_program : NULL,
		helpers ? helpers->curl_program : NULL,
	};
	size_t hooks = helpers ? helpers->helpers.hook_count : 0;
	char **list = mem_new_array(1, sizeof(*list));

	for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
		if (named[i])
			mem_append_list(&list, mem_strdup(named[i]));
	}
	if (helpers && helpers->reviewer_words)
		add_files(&list, helpers->reviewer_words);
	for (size_t i = 0; i < hooks; i++) {
		mem_append_list(&list, mem_strdup(helpers->written[i].argv[0]));
		add_files(&list, helpers->written[i].argv);
	}
	return list;
}

const struct gateway_helpers *run_helpers_get(const struct run_helpers *helpers)
{
	return helpers ? &helpers->helpers : NULL;
}

void run_helpers_free(struct run_helpers *helpers)
{
	if (!helpers)
		return;
	reach_close(helpers->reach);
	free(helpers->path);
	mem_free_list(helpers->environment);
	mem_free_list(helpers->reviewer_words);
	free(helpers->reviewer_rule);
	free(helpers->reviewer_program);
	free(helpers->reviewer_command);
	free(helpers->trust_dir);
	free(helpers->notify_program);
	free(helpers->curl_program);
	if (helpers->webhook_key)
		explicit_bzero(helpers->webhook_key, strlen(helpers->webhook_key));
	free(helpers->webhook_key);
	for (size_t i = 0; i < helpers->helpers.hook_count; i++)
		policy_helper_done(&helpers->written[i]);
	free(helpers->written);
	free(helpers->hooks);
	free(helpers);
}
