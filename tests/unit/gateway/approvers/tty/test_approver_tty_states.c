/* Every key in every state of the terminal and of `approve watch`, in windows of four sizes: what
 * is stored is what the screen shows, and nothing is done silently. Neither the keys nor the states
 * are listed here: a key is a byte that does something on some page, and each key that changes a
 * page leads to a state. Only those that take several keys are named. */
#include "tests/unit/gateway/approvers/screen/test_approver_screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/err.h"
#include "base/mem.h"
#include "gateway/approvers/tty/tty_agent.h"
#include "gateway/approvers/tty/tty_answer.h"
#include "gateway/approvers/tty/tty_source.h"
#include "tests/unit/gateway/approvers/test_approver_model.h"

static const struct winsize sizes[] = {
	{ .ws_col = 40, .ws_row = 12 },
	{ .ws_col = 80, .ws_row = 24 },
	{ .ws_col = 120, .ws_row = 40 },
	{ .ws_col = 53, .ws_row = 15 },
};
#define SIZES ((int)ARRAY_SIZE(sizes))

#define ROWS 9 /* of a list; each has a host h0, h1, … */

/* The last three are an agent's. */
enum kind { PLAIN, RISKY, LONG, LIST, COMMAND, PATCH, PERMISSIONS, KINDS };
enum surface { TERMINAL, WATCH, DUMB, SURFACES }; /* DUMB: TERM=dumb, without escape sequences */

static const char warning[] = "first second third fourth fifth sixth seventh eighth ninth tenth "
			      "eleventh twelfth thirteenth fourteenth fifteenth sixteenth";

static const struct {
	const char *kind, *typed;
	struct gateway_agent_line lines[4];
	unsigned int choices;
} agents[KINDS] = {
	[COMMAND] = { "exec",
		      "",
		      { { "command", "make -C build all" }, { "runs in", "/srv/project" } },
		      GATEWAY_AGENT_ONCE | GATEWAY_AGENT_SESSION | GATEWAY_AGENT_ALWAYS |
			      GATEWAY_AGENT_DENY_ALWAYS | GATEWAY_AGENT_ABORT },
	[PATCH] = { "patch",
		    "",
		    { { "files", warning }, { "adds", "a/b.c" } },
		    GATEWAY_AGENT_ONCE | GATEWAY_AGENT_SESSION | GATEWAY_AGENT_ABORT },
	[PERMISSIONS] = { "permissions",
			  "/srv/other",
			  { { "write", "/srv/other" }, { "network", "all" } },
			  GATEWAY_AGENT_ONCE | GATEWAY_AGENT_SESSION },
};

/* What a walk has seen so far. */
static struct {
	enum kind kind;
	bool is_watch, is_dumb;
	int size;
	struct model model, before; /* now; before the last key */
	char keys[64];              /* that were typed */
	bool ticked[ROWS];          /* as last seen */
	bool words[16];             /* of the warning */
	unsigned int left;          /* times that x left */
	unsigned int compared;      /* answers, with what was shown */
} walk;

/* `approve watch` has another source: results come later, and x leaves. */
static int watch_text(void *of, const char *id, const struct approver_answer *answer,
		      char out[APPROVER_KEY_MAX], struct err *why)
{
	return gateway_answer_text(of, id, answer, out, why);
}

static void watch_each(void *of, void (*each)(const struct approver_question *question, void *arg),
		       void *arg)
{
	struct approver_question question;

	gateway_each_question(of, each, arg);
	if (screen.gw.agent.id[0] == '\0')
		return;
	tty_agent_look(&screen.gw.agent, &question);
	each(&question, arg);
}

static struct {
	char ids[ROWS][APPROVER_ID_MAX];
	int results[ROWS];
	size_t count;
} replies;

static int watch_give(void *of, const char *id, const struct approver_answer *answer,
		      struct err *why)
{
	(void)snprintf(replies.ids[replies.count], APPROVER_ID_MAX, "%s", id);
	replies.results[replies.count++] =
		gateway_has_agent_question(of, id)
			? gateway_answer_agent(of, id, answer, "terminal", why)
			: gateway_answer(of, id, answer, why);
	return -EINPROGRESS;
}

static void watch_touch(void *of, const char *id)
{
	(void)gateway_touch(of, id);
}

static void watch_gone(void *of)
{
	walk.left++;
}

static void watch_status(void *of, char *out, size_t size)
{
	(void)snprintf(out, size, "1 run is watched");
}

