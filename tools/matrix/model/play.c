/*
 * tools/matrix/model/play.c - what launches of graphs with branches and loops
 * must do
 *
 * The rules of philox/graph.h, followed by a program that runs one pass
 * after the other.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "tools/matrix/model/model.h"

struct player {
	const struct form *form;
	struct form_play *play;
	const char *digits;
	int untold;
	unsigned named;
	unsigned runs[FORM_BODIES]; /* that have begun; the last is at work */
	unsigned written[FORM_TAPES];
	uint32_t drawn[2]; /* iterations of each forward, as bits */
};

static unsigned take_digit(struct player *player)
{
	if (!isdigit((unsigned char)*player->digits))
		abort(); /* a mistake in the table above */
	return (unsigned)(*player->digits++ - '0');
}

static void write_tape(struct player *player, unsigned tape, unsigned word)
{
	player->play->tape[tape][player->written[tape]++] = word;
}

static unsigned body_run(const struct player *player, unsigned body)
{
	return body == FORM_OUTSIDE ? 0 : player->runs[body] - 1;
}

static int is_beyond(const struct player *player, unsigned body)
{
	return body_run(player, body) >= player->form->limit[body];
}

/* How many iterations a pass's forward has. */
static unsigned iterations_of(const struct player *player,
			      const struct form_pass *pass)
{
	const struct form *form = player->form;

	if (pass->forward == FORM_NAMED)
		return player->named;
	return form->pass[form->first[pass->forward]].iterations;
}

/*
 * The table of philox/graph.h: the iteration that this run of a pass
 * draws. Returns 0 if there is none: a REVERSED run for one that was beyond the
 * limit has none, either.
 */
static int find_iteration(const struct player *player,
			  const struct form_pass *pass, unsigned *iteration)
{
	const struct form *form = player->form;
	const struct form_pass *source;

	*iteration = body_run(player, pass->body);
	if (pass->is_forward || pass->source == FORM_NAMED)
		return 1;
	source = &form->pass[pass->source];
	if (form_is_with_source(form, pass))
		*iteration = body_run(player, source->body);
	else if (pass->reversed)
		*iteration = player->runs[source->body] - 1 - *iteration;
	return *iteration < iterations_of(player, pass);
}

static void note_seen(struct player *player, unsigned number, unsigned view,
		      unsigned iteration, int poison)
{
	const struct form_pass *pass = &player->form->pass[number];
	struct form_seen *seen = &player->play->seen[player->play->n++];
	unsigned run = body_run(player, pass->body);

	if (player->play->n > FORM_SEEN)
		abort(); /* too small */
	memset(seen, 0, sizeof(*seen));
	seen->pass = (uint8_t)number;
	seen->view = (uint8_t)view;
	seen->number = run;
	if (player->untold && pass->body != FORM_OUTSIDE)
		seen->number = UINT32_MAX;
	seen->poison = (uint8_t)(poison || player->untold);
	if (seen->poison)
		return;
	seen->iteration = (uint8_t)iteration;
	if (!pass->is_forward)
		return;
	seen->fresh = !(player->drawn[pass->forward] >> iteration & 1);
	player->drawn[pass->forward] |= 1u << iteration;
}

static void play_pass(struct player *player, unsigned number)
{
	const struct form_pass *pass = &player->form->pass[number];
	int beyond = is_beyond(player, pass->body);
	unsigned iteration, i;
	int exists = find_iteration(player, pass, &iteration);

	note_seen(player, number, 0, iteration, beyond || !exists);
	player->play->beyond += !beyond && !exists && !player->untold;
	for (i = 0; i < pass->views; i++)
		note_seen(player, number, i + 1, pass->view[i], 0);
	if (!pass->word)
		return;
	iteration = take_digit(player);
	write_tape(player, pass->tape, iteration);
	exists = iteration < iterations_of(player, pass);
	note_seen(player, number, i + 1, iteration, !exists);
	player->play->beyond += !exists && !player->untold;
}

static unsigned play_list(struct player *player, unsigned at);

/* Runs the body that begins at an op, and returns where it ends. */
static unsigned play_body(struct player *player, unsigned at)
{
	unsigned body = player->form->op[at].body;

	player->runs[body]++;
	player->play->beyond += is_beyond(player, body) && !player->untold;
	return play_list(player, at + 1);
}

/* Where a body ends, without running it. */
static unsigned skip_body(const struct form *form, unsigned at)
{
	unsigned depth = 0;

	for (;; at++) {
		depth += form->op[at].what == '(';
		depth -= form->op[at].what == ')';
		if (!depth)
			return at;
	}
}

/* Whether philox ends a loop before a run that it wants. */
static int is_ended(struct player *player, unsigned body, unsigned run)
{
	if (player->untold)
		return run > 1;
	if (player->runs[body] < player->form->limit[body])
		return 0;
	player->play->cut++;
	return 1;
}

/*
 * As often as it wants: unless the caller's kernels set the condition, not more
 * often than its limit allows, and once if philox was not told.
 */
static void play_while(struct player *player, unsigned at, unsigned wants)
{
	const struct form_op *node = &player->form->op[at];
	const unsigned body = player->form->op[at + 1].body;

	write_tape(player, node->tape, wants > 0);
	for (unsigned run = 1; run <= wants; run++) {
		if (node->setter != 'o' && is_ended(player, body, run))
			return;
		play_body(player, at + 1);
		write_tape(player, node->tape, run < wants);
	}
}

static unsigned play_node(struct player *player, unsigned at)
{
	const struct form_op *node = &player->form->op[at];
	unsigned digit = take_digit(player), next = at + 1;
	unsigned body = node->what == '?' ? !digit : digit;

	if (node->what == 'w')
		play_while(player, at, digit);
	else
		write_tape(player, node->tape, digit);
	for (unsigned i = 0; i < node->bodies; i++) {
		if (node->what != 'w' && i == body)
			play_body(player, next);
		next = skip_body(player->form, next) + 1;
	}
	return next + 1;
}

static unsigned play_list(struct player *player, unsigned at)
{
	const struct form *form = player->form;

	while (at < form->n_ops && form->op[at].what != ')') {
		if (form->op[at].what == 'P')
			play_pass(player, form->op[at++].pass);
		else
			at = play_node(player, at);
	}
	return at;
}

void form_play(const struct form *form, const char *digits, int untold,
	       unsigned named, struct form_play *play)
{
	struct player player = {.form = form,
				.play = play,
				.digits = digits,
				.untold = untold,
				.named = named};

	memset(play, 0, sizeof(*play));
	play_list(&player, 0);
}
