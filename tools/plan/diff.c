/*
 * tools/plan/diff.c - the first difference of two plans, in words
 *
 * Functions are in order of name; keys, which are in order of their last calls,
 * are compared in that of their bytes.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/plan/plan.h"

/* Functions that compare print a difference and return 1, or return 0. */
static int plans_differ(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return 1;
}

static int numbers_differ(const char *what, const char *field, uint64_t a,
			  uint64_t b)
{
	return a != b &&
	       plans_differ("%s: %s %" PRIu64 " in A, %" PRIu64 " in B", what,
			    field, a, b);
}

static int names_differ(const char *what, const char *field, const char *a,
			const char *b)
{
	return strcmp(a, b) != 0 &&
	       plans_differ("%s: %s %s in A, %s in B", what, field,
			    journal_name(a).text, journal_name(b).text);
}

/* --- fields --------------------------------------------------------------- */

struct value_words {
	char text[sizeof(struct journal_text)];
};

/* Choices of policies are numbers here. */
static struct value_words words_of(const struct field *field,
				   const void *object, int of_policy)
{
	const uint64_t number =
		field->kind == FIELD_NAME ? 0 : field_number(field, object);
	struct value_words words = {"never"};

	if (field->kind == FIELD_NAME)
		snprintf(words.text, sizeof(words.text), "%s",
			 journal_name(field_text(field, object)).text);
	else if (field->kind == FIELD_CHOICE && !of_policy)
		snprintf(words.text, sizeof(words.text), "%s",
			 journal_name(field->words[number]).text);
	else if (field->kind == FIELD_HEX)
		snprintf(words.text, sizeof(words.text), "%016" PRIx64, number);
	else if (field->kind != FIELD_TIMES || number != PHILOX_NEVER)
		snprintf(words.text, sizeof(words.text), "%" PRIu64, number);
	return words;
}

/* A field of one of two objects is NULL if they are the same. */
static int values_differ(const char *what, const struct field *field,
			 const char *name, const void *a, const void *b)
{
	return field && plans_differ("%s: %s %s in A, %s in B", what, name,
				     words_of(field, a, 0).text,
				     words_of(field, b, 0).text);
}

static const char *spoken(const struct field *field)
{
	return field && field->spoken ? field->spoken
	       : field                ? field_name(field)
				      : "";
}

static int only_one(const char *what, int in_a)
{
	return plans_differ("%s is in %s only", what, in_a ? "A" : "B");
}

/* --- descriptors ---------------------------------------------------------- */

struct part_words {
	char text[sizeof(struct journal_text) + 256];
};

static struct part_words part_of(const char *function, const char *what,
				 size_t index)
{
	struct part_words words;

	snprintf(words.text, sizeof(words.text), "%s, %s %zu", function, what,
		 index);
	return words;
}

/* All but the keys. */
static int signatures_differ(const char *function,
			     const struct plan_function *a,
			     const struct plan_function *b)
{
	struct plan_difference found;
	struct part_words what;

	if (!plan_functions_differ(a, b, &found))
		return 0;
	if (found.part)
		what = part_of(function, found.part->word, found.index);
	else
		snprintf(what.text, sizeof(what.text), "%s", function);
	return plans_differ(
		"%s: %s%s %s in A, %s in B", what.text,
		found.of_policy ? "policy." : "", field_name(found.field),
		words_of(found.field, found.one, found.of_policy).text,
		words_of(found.field, found.other, found.of_policy).text);
}

/* --- keys ----------------------------------------------------------------- */

/* A key of one of the plans. */
struct found_key {
	const struct plan_function *function;
	const struct plan_key *key;
	size_t index; /* among those of the function */
};

static int by_bytes(const void *one, const void *other)
{
	const struct plan_key *a = ((const struct found_key *)one)->key;
	const struct plan_key *b = ((const struct found_key *)other)->key;
	const size_t least = a->size < b->size ? a->size : b->size;
	const int order = least ? memcmp(a->bytes, b->bytes, least) : 0;

	return order ? order : (a->size > b->size) - (a->size < b->size);
}