static const struct tty_source watch_source = {
	.each = watch_each,
	.text = watch_text,
	.give = watch_give,
	.touch = watch_touch,
	.gone = watch_gone,
	.status = watch_status,
};

/* Keys count on the page that says that no question waits. */
static void watch_opens(void)
{
	(void)screen_look();
	screen_type(SCREEN_READY);
	loop_advance(screen.gw.loop, TTY_GUARD_MS);
	(void)screen_look();
}

static void watch_open(void)
{
	struct err why = { 0 };

	fake_close(&screen.gw);
	screen.terminal.hold = screen.terminal.release = NULL;
	screen.gw.loop = loop_new_fake();
	screen.gw.is_quiet = true;
	screen.gw.approver =
		tty_new(&watch_source, &screen.gw, screen.gw.loop, &screen.gw.config, &why);
	ck_assert_msg(screen.gw.approver != NULL, "%s", why.text);
	watch_opens();
}

static void dumb_open(void)
{
	setenv("TERM", "dumb", 1);
	fake_close(&screen.gw);
	fake_open(&screen.gw, &tty_approver);
}

static void watch_reply(void)
{
	struct err why = { 0 };

	for (size_t i = 0; i < replies.count; i++) {
		tty_answer_came(screen.gw.approver, replies.ids[i], replies.results[i], &why);
		screen.gw.ops->retract(screen.gw.approver,
				       &(struct approver_end){ .id = replies.ids[i] });
	}
	replies.count = 0;
}

/* Which rows are on the screen, and with which tick: "[x] … https://{h1,h4}.d1.test:443". */
static void see_ticks(void)
{
	char row[MODEL_WIDTH_MAX + 1], tick, mark[4];
	bool is_ticked = false, has_head = false;
	unsigned int number;

	for (unsigned int y = 0; y < walk.model.rows; y++) {
		const char *hosts = strstr(model_row(&walk.model, y, row), "://");

		if (sscanf(row + 1, "%u [%c]%4c", &number, &tick, mark) == 3) {
			is_ticked = tick == 'x';
			has_head = true;
		} else if (strncmp(row, "      ", 6) != 0) {
			has_head = false;
		}
		if (!has_head || !hosts)
			continue;
		hosts += hosts[3] == '{' ? 4 : 3;
		do {
			unsigned int host;

			hosts += *hosts == ',';
			if (sscanf(hosts, "h%u", &host) == 1 && host < ROWS)
				walk.ticked[host] = is_ticked;
			hosts += strcspn(hosts, ",}");
		} while (*hosts == ',');
	}
}

static void see_words(void)
{
	auto_free char *copy = mem_strdup(warning);
	char *rest = copy, *word;

	for (size_t i = 0; (word = strsep(&rest, " ")); i++) {
		char row[MODEL_WIDTH_MAX + 1];

		for (unsigned int y = 0; y < walk.model.rows; y++)
			walk.words[i] |= strstr(model_row(&walk.model, y, row), word) != NULL;
	}
}

/* Without escape sequences each page is printed below the last one. */
static void feed(const char *text)
{
	const char *page = NULL;

	for (const char *at = text; walk.is_dumb && (at = strstr(at, "\r\nsallyport   ")); at++)
		page = at + 2;
	if (page || (walk.is_dumb && strstr(text, "any key: ")))
		model_init(&walk.model, walk.model.width, walk.model.rows);
	model_feed(&walk.model, page ? page : text);
}

static void look(void)
{
	feed(screen_look());
	if (walk.kind == LIST)
		see_ticks();
	if (walk.kind == LONG || walk.kind == PATCH)
		see_words();
}

static void set_size(int i)
{
	ck_assert_int_eq(ioctl(screen.slave, TIOCSWINSZ, &sizes[i]), 0);
	model_init(&walk.model, sizes[i].ws_col, sizes[i].ws_row);
}

static bool shows(const struct model *model, const char *part)
{
	char row[MODEL_WIDTH_MAX + 1];

	for (unsigned int y = 0; y < model->rows; y++) {
		if (strstr(model_row(model, y, row), part))
			return true;
	}
	return false;
}

static bool is_list(const struct model *model)
{
	return shows(model, "selected  ");
}

static bool is_typing(const struct model *model)
{
	return shows(model, "reason, then Enter:") || shows(model, "to allow it, then Enter:");
}

