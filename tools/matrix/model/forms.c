/*
 * tools/matrix/model/forms.c - graphs with branches and loops, and what they
 * must do
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include "tools/matrix/model/model.h"

/*
 * The last launch of each also fails, and is made without philox. Left out is
 * what philox/graph.h leaves open: what is in a body within one that is
 * beyond its limit, where the caller sets the condition; a backward beyond the
 * limit whose forward is around its body; and a REVERSED loop that goes on after
 * there was no iteration left.
 */
static const struct {
	const char *program, *choices;
} table[FORM_COUNT] = {
	{"3(F)", "0 1 2 4 3"},
	{"?(F)", "0 1"},
	{"3(N)", "0 2 4 3"},
	{"3(FB)", "0 1 4 3"},
	{"3(F)3(B)", "00 13 30 31 34 33"},
	{"3(F)3(B~)", "00 01 11 12 23 31 42 33"},
	{"3(F)3(B@)", "00 3202 1225 33210"},
	{"3(F)B.2.0.1", "0 2 3"},
	{"3(?(F))", "0 10 201 210 4101 3101 3111"},
	{"2(5(F))", "0 13 220 221 203 233 364 264"},
	{"3(FR)", "0 2 3"},
	{"3(F)3(R)B", "02 21 33"},
	{"3(F?(B))", "0 10 211 3101"},
	{"F3(B)", "0 2 3"},
	{"?(F)(F)", "0 1"},
	{"s(F)(F)", "0 1 2"},
	{"3(FG)", "0 2 4 3"},
	{"F*.2.1", ""},
	{"F*3(B@)", "0 215 3120"},
	{"N.2.0", ""},
	{"3(N@)", "0 17 3201"},
	{"?(N)", "0 1"},
	{"3(F)3(N)", "10 02 33"},
	{"3(K)", "0 3"},
	{"3(F)?(B)", "01 30 21"},
	{"3(K)3(L)", "02 10 33"},
	{"?(K)3(L)", "03 11 12"},
	{"K3(L)", "0 2"},
	{"3(FF)", "0 2 4 3"},
	{"3(F)F", "0 2 3"},
	{"3(F)3(?(B))", "00 30 2211 33101"},
	{"3(?(F))3(B~)", "00 31012 31113"},
	{"3(F)3(R)3(B~)", "011 223 333"},
	{"3(F3(B))", "0 230 3111"},
	{"?(3(F))", "0 10 14 13"},
	{"3(F)3(B.0)", "02 33"},
	{"3(I)", "0 4 2"},
	{"o3(F)", "0 2 4 5 3"},
	{"t3(F)", "0 2 3 4 1"},
	{"o3(FB)", "0 1 5 3"},
	{"t2(t5(F))", "0 13 220 364 251"},
	{"o3(F)3(B~)", "01 22 41 51"},
	{"t3(F)o3(B)", "00 34 42 25"},
};

static struct form forms[FORM_COUNT];

/* --- reading a program ---------------------------------------------------- */

struct parse {
	struct form *form;
	const char *next;
	unsigned body; /* that we are in */
};

static struct form_op *add_op(struct form *form, char what)
{
	struct form_op *op = &form->op[form->n_ops++];

	op->what = what;
	return op;
}

static void note_forward(struct form *form, struct form_pass *pass)
{
	pass->is_forward = 1;
	form->first[form->forwards] = form->n_passes - 1;
	pass->forward = (uint8_t)form->forwards++;
	form->makes += pass->what != 'I';
}

/* "B" and "N" use a ticket up; so the forward of "B" leaves none. */
static void note_repeat(struct form *form, struct form_pass *pass)
{
	pass->consumes = strchr("BNL", pass->what) != NULL;
	if (pass->what == 'B' || pass->what == 'R') {
		pass->forward = (uint8_t)(form->forwards - 1);
		pass->source = (uint8_t)form->first[pass->forward];
		form->makes -= pass->consumes;
		return;
	}
	pass->forward = FORM_NAMED;
	pass->source = FORM_NAMED;
	if (pass->what == 'L')
		pass->source = (uint8_t)form->last_named;
	else
		form->last_named = form->n_passes - 1;
	form->named = 1;
	form->consumes |= pass->consumes;
}

