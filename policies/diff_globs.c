#include "policies/diff_globs_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policies/diff_symbols_impl.h"
#include "policies/policy_impl.h"
#include "policies/request_impl.h"

/* Each glob reads a text as it is sent, byte by byte, and as a server may read it: each such
 * reading is a track. A track is in a set of places of its glob, as any text matcher is; the sets
 * of all tracks and what the reading itself has to remember are the state. From the first state
 * every state is visited that some text leads to, the shortest text first. States are finitely
 * many, so what none of them says no text can be.
 *
 * Bytes that no glob names are alike, but for those the readings look at. A byte in escaped form is
 * one step: all three bytes as sent, one as read. */

#define GLOBS_STATES_MAX (1U << 17)
#define GLOBS_WORK_MAX   (1ULL << 31)
#define GLOBS_STAR       256 /* any run without a slash */
#define GLOBS_WIDE       257 /* any run */
#define GLOBS_TRACKS     3

/* What a reading remembers, in the first byte of a state. */
#define PATH_DOTS  3U /* 0: inside a segment; 1: at its begin; 2, 3: behind one or two dots */
#define PATH_PARAM 4U /* behind a semicolon */
#define PATH_SLASH 8U /* the last byte read was a slash */
#define NAME_OVER  1U /* behind the first = */
#define NAME_BAD   2U /* there is no one reading of the name */
#define ALL_BAD    4U /* nor of all of it */

struct globs_track {
	uint16_t *elements; /* bytes, GLOBS_STAR, GLOBS_WIDE */
	size_t count, at;   /* the bit of its first place */
	bool is_loose;      /* case does not count */
	bool is_read;       /* reads what a server reads */
	bool is_name;       /* only as far as the first = */
};

struct globs {
	enum diff_grammar grammar;
	struct globs_track *tracks; /* GLOBS_TRACKS of each glob */
	size_t count;               /* globs */
	struct diff_symbols symbols;
	struct diff_keys states;
	struct globs_step {
		uint32_t from;
		uint32_t symbol;
	} * steps; /* which led to each state; none to the first */
	size_t step_room;
	uint8_t *state, *next, *between[2]; /* at hand */
	uint64_t work;
};

static uint8_t globs_lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte - 'A' + 'a') : byte;
}

static void globs_name(struct globs *globs, uint8_t byte)
{
	uint8_t lower = globs_lower(byte);

	globs->symbols.is_named[byte] = globs->symbols.is_named[lower] = true;
	if (lower >= 'a' && lower <= 'z')
		globs->symbols.is_named[lower - 'a' + 'A'] = true;
}

/* @stops: a single star ends at a slash. */
static void globs_compile(struct globs *globs, struct globs_track *track, const char *glob,
			  bool stops)
{
	track->elements = mem_new_array(strlen(glob) + 1, sizeof(*track->elements));
	while (*glob) {
		size_t stars = strspn(glob, "*");
		int escaped = track->is_loose ? request_escape(glob) : -1;
		uint8_t byte = escaped < 0 ? (uint8_t)*glob : (uint8_t)escaped;

		if (stars > 0) {
			track->elements[track->count++] =
				stops && stars == 1 ? GLOBS_STAR : GLOBS_WIDE;
			glob += stars;
			continue;
		}
		globs_name(globs, byte);
		track->elements[track->count++] = track->is_loose ? globs_lower(byte) : byte;
		glob += escaped < 0 ? 1 : 3;
	}
}

static void globs_enter(const struct globs_track *track, uint8_t *state, size_t place)
{
	for (;; place++) {
		size_t bit = track->at + place;

		state[bit / 8] |= (uint8_t)(1U << bit % 8);
		if (place == track->count || track->elements[place] < GLOBS_STAR)
			return;
	}
}

static bool globs_is_in(const struct globs_track *track, const uint8_t *state, size_t place)
{
	size_t bit = track->at + place;

	return state[bit / 8] & 1U << bit % 8;
}

static void globs_feed(const struct globs_track *track, const uint8_t *from, uint8_t *to,
		       uint8_t byte)
{
	uint8_t wanted = track->is_loose ? globs_lower(byte) : byte;

	for (size_t i = 0; i < track->count; i++) {
		uint16_t element = track->elements[i];

		if (!globs_is_in(track, from, i))
			continue;
		if (element == GLOBS_WIDE || (element == GLOBS_STAR && byte != '/'))
			globs_enter(track, to, i);
		else if (element == wanted)
			globs_enter(track, to, i + 1);
	}
}