static struct found_key *sort_found(const struct plan_function *function)
{
	struct found_key *found = calloc(function->n_keys + 1, sizeof(*found));

	for (size_t i = 0; found && i < function->n_keys; i++)
		found[i] = (struct found_key){function, &function->keys[i], i};
	if (found)
		qsort(found, function->n_keys, sizeof(*found), by_bytes);
	return found;
}

static int scripts_differ(const char *what, const struct found_key *a,
			  const struct found_key *b)
{
	static const struct plan_script none;
	const struct plan_script *x = &none, *y = &none;

	if (a->key->script != PLAN_NO_SCRIPT)
		x = &a->function->scripts[a->key->script];
	if (b->key->script != PLAN_NO_SCRIPT)
		y = &b->function->scripts[b->key->script];
	if ((x == &none) != (y == &none))
		return plans_differ("%s: what its body does is known in %s "
				    "only",
				    what, x == &none ? "B" : "A");
	for (size_t i = 0; i < x->n || i < y->n; i++) {
		struct step_words in_a = {"the end"}, in_b = {"the end"};

		if (i < x->n)
			in_a = plan_step_words(a->function, &x->steps[i]);
		if (i < y->n)
			in_b = plan_step_words(b->function, &y->steps[i]);
		if (strcmp(in_a.text, in_b.text) != 0)
			return plans_differ("%s, step %zu of its body: %s in "
					    "A, %s in B",
					    what, i, in_a.text, in_b.text);
	}
	return 0;
}

static int takes_differ(const char *what, const struct found_key *a,
			const struct found_key *b)
{
	const size_t n = a->function->n_inputs;

	for (size_t i = 0; i < n; i++) {
		const struct key_input *x =
			&a->function->takes[a->index * n] + i;
		const struct key_input *y =
			&b->function->takes[b->index * n] + i;
		const struct part_words part = part_of(what, "input", i);
		const struct field *field;

		field = fields_differ(plan_input_fields, x, y);
		if (field && field->kind == FIELD_MARK)
			return plans_differ("%s is copied in %s only",
					    part.text, x->copied ? "A" : "B");
		if (values_differ(part.text, field, spoken(field), x, y))
			return 1;
	}
	return 0;
}

static int keys_of_a_pair_differ(const char *what, const struct found_key *a,
				 const struct found_key *b)
{
	const struct plan_key *x = a->key, *y = b->key;
	const struct field *field = fields_differ(plan_key_fields, x, y);

	if (names_differ(what, "label", x->label, y->label) ||
	    scripts_differ(what, a, b) ||
	    values_differ(what, field, spoken(field), x, y))
		return 1;
	if (x->wait && strcmp(x->refused, y->refused) != 0)
		return plans_differ("%s: it waits, since %s in A, since %s in "
				    "B",
				    what, journal_name(x->refused).text,
				    journal_name(y->refused).text);
	return takes_differ(what, a, b);
}

static int sorted_keys_differ(const char *function, const struct found_key *a,
			      size_t n_a, const struct found_key *b, size_t n_b)
{
	for (size_t i = 0; i < n_a || i < n_b; i++) {
		const int order = i == n_a   ? 1
				  : i == n_b ? -1
					     : by_bytes(&a[i], &b[i]);
		struct {
			char text[sizeof(struct journal_text) + 128];
		} what;

		snprintf(what.text, sizeof(what.text), "%s, key %s", function,
			 plan_key_words(order <= 0 ? a[i].key : b[i].key).text);
		if (order)
			return only_one(what.text, order < 0);
		if (keys_of_a_pair_differ(what.text, &a[i], &b[i]))
			return 1;
	}
	return 0;
}