static void ask_agent(void)
{
	size_t count = 0;

	while (agents[walk.kind].lines[count].label)
		count++;
	screen.gw.agent = (struct approver_agent_question){
		.id = "7f3a-0",
		.kind = agents[walk.kind].kind,
		.lines = agents[walk.kind].lines,
		.line_count = count,
		.choices = agents[walk.kind].choices,
		.typed = agents[walk.kind].typed,
		.left_ms = 299000,
	};
	screen.gw.ops->agent_asked(screen.gw.approver, &screen.gw.agent);
}

static void ask_one(unsigned int i)
{
	static const char *const hosts[] = {
		[PLAIN] = "a.look.test",
		[RISKY] = "a.look.test",
		[LONG] = "a-long-name-of-a-host-that-goes-on-and-on.and-on-and-on.look.test",
	};
	struct approver_question *question = &screen.gw.questions[screen.gw.question_count++];

	*question = (struct approver_question){
		.dst = { .protocol = POLICY_HTTPS, .port = 443 },
		.waiting = 1,
		.command_count = 1,
		.commands = { "curl -sS https://example.org/" },
		.rule = "",
		.because = "",
		.warning = walk.kind == LONG ? warning
			   : walk.kind == RISKY
				   ? "a place to drop data, by the baseline preset"
				   : "", /* two lines of the smallest window, which is full */
		.risk = walk.kind == RISKY ? APPROVER_LISTED : 0,
		.program = "/usr/bin/curl",
		.chain = "sh > curl",
		.left_ms = 299000,
		.is_shared = true,
	};
	(void)snprintf(question->id, sizeof(question->id), "7f3a-%u", i);
	if (walk.kind == LIST) {
		question->risk = i == 4 ? APPROVER_LISTED : 0;
		(void)snprintf(question->dst.host, sizeof(question->dst.host), "h%u.%sd%u.test", i,
			       i % 3 == 2 ? "a-long-name-of-a-host-that-goes-on-and-on.and-on."
					  : "",
			       i % 3);
		(void)snprintf(question->typed, sizeof(question->typed), "d%u.test", i % 3);
	} else {
		(void)snprintf(question->dst.host, sizeof(question->dst.host), "%s",
			       hosts[walk.kind]);
		(void)snprintf(question->typed, sizeof(question->typed), "look.test");
	}
}

/* Keys count on the page that has just been drawn. */
static void open_keys(void)
{
	look();
	if (walk.is_dumb) { /* the label is printed once, and stays */
		loop_advance(screen.gw.loop, TTY_FENCE_MS);
		loop_advance(screen.gw.loop, TTY_GUARD_MS);
		look();
	}
	for (int i = 0; i < 5 && shows(&walk.model, "wait a moment"); i++) {
		screen_type(SCREEN_READY);
		loop_advance(screen.gw.loop, TTY_GUARD_MS);
		look();
	}
	ck_assert(!shows(&walk.model, "wait a moment"));
}

static void begin(void)
{
	screen.gw.answer_count = screen.gw.question_count = 0;
	screen.gw.takes_budgets = true;
	walk.keys[0] = '\0';
	memset(walk.ticked, 0, sizeof(walk.ticked));
	memset(walk.words, 0, sizeof(walk.words));
	set_size(walk.size);
	for (unsigned int i = 0; !agents[walk.kind].kind && i < (walk.kind == LIST ? ROWS : 1); i++)
		ask_one(i);
	if (agents[walk.kind].kind)
		ask_agent();
	else
		screen.gw.ops->ask(screen.gw.approver, &screen.gw.questions[0]);
	fake_settle(&screen.gw);
	open_keys();
	walk.before = walk.model;
}

static void end(void)
{
	if (screen.gw.agent.id[0] != '\0')
		fake_retract(&screen.gw, "7f3a-0", "ended");
	while (screen.gw.question_count > 0) {
		char id[APPROVER_ID_MAX];

		memcpy(id, screen.gw.questions[0].id, sizeof(id));
		fake_retract(&screen.gw, id, "ended");
		if (screen.gw.question_count % 3 == 0)
			(void)screen_look(); /* or the terminal fills up */
	}
	(void)screen_look();
	if (walk.is_watch) {
		watch_opens();
		screen_type("\r"); /* what was being typed is over */
	}
	(void)screen_look();
	ck_assert_uint_eq(screen.held, screen.released);
}

/* The text on the page that the key or Enter stores. */
static void shown_text(bool is_allow, char *out, size_t size)
{
	static const char *const labels[] = { "grants", "denies", "covers" };

	for (size_t i = 0; i < (is_allow ? 1 : ARRAY_SIZE(labels)); i++) {
		if (model_field(&walk.before, labels[i], out, size)[0] != '\0')
			return;
	}
}

