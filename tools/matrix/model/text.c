/*
 * tools/matrix/model/text.c - events as words
 *
 * A word is a letter, the numbers of the forwards concerned, and marks. Facts
 * that follow from the run are not written: a mark shows that an event must be
 * refused, but reading does not depend on it.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

const char matrix_words[] =
	"Words of a run:\n"
	"  F0      forward number 0 (they are counted from 0)\n"
	"  B0 R0   backward, recompute of forward 0\n"
	"  I W     inference forward, warm-up forward\n"
	"  P Q0    one graph: a forward and its backward; and its recompute\n"
	"  X1.0    one graph: forward 1, and a backward of forward 0\n"
	"  D0.1    one graph: backwards of forwards 0 and 1, of one region\n"
	"  T0 U0   one graph: a recompute of forward 0 and, linked to it, a\n"
	"          backward; a backward and, linked and inside, a recompute\n"
	"  M1.0    one graph: a backward of forward 0, forward 1, and forward 2\n"
	"          in the next region\n"
	"  L0      release the ticket of forward 0\n"
	"  O0@1    try the ticket of forward 0 in region 1, which is not its own\n"
	"  C       a capture with an aborted backward, which gives no graph\n"
	"  S N     seed again with the same seed; with the other one\n"
	"  A K     advance the generator; fold a number into its seed\n"
	"  E G     set its state, with the seed it has, so that one forward is\n"
	"          left for SHARED regions; so that they begin again\n"
	"  Z       destroy the region and make it again\n"
	"  V       save the context and load it into a new one\n"
	"  Y0      forward 0, begun for three iterations\n"
	"  H[3(F)]2=0\n"
	"          one graph with branches and loops, after H[; the digits are what\n"
	"          its device memory says in this launch, in the order in which\n"
	"          it is asked: runs of a WHILE, conditions, iterations; =0: the\n"
	"          first forward of which tickets are kept; then .0: forward 0 is\n"
	"          named at launch\n"
	"          F G I    forward; in the next region; inference\n"
	"          B R N K  backward, recompute of that forward; of the one named\n"
	"          L        backward linked to N or K\n"
	"          * ~ @ .1 of three iterations; PHILOX_PASS_REVERSED; also the\n"
	"                   iteration that a word says; also iteration 1\n"
	"          ?( ) ?( )( ) s( )( ) 3( )\n"
	"                   IF; with two bodies; SWITCH; WHILE of limit 3\n"
	"  J[3(F)]7\n"
	"          capture that graph, the 7th device call of it fails\n"
	"and their marks:\n"
	"  @1      in region 1 (else 0; backwards: their forward's); S N A K E G:\n"
	"          of generator 1\n"
	"  g d     through a captured graph; with cells on the device\n"
	"  r       the ticket is retained\n"
	"  ( )     the pass begins; ends (of a graph: prologue; epilogue)\n"
	"  x y     aborted, or the launch fails; a device call before fails (of a\n"
	"          graph: its message; of a body that is run: its last begin)\n"
	"  u       the graph is launched without philox, which reports it\n"
	"  e c     as the body of a runner's function: run as it is; recorded by\n"
	"          this call\n"
	"  p f     the same: replayed, recorded before the run; warmed up, recorded\n"
	"          and replayed by the calls of the run\n"
	"  q b k   (with c) the body refuses to be recorded; its capture breaks;\n"
	"          it fails after its passes, captured\n"
	"  !       must be refused\n";

static int has(const struct matrix_event *event, unsigned what)
{
	return (matrix_kinds[event->kind].has & what) != 0;
}

/* The marks of enum matrix_how and enum matrix_fate. */
static const char hows[] = " dgecpf", fates[] = " rxyuqbk";

static void write_marks(const struct matrix_event *event, char *marks)
{
	if (event->how != MATRIX_EAGER &&
	    !(event->how == MATRIX_IN_GRAPH && has(event, HAS_GRAPH)))
		*marks++ = hows[event->how];
	if (event->part != MATRIX_WHOLE)
		*marks++ = event->part == MATRIX_BEGIN ? '(' : ')';
	if (event->fate != MATRIX_DONE)
		*marks++ = fates[event->fate];
	if (matrix_is_refused(event))
		*marks++ = '!';
	*marks = '\0';
}

/* The graph, what its memory says, and its tickets. */
static void write_form(const struct matrix_event *event, char *text,
		       size_t size)
{
	const struct form *form = form_of(event->form);
	char digits[FORM_DIGITS], made[8] = "", named[8] = "";

	if (event->kind == MATRIX_SPOILED)
		snprintf(digits, sizeof(digits), "%u", event->choice);
	else
		form_digits(form, event->choice, digits);
	if (event->ticket != MATRIX_NONE)
		snprintf(made, sizeof(made), "=%u", event->ticket);
	if (event->other != MATRIX_NONE)
		snprintf(named, sizeof(named), ".%u", event->other);
	snprintf(text, size, "[%s]%s%s%s", form->program, digits, made, named);
}