static void read_suffixes(struct parse *parse, struct form_pass *pass)
{
	for (;; parse->next++) {
		switch (*parse->next) {
		case '*':
			pass->loop = 1;
			pass->iterations = FORM_LOOP;
			break;
		case '~':
			pass->reversed = 1;
			break;
		case '@':
			pass->word = 1;
			pass->tape = (uint8_t)parse->form->n_tapes++;
			break;
		case '.':
			pass->view[pass->views++] =
				(uint8_t)(*++parse->next - '0');
			break;
		default:
			return;
		}
	}
}

static int is_around(const struct form *form, unsigned outer, unsigned inner)
{
	while (inner != FORM_OUTSIDE && inner != outer)
		inner = form->parent[inner];
	return inner == outer;
}

int form_is_with_source(const struct form *form, const struct form_pass *pass)
{
	return pass->source != FORM_NAMED &&
	       is_around(form, form->pass[pass->source].body, pass->body);
}

static void note_needs(struct form *form, const struct form_pass *pass)
{
	if (pass->forward != FORM_NAMED)
		return;
	if (form->needs < pass->iterations && !form_is_with_source(form, pass))
		form->needs = pass->iterations;
	for (unsigned i = 0; i < pass->views; i++)
		if (form->needs <= pass->view[i])
			form->needs = pass->view[i] + 1u;
}

static void read_pass(struct parse *parse)
{
	struct form *form = parse->form;
	struct form_pass *pass = &form->pass[form->n_passes];

	add_op(form, 'P')->pass = (uint8_t)form->n_passes++;
	pass->what = *parse->next++;
	pass->body = (uint8_t)parse->body;
	pass->iterations = form->limit[parse->body];
	if (strchr("FGI", pass->what))
		note_forward(form, pass);
	else
		note_repeat(form, pass);
	read_suffixes(parse, pass);
	note_needs(form, pass);
}

static void read_list(struct parse *parse);

static void read_body(struct parse *parse, const struct form_op *node)
{
	struct form *form = parse->form;
	unsigned around = parse->body;
	struct form_op *op = add_op(form, '(');

	parse->next++;
	parse->body = ++form->n_bodies;
	op->body = (uint8_t)parse->body;
	form->parent[parse->body] = (uint8_t)around;
	form->limit[parse->body] =
		node->limit ? node->limit : form->limit[around];
	read_list(parse);
	parse->next++;
	parse->body = around;
	add_op(form, ')');
}

static void read_node(struct parse *parse)
{
	char setter = (char)(strchr("ot", *parse->next) ? *parse->next++ : 0);
	char kind = *parse->next++;
	int loops = isdigit((unsigned char)kind) != 0;
	struct form_op *node = add_op(parse->form, loops ? 'w' : kind);

	node->setter = setter;
	node->limit = (uint8_t)(loops ? kind - '0' : 0);
	node->tape = (uint8_t)parse->form->n_tapes++;
	for (; *parse->next == '('; node->bodies++)
		read_body(parse, node);
	add_op(parse->form, 'e');
}

static void read_list(struct parse *parse)
{
	while (*parse->next && *parse->next != ')') {
		if (strchr("FGIBRNKL", *parse->next))
			read_pass(parse);
		else
			read_node(parse);
	}
}

const struct form *form_of(unsigned number)
{
	struct form *form = &forms[number];
	struct parse parse = {.form = form, .next = table[number].program};

	if (!form->n_ops) {
		form->program = table[number].program;
		form->choices = table[number].choices;
		form->limit[FORM_OUTSIDE] = 1;
		read_list(&parse);
	}
	return form;
}

/* --- launches ------------------------------------------------------------- */

unsigned form_choices(const struct form *form)
{
	unsigned n = 1;

	for (const char *c = form->choices; *c; c++)
		n += *c == ' ';
	return n;
}

void form_digits(const struct form *form, unsigned choice,
		 char digits[FORM_DIGITS])
{
	const char *from = form->choices;

	while (choice--)
		from = strchr(from, ' ') + 1;
	snprintf(digits, FORM_DIGITS, "%.*s", (int)strcspn(from, " "), from);
}