/* Behind the label, or 0. */
static char shown_letter(void)
{
	static const char label[] = "  answer, then Enter: ";
	char row[MODEL_WIDTH_MAX + 1];

	for (unsigned int y = walk.before.rows; y-- > 0;) {
		if (model_row(&walk.before, y, row)[0] == '\0')
			continue;
		return strncmp(row, label, strlen(label)) == 0 ? row[strlen(label)] : '\0';
	}
	return '\0';
}

static bool is_same(const char *shown, const char *stored)
{
	for (;; shown++, stored++) {
		shown += strspn(shown, " ");
		stored += strspn(stored, " ");
		if (*shown != *stored || *shown == '\0')
			return *shown == *stored;
	}
}

static const struct {
	enum gateway_scope scope;
	const char *letters, *words; /* an allow's and a denial's */
} scopes[] = {
	{ GATEWAY_ONCE, "yn", "once, for those now waiting" },
	{ GATEWAY_EXEC, "eE", "for this command (undo: sallyport approve undo)" },
	{ GATEWAY_SESSION, "sS", "for this session (undo: sallyport approve undo)" },
	{ GATEWAY_ALWAYS, "aD", "always (undo: sallyport approve undo)" },
};

/* An allow takes Enter and its letter on the screen, where there is one; a denial its letter
 * alone, or Enter with its letter, or alone, which denies once. */
static void must_be_meant(const struct approver_answer *answer, const char *key)
{
	bool is_allow = answer->action == POLICY_ALLOW, is_enter = strchr("\r\n", key[0]);
	char letter = shown_letter(), meant = key[0];
	size_t i = 0;

	while (scopes[i].scope != answer->scope)
		i++;
	if (answer->is_abort) {
		ck_assert_msg(key[0] == 'q' || key[0] == '\x03', "%s: aborted", walk.keys);
		return;
	}
	if (is_allow)
		ck_assert_msg(is_enter, "%s: allowed without Enter", walk.keys);
	if (is_allow && !is_typing(&walk.before))
		ck_assert_msg(letter == scopes[i].letters[0], "%s: allowed %s by '%c'", walk.keys,
			      scopes[i].words, letter);
	if (is_allow || (is_enter && letter == '\0' && answer->scope == GATEWAY_ONCE) ||
	    (key[0] == '\x03' && answer->scope == GATEWAY_ONCE))
		return;
	if (is_enter)
		meant = letter;
	ck_assert_msg(meant == scopes[i].letters[1], "%s: denied %s by '%c'", walk.keys,
		      scopes[i].words, meant);
}

/* The line that is left of an answer. */
static char *line_of(const struct approver_answer *answer, const char *text, const char *scope)
{
	auto_free char *agent =
		agents[walk.kind].kind ? mem_printf("%s 7f3a-0", agents[walk.kind].kind) : NULL;
	const char *verdict = answer->action == POLICY_ALLOW ? "allowed" : "denied";

	if (answer->is_abort)
		return mem_printf("%s aborted", agent ? agent : ":443");
	if (!agent)
		return mem_printf("%s %s %s", text, verdict, scope);
	size_t len = strcspn(scope, ",(");

	while (len > 0 && scope[len - 1] == ' ')
		len--;
	return mem_printf("%s %s %.*s\r\n", agent, verdict, (int)len, scope);
}

/* The answers that the last key gave, with the screen before it and the line that is left. */
static void must_be_as_shown(const char *key)
{
	bool was_list = is_list(&walk.before);

	if (screen.gw.answer_count == 0)
		return;
	if (walk.is_watch)
		watch_reply();
	look();
	if (!was_list && key[0] != '\x03')
		ck_assert_msg(screen.gw.answer_count == 1, "%s: more than one", walk.keys);
	for (size_t i = 0; i < screen.gw.answer_count; i++) {
		const struct approver_answer *answer = &screen.gw.answers[i].answer;
		const char *text = screen.gw.answers[i].text;
		bool is_allow = answer->action == POLICY_ALLOW;
		char field[APPROVER_KEY_MAX] = "";
		unsigned int host = 0;
		size_t at = 0;

		ck_assert_int_eq(sscanf(screen.gw.answers[i].id, "7f3a-%u", &host), 1);
		must_be_meant(answer, key);
		while (scopes[at].scope != answer->scope)
			at++;
		auto_free char *left = line_of(answer, text, scopes[at].words);
		ck_assert_msg(strstr(screen.text, left), "%s: no line says \"%s\":\n%s", walk.keys,
			      left, screen.text);
		if (was_list && key[0] != '\x03') {
			ck_assert_msg(walk.ticked[host], "%s: h%u was not seen selected", walk.keys,
				      host);
			walk.ticked[host] = false;
		}
		if (!was_list && !agents[walk.kind].kind &&
		    (is_allow || answer->scope != GATEWAY_ONCE)) {
			shown_text(is_allow, field, sizeof(field));
			ck_assert_msg(is_same(field, text), "%s: shown \"%s\", stored \"%s\"",
				      walk.keys, field, text);
		}
		for (size_t w = 0; is_allow && (walk.kind == LONG || walk.kind == PATCH) &&
				   w < ARRAY_SIZE(walk.words);
		     w++)
			ck_assert_msg(walk.words[w], "%s: a warning was not seen", walk.keys);
		walk.compared++;
	}
	for (unsigned int host = 0; was_list && key[0] != '\x03' && host < ROWS; host++)
		ck_assert_msg(!walk.ticked[host], "%s: h%u is not answered", walk.keys, host);
}