size_t matrix_event_text(const struct matrix_event *event, char *text,
			 size_t size)
{
	char ticket[48] = "", other[8] = "", region[8] = "", marks[8];

	if (has(event, HAS_FORM))
		write_form(event, ticket, sizeof(ticket));
	if (has(event, HAS_TICKET))
		snprintf(ticket, sizeof(ticket), "%u", event->ticket);
	if (has(event, HAS_OTHER))
		snprintf(other, sizeof(other), ".%u", event->other);
	if (has(event, HAS_REGION) && event->region)
		snprintf(region, sizeof(region), "@%u", event->region);
	write_marks(event, marks);
	return (size_t)snprintf(text, size, "%c%s%s%s%s",
				matrix_kinds[event->kind].letter, ticket, other,
				region, marks);
}

void matrix_run_text(const struct matrix_event *events, unsigned n, char *text,
		     size_t size)
{
	size_t length = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < n && length + 64 < size; i++) {
		if (i)
			text[length++] = ' ';
		length += matrix_event_text(&events[i], text + length,
					    size - length);
	}
}

/* --- reading -------------------------------------------------------------- */

static const char *read_number(const char *text, uint8_t *number)
{
	unsigned value = 0;

	if (!text || !isdigit((unsigned char)*text))
		return NULL;
	while (isdigit((unsigned char)*text) && value < MATRIX_NONE)
		value = value * 10 + (unsigned)(*text++ - '0');
	*number = (uint8_t)value;
	return value < MATRIX_TICKETS ? text : NULL;
}

static int read_mark(char mark, struct matrix_event *event)
{
	const char *how = strchr(hows, mark), *fate = strchr(fates, mark);

	if (how)
		event->how = (uint8_t)(how - hows);
	else if (fate)
		event->fate = (uint8_t)(fate - fates);
	else if (mark == '(' || mark == ')')
		event->part = mark == '(' ? MATRIX_BEGIN : MATRIX_END;
	else if (mark != '!')
		return -1;
	return 0;
}

static const char *read_program(const char *text, struct matrix_event *event)
{
	for (unsigned i = 0; i < FORM_COUNT; i++) {
		const char *program = form_of(i)->program;
		size_t length = strlen(program);

		if (*text != '[' || strncmp(text + 1, program, length) ||
		    text[1 + length] != ']')
			continue;
		event->form = (uint8_t)i;
		return text + length + 2;
	}
	return NULL;
}

/* One of the choices of the form. */
static const char *read_digits(const char *text, struct matrix_event *event)
{
	const struct form *form = form_of(event->form);
	size_t length = strspn(text, "0123456789");
	char digits[FORM_DIGITS];

	for (unsigned i = 0; i < form_choices(form); i++) {
		form_digits(form, i, digits);
		if (strlen(digits) != length || strncmp(text, digits, length))
			continue;
		event->choice = (uint8_t)i;
		return text + length;
	}
	return NULL;
}

static const char *read_form(const char *text, struct matrix_event *event)
{
	text = read_program(text, event);
	if (text && event->kind == MATRIX_SPOILED)
		return read_number(text, &event->choice);
	if (text)
		text = read_digits(text, event);
	if (text && *text == '=')
		text = read_number(text + 1, &event->ticket);
	if (text && *text == '.')
		text = read_number(text + 1, &event->other);
	return text;
}

/* Reads one word, up to a blank or the end; NULL if it is not one. */
static const char *read_event(const char *text, struct matrix_event *event)
{
	memset(event, 0, sizeof(*event));
	while (matrix_kinds[event->kind].letter != *text)
		if (++event->kind == MATRIX_KINDS)
			return NULL;
	text++;
	event->ticket = event->other = MATRIX_NONE;
	if (has(event, HAS_GRAPH))
		event->how = MATRIX_IN_GRAPH;
	if (has(event, HAS_FORM))
		text = read_form(text, event);
	if (has(event, HAS_TICKET))
		text = read_number(text, &event->ticket);
	if (has(event, HAS_OTHER))
		text = text && *text == '.'
			       ? read_number(text + 1, &event->other)
			       : NULL;
	if (text && *text == '@')
		text = has(event, HAS_REGION)
			       ? read_number(text + 1, &event->region)
			       : NULL;
	while (text && *text && *text != ' ')
		text = read_mark(*text, event) ? NULL : text + 1;
	return text;
}

/* Backwards are in the region of their forward. */
static void find_region(const struct matrix_run *run,
			struct matrix_event *event)
{
	struct matrix_view view;

	matrix_look(run, &view);
	if (has(event, HAS_REGION) || event->ticket >= view.next)
		return;
	event->region = view.of[event->ticket].region;
}

int matrix_run_parse(struct matrix_run *run, const char *text, char *message,
		     size_t size)
{
	run->n = 0;
	while (*(text += strspn(text, " "))) {
		int length = (int)strcspn(text, " ");
		const char *word = text;
		struct matrix_event event;

		text = read_event(text, &event);
		if (!text) {
			snprintf(message, size, "'%.*s' is not an event",
				 length, word);
			return -1;
		}
		find_region(run, &event);
		if (run->n >= MATRIX_EVENTS / 4 ||
		    !matrix_possible(run, &event)) {
			snprintf(message, size,
				 "'%.*s' cannot be event number %u here",
				 length, word, run->n + 1);
			return -1;
		}
		matrix_push(run, event);
	}
	return 0;
}