/* The same keys, called in another order. */
static int orders_differ(const char *function, const struct plan_function *a,
			 const struct plan_function *b)
{
	for (size_t i = 0; i < a->n_keys; i++) {
		const struct found_key x = {a, &a->keys[i], i};
		const struct found_key y = {b, &b->keys[i], i};

		if (by_bytes(&x, &y))
			return plans_differ(
				"%s: the order of the last calls of its keys: "
				"number %zu is %s in A, %s in B",
				function, i + 1, plan_key_words(x.key).text,
				plan_key_words(y.key).text);
	}
	return 0;
}

static int all_keys_differ(const char *function, const struct plan_function *a,
			   const struct plan_function *b)
{
	struct found_key *in_a = sort_found(a), *in_b = sort_found(b);
	int result = 2;

	if (in_a && in_b)
		result = sorted_keys_differ(function, in_a, a->n_keys, in_b,
					    b->n_keys) ||
			 orders_differ(function, a, b);
	else
		complain("diff", "out of memory");
	free(in_a);
	free(in_b);
	return result;
}

/* --- all of it ------------------------------------------------------------- */

static int functions_differ(const struct plan_function *a,
			    const struct plan_function *b)
{
	const struct field *waste = fields_differ(plan_waste_fields, a, b);
	char what[sizeof(struct journal_text) + 16];

	snprintf(what, sizeof(what), "function %s", journal_name(a->name).text);
	if (signatures_differ(what, a, b) ||
	    values_differ(what, waste, spoken(waste), a, b))
		return 1;
	return all_keys_differ(what, a, b);
}

static int function_is_in(const struct plan_function *function, int in_a)
{
	char what[sizeof(struct journal_text) + 16];

	snprintf(what, sizeof(what), "function %s",
		 journal_name(function->name).text);
	return only_one(what, in_a);
}

static int all_functions_differ(const struct plan *a, const struct plan *b)
{
	for (size_t i = 0; i < a->n_functions || i < b->n_functions; i++) {
		const struct plan_function *x = &a->functions[i];
		const struct plan_function *y = &b->functions[i];
		const int order = i == a->n_functions ? 1
				  : i == b->n_functions
					  ? -1
					  : strcmp(x->name, y->name);
		int result;

		if (order)
			return function_is_in(order < 0 ? x : y, order < 0);
		result = functions_differ(x, y);
		if (result)
			return result;
	}
	return 0;
}

static int barred_differ(const struct plan *a, const struct plan *b)
{
	for (size_t i = 0; i < a->n_barred && i < b->n_barred; i++) {
		const struct plan_barred *x = &a->barred[i];
		const struct plan_barred *y = &b->barred[i];
		const struct field *field =
			fields_differ(plan_barred_fields, x, y);
		char what[40];

		snprintf(what, sizeof(what), "barred ticket %zu", i);
		if (!field)
			continue;
		if (field->kind != FIELD_EITHER)
			return values_differ(what, field, spoken(field), x, y);
		return names_differ(what, "reason", x->reason, y->reason) ||
		       plans_differ("%s: its function was destroyed in %s only",
				    what, x->alive ? "B" : "A");
	}
	return numbers_differ("the runner", "barred tickets", a->n_barred,
			      b->n_barred);
}

static int plans_are_the_same(const struct plan *plan)
{
	size_t keys = 0;

	for (size_t i = 0; i < plan->n_functions; i++)
		keys += plan->functions[i].n_keys;
	printf("no difference: functions %zu, keys %zu, barred tickets %zu\n",
	       plan->n_functions, keys, plan->n_barred);
	return 0;
}

int plan_diff(const struct plan *a, const struct plan *b)
{
	const struct field *field = fields_differ(plan_peak_fields, a, b);
	int result = all_functions_differ(a, b);

	if (result)
		return result;
	if (barred_differ(a, b) ||
	    names_differ("the plan", "library", a->library, b->library) ||
	    values_differ("the pool", field, spoken(field), a, b))
		return 1;
	return plans_are_the_same(a);
}