/* True: it answered. */
static bool press(const char *key)
{
	walk.before = walk.model;
	(void)snprintf(walk.keys + strlen(walk.keys), sizeof(walk.keys) - strlen(walk.keys), "%s",
		       key);
	screen_type(key);
	if (screen.gw.answer_count > 0) {
		must_be_as_shown(key);
		return true;
	}
	open_keys(); /* there may be another view now */
	ck_assert_msg(shows(&walk.model, "denied in ") || shows(&walk.model, "denied from ") ||
			      shows(&walk.model, "any key: "),
		      "%s: the time that is left is not shown:\n%s", walk.keys, screen.text);
	return false;
}

static bool press_all(const char *keys)
{
	for (; *keys; keys++) {
		if (press((char[]){ *keys, '\0' }))
			return true;
	}
	return false;
}

/* Nothing happens silently, except that there is nothing to be taken back, that an answer is typed,
 * and that the screen says already what the same key has done. */
static void must_react(const char *key)
{
	size_t len = strlen(walk.keys);
	bool was_whole = shows(&walk.before, "denied in ") && !shows(&walk.before, ", Space: ");
	char last = len > 1 ? walk.keys[len - 2] : '\0';

	if (was_whole && strchr(" Z", key[0]) && shows(&walk.model, "; ? lists the keys"))
		ck_assert_msg(!shows(&walk.model, ", Space: "),
			      "%s: the note takes lines away:\n%s", walk.keys, screen.text);
	if (is_typing(&walk.before) || strchr("\x08\x7f", key[0]) || last == key[0] ||
	    (last == '\r' && key[0] == '\n') || shows(&walk.before, "nothing is selected") ||
	    shows(&walk.before, "was typed:") ||
	    memcmp(walk.before.cells, walk.model.cells, sizeof(walk.model.cells)) != 0)
		return;
	if (walk.is_watch && key[0] == 'x')
		ck_assert_msg(walk.left > 0, "%s: x does not leave", walk.keys);
	else
		ck_assert_msg(is_list(&walk.before) && strchr("jk\r\n0123456789", key[0]),
			      "%s: %d does nothing, and nothing says so:\n%s", walk.keys, key[0],
			      screen.text);
}

static bool is_possible(unsigned char key)
{
	return !walk.is_watch || !strchr("\x03\x1a\x1c", key); /* those are signals there */
}

/* @state, then in another window if @resized, then @key, and then Enter, and the domain where it is
 * wanted. */
static void walk_to(const char *state, bool resized, const char *key)
{
	begin();
	if (press_all(state)) {
		end();
		return;
	}
	if (resized) {
		set_size((walk.size + 1) % SIZES);
		raise(SIGWINCH);
		look();
	}
	if (!press(key)) {
		char type[64];

		must_react(key);
		(void)press("\r");
		(void)model_field(&walk.model, "type", type, sizeof(type));
		if (screen.gw.answer_count == 0 && type[0] != '\0' && is_typing(&walk.model))
			(void)(press_all(type) || press("\r"));
	}
	end();
}

/* Which bytes do something on the first page: the others say that they do nothing, and two of them
 * stand for all, as two digits do. */