static void globs_read(struct globs *globs, const struct globs_track *track, const uint8_t *bytes,
		       size_t len)
{
	const uint8_t *from = globs->state;

	globs->work += track->count * (len + 1);
	for (size_t i = 0; i < len; i++) {
		uint8_t *to = i + 1 == len ? globs->next : globs->between[i];

		if (to != globs->next)
			memset(to, 0, globs->states.width);
		globs_feed(track, from, to, bytes[i]);
		from = to;
	}
	for (size_t i = 0; len == 0 && i <= track->count; i++) {
		if (globs_is_in(track, from, i))
			globs_enter(track, globs->next, i);
	}
}

static void globs_track(struct globs *globs, const struct globs_track *track,
			const struct diff_symbol *symbol, bool is_read)
{
	if (track->is_read)
		globs_read(globs, track, &symbol->read, is_read ? 1 : 0);
	else
		globs_read(globs, track, symbol->sent, symbol->len);
}

/* As request_is_doubtful() and request_normal(). False: no path that all read alike. */
static bool globs_step_path(struct globs *globs, const struct diff_symbol *symbol)
{
	unsigned int flags = globs->state[0], dots = flags & PATH_DOTS;
	uint8_t byte = symbol->len == 1 ? symbol->sent[0] : 0;
	bool is_read = !(flags & PATH_PARAM);

	if (dots >= 2 && (byte == '/' || byte == ';'))
		return false;
	dots = byte == '/' ? 1 : byte == '.' && dots > 0 && dots < 3 ? dots + 1 : 0;
	if (byte == '/') {
		is_read = !(flags & PATH_SLASH);
		flags = PATH_SLASH;
	} else if (byte == ';') {
		is_read = false;
		flags |= PATH_PARAM;
	} else if (is_read) {
		flags &= ~PATH_SLASH;
	}
	globs->next[0] = (uint8_t)((flags & ~PATH_DOTS) | dots);
	for (size_t i = 0; i < globs->count * GLOBS_TRACKS; i++)
		globs_track(globs, &globs->tracks[i], symbol, is_read);
	return true;
}

/* As request_decode() and request_parameter(). */
static void globs_step_parameter(struct globs *globs, const struct diff_symbol *symbol)
{
	unsigned int flags = globs->state[0];
	bool is_name = !(flags & NAME_OVER);

	if (symbol->is_bad)
		flags |= is_name ? NAME_BAD | ALL_BAD : ALL_BAD;
	if (symbol->len == 1 && symbol->sent[0] == '=')
		flags |= NAME_OVER;
	globs->next[0] = (uint8_t)flags;
	for (size_t i = 0; i < globs->count * GLOBS_TRACKS; i++) {
		const struct globs_track *track = &globs->tracks[i];
		bool is_over = track->is_name && flags & NAME_OVER;

		if (flags & (track->is_name ? NAME_BAD : ALL_BAD))
			continue; /* where it is now makes no difference */
		if (is_over)
			globs_read(globs, track, NULL, 0);
		else
			globs_track(globs, track, symbol, true);
	}
}

static bool globs_step(struct globs *globs, const struct diff_symbol *symbol)
{
	memset(globs->next, 0, globs->states.width);
	if (globs->grammar == DIFF_PATHS)
		return globs_step_path(globs, symbol);
	if (globs->grammar == DIFF_PARAMETERS) {
		globs_step_parameter(globs, symbol);
		return true;
	}
	for (size_t i = 0; i < globs->count * GLOBS_TRACKS; i++)
		globs_track(globs, &globs->tracks[i], symbol, true);
	return true;
}

/* Two bytes for each glob: does what is read so far meet it? False: it cannot end here. */
static bool globs_says(const struct globs *globs, const uint8_t *state, uint8_t *out)
{
	if (globs->grammar == DIFF_PATHS && (state[0] & PATH_DOTS) >= 2)
		return false;
	for (size_t i = 0; i < globs->count; i++) {
		const struct globs_track *track = &globs->tracks[i * GLOBS_TRACKS];
		bool as_sent = globs_is_in(&track[0], state, track[0].count);
		bool as_loose = globs_is_in(&track[1], state, track[1].count);
		bool as_read = globs_is_in(&track[2], state, track[2].count);
		bool is_bad = globs->grammar == DIFF_PARAMETERS &&
			      state[0] & (track->is_name ? NAME_BAD : ALL_BAD);

		out[2 * i] = !is_bad && as_sent && as_read;
		out[2 * i + 1] = is_bad || as_sent || as_read ||
				 (as_loose && globs->grammar != DIFF_PARAMETERS);
	}
	return true;
}

