#include "cli/profiles/table.h"

#include "base/mem.h"

#define POLICY(line)           { PROFILE_POLICY, line, NULL },
#define FOLDER(path, variable) { PROFILE_FOLDER, path, variable },
#define COPY(from, to)         { PROFILE_COPY, from, to },
#define PASS(variable)         { PROFILE_PASS, variable, NULL },
#define SET(variable, value)   { PROFILE_SET, variable, value },
#define WORD(word)             { PROFILE_WORD, word, NULL },
#define NOTE(text)             { PROFILE_NOTE, text, NULL },
#define SETUP(line)            { PROFILE_SETUP, line, NULL },
#define CONFIG(path, text)     { PROFILE_CONFIG, path, text },

static const struct profile_line aider[] = {
#include "cli/profiles/aider.def"
};
static const struct profile_line claude[] = {
#include "cli/profiles/claude.def"
};
static const struct profile_line codex[] = {
#include "cli/profiles/codex.def"
};
static const struct profile_line gemini[] = {
#include "cli/profiles/gemini.def"
};
static const struct profile_line opencode[] = {
#include "cli/profiles/opencode.def"
};

const struct profile table_profiles[] = {
	{ "aider", "aider", "aider", aider, ARRAY_SIZE(aider) },
	{ "claude", "Claude Code", "claude", claude, ARRAY_SIZE(claude) },
	{ "codex", "Codex CLI", "codex", codex, ARRAY_SIZE(codex) },
	{ "gemini", "Gemini CLI", "gemini", gemini, ARRAY_SIZE(gemini) },
	{ "opencode", "opencode", "opencode", opencode, ARRAY_SIZE(opencode) },
};
const size_t table_profile_count = ARRAY_SIZE(table_profiles);