static size_t find_keys(char keys[130])
{
	size_t count = 0;

	for (unsigned char key = 1; key < 0x80; key++) {
		char typed[] = { (char)key, '\0' };

		if (strchr("\x1b\x30\x31\x34\x35\x36\x37\x38", key) || !is_possible(key))
			continue;
		begin();
		if (press(typed) || !shows(&walk.model, "does nothing"))
			keys[count++] = (char)key;
		end();
	}
	keys[count++] = 'Z';
	keys[count++] = '\x02';
	keys[count] = '\0';
	ck_assert_uint_lt(count, 64); /* they say so, indeed */
	return count;
}

/* Which of @keys lead to a page of its own. */
static size_t find_states(const char *keys, char states[130])
{
	static struct model models[64];
	size_t count = 0;

	for (; *keys; keys++) {
		size_t i = 0;

		begin();
		if (!press((char[]){ *keys, '\0' }) && !shows(&walk.model, "does nothing")) {
			models[count] = walk.model;
			while (memcmp(models[i].cells, walk.model.cells,
				      sizeof(walk.model.cells)) != 0)
				i++;
			if (i == count)
				states[count++] = *keys;
		}
		end();
	}
	return count;
}

/* States that take several keys: reasons, domains that are typed, what was chosen and widened, rows
 * that were selected. */
static const char *const deep[KINDS][12] = {
	[PLAIN] = { "sh", "ahp", "rwhy", "rwhy\r", "ah\r", "ah\rlook", "ah\rno\r", "yhS" },
	[RISKY] = { "s\r", "s\rlook", "s\rno\r", "y\r\r" },
	[LONG] = { "  ", "s ", "   s", "  s\r", "  r" },
	[LIST] = { "g j ", " s", "As", "As\r", "As\rd1", "gA", "3 r", "jj *", "?x", "g2 3 y",
		   "9 a\r", " \x7f" },
	[COMMAND] = { "a\r", "rwhy", "rwhy\r", "a\x7f" },
	[PATCH] = { "  ", "s ", "   s", "  s\r", "  r" },
	[PERMISSIONS] = { "s\r", "s\r/srv", "s\rno\r", "y\r\r" },
};

/* _i: the surface, the size and the kind of question. `./dev test --quick` has one size of each. */
START_TEST(every_key_in_every_state)
{
	char keys[130], states[130];
	size_t count, state_count;

	walk.kind = (enum kind)(_i % KINDS);
	walk.size = _i / KINDS % SIZES;
	walk.is_watch = _i / KINDS / SIZES == WATCH;
	walk.is_dumb = _i / KINDS / SIZES == DUMB;
	walk.compared = 0;
	if (getenv("TEST_QUICK") && walk.size != (int)walk.kind % SIZES)
		return;
	if (walk.is_watch)
		watch_open();
	if (walk.is_dumb)
		dumb_open();
	count = find_keys(keys);
	state_count = find_states(keys, states);
	for (size_t i = 0; i < count; i++) {
		char key[] = { keys[i], '\0' };

		walk_to("", false, key);
		for (size_t state = 0; state < state_count; state++)
			walk_to((char[]){ states[state], '\0' }, false, key);
		for (size_t state = 0; state < ARRAY_SIZE(deep[0]) && deep[walk.kind][state];
		     state++)
			walk_to(deep[walk.kind][state], (i + state) % 2 == 0, key);
	}
	ck_assert_uint_gt(walk.compared, 30);
}
END_TEST

Suite *suite_tty_states(void)
{
	Suite *suite = suite_create("tty-states");
	TCase *terminal = tcase_create("terminal-states"), *watch = tcase_create("watch-states"),
	      *dumb = tcase_create("dumb-states");

	tcase_set_timeout(terminal, 120);
	tcase_set_timeout(watch, 120);
	tcase_set_timeout(dumb, 120);
	tcase_set_tags(terminal, "terminal-states");
	tcase_set_tags(watch, "watch-states");
	tcase_set_tags(dumb, "dumb-states");
	tcase_add_checked_fixture(terminal, screen_setup, screen_teardown);
	tcase_add_checked_fixture(watch, screen_setup, screen_teardown);
	tcase_add_checked_fixture(dumb, screen_setup, screen_teardown);
	tcase_add_loop_test(terminal, every_key_in_every_state, 0, SIZES * KINDS);
	tcase_add_loop_test(watch, every_key_in_every_state, SIZES * KINDS, 2 * SIZES * KINDS);
	tcase_add_loop_test(dumb, every_key_in_every_state, 2 * SIZES * KINDS, 3 * SIZES * KINDS);
	suite_add_tcase(suite, terminal);
	suite_add_tcase(suite, watch);
	suite_add_tcase(suite, dumb);
	return suite;
}