/* The bytes that led to state @number, and were sent. Returned owned. */
static char *globs_text(const struct globs *globs, uint32_t number)
{
	size_t len = 0;

	for (uint32_t i = number; i > 0; i = globs->steps[i].from)
		len += globs->symbols.list[globs->steps[i].symbol].len;
	char *text = mem_new(len + 1);

	for (uint32_t i = number; i > 0; i = globs->steps[i].from) {
		const struct diff_symbol *symbol = &globs->symbols.list[globs->steps[i].symbol];

		len -= symbol->len;
		memcpy(text + len, symbol->sent, symbol->len);
	}
	return text;
}

static void globs_visit(struct globs *globs, uint32_t from, uint32_t symbol)
{
	bool is_new;

	if (!globs_step(globs, &globs->symbols.list[symbol]))
		return;
	uint32_t number = diff_keys_put(&globs->states, globs->next, &is_new);

	if (!is_new)
		return;
	globs->steps = rules_reserve(globs->steps, &globs->step_room, globs->states.count,
				     sizeof(*globs->steps));
	globs->steps[number] = (struct globs_step){ from, symbol };
}

/* Every state behind the first, and what each says. */
static int globs_walk(struct globs *globs, struct diff_kinds *ret)
{
	auto_free uint8_t *says = mem_new_array(globs->count + 1, 2);

	for (uint32_t i = 0; i < globs->states.count; i++) {
		memcpy(globs->state, diff_keys_get(&globs->states, i), globs->states.width);
		/* The empty text comes last: another of its kind reads better. */
		if (i > 0 && globs_says(globs, globs->state, says))
			(void)diff_keys_add_kind(ret, says, globs_text(globs, i));
		/* A path begins with a slash, which is the first symbol. */
		size_t count = globs->grammar == DIFF_PATHS && i == 0 ? 1 : globs->symbols.count;

		for (uint32_t j = 0; j < count; j++)
			globs_visit(globs, i, j);
		if (globs->states.count > GLOBS_STATES_MAX || globs->work > GLOBS_WORK_MAX)
			return -E2BIG;
	}
	if (globs->grammar != DIFF_PATHS &&
	    globs_says(globs, diff_keys_get(&globs->states, 0), says))
		(void)diff_keys_add_kind(ret, says, globs_text(globs, 0));
	return 0;
}

static void globs_begin(struct globs *globs, const char *const *texts)
{
	size_t bits = 8;
	bool is_new;

	globs->tracks = mem_new_array(globs->count * GLOBS_TRACKS + 1, sizeof(*globs->tracks));
	for (size_t i = 0; i < globs->count * GLOBS_TRACKS; i++) {
		struct globs_track *track = &globs->tracks[i];
		const char *text = texts[i / GLOBS_TRACKS];

		track->is_loose = i % GLOBS_TRACKS != 0 &&
				  !(globs->grammar == DIFF_VALUES && i % GLOBS_TRACKS == 2);
		track->is_read = i % GLOBS_TRACKS == 2;
		track->is_name = globs->grammar == DIFF_PARAMETERS && !strchr(text, '=');
		track->at = bits;
		if (globs->grammar != DIFF_PARAMETERS || i % GLOBS_TRACKS != 1) /* not looked at */
			globs_compile(globs, track, text, globs->grammar == DIFF_PATHS);
		else
			track->elements = mem_new(sizeof(*track->elements));
		bits += track->count + 1;
	}
	globs->states.width = (bits + 7) / 8;
	globs->state = mem_new(globs->states.width);
	globs->next = mem_new(globs->states.width);
	globs->between[0] = mem_new(globs->states.width);
	globs->between[1] = mem_new(globs->states.width);
	for (size_t i = 0; i < globs->count * GLOBS_TRACKS; i++)
		globs_enter(&globs->tracks[i], globs->next, 0);
	(void)diff_keys_put(&globs->states, globs->next, &is_new);
	globs->steps = rules_reserve(NULL, &globs->step_room, 1, sizeof(*globs->steps));
}

int diff_globs(enum diff_grammar grammar, const char *const *texts, size_t count,
	       struct diff_kinds *ret)
{
	struct globs globs = { .grammar = grammar, .count = count };

	globs_begin(&globs, texts);
	diff_symbols_fill(&globs.symbols, grammar);
	ret->says.width = 2 * count;
	int r = globs_walk(&globs, ret);

	for (size_t i = 0; i < count * GLOBS_TRACKS; i++)
		free(globs.tracks[i].elements);
	free(globs.tracks);
	free(globs.symbols.list);
	diff_keys_done(&globs.states);
	free(globs.steps);
	free(globs.state);
	free(globs.next);
	free(globs.between[0]);
	free(globs.between[1]);
	return r;
}
