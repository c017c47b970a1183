/*
 * tools/outputs/outputs.c - saved outputs in words and as JSON, and the first
 * difference of two files
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/state/state.h"
#include "tools/cli/cli.h"
#include "tools/formats/formats.h"
#include "tools/outputs/outputs.h"

/* --- in words ------------------------------------------------------------- */

/* Which output it is: "y" of "layer", label "micro 2". */
static void print_name(FILE *out, const struct outputs_item *item)
{
	fprintf(out, "%s of %s", journal_name(item->output).text,
		journal_name(item->function).text);
	if (*item->label)
		fprintf(out, ", label %s", journal_name(item->label).text);
}

static void print_item(FILE *out, const struct outputs_item *item)
{
	fputs("  ", out);
	print_name(out, item);
	fprintf(out, ": bytes %" PRIu64 ", ", item->bytes);
	if (item->block == OUTPUTS_NO_BLOCK)
		fputs("in memory of the caller", out);
	else
		fprintf(out, "block %" PRIu64 ", digest %016" PRIx64,
			item->block, item->digest);
	fprintf(out, ", path %" PRIu64, item->path);
	if (item->region)
		fprintf(out, ", ticket %" PRIu64 " of region %s", item->serial,
			journal_name(item->region).text);
	fputc('\n', out);
}

int outputs_print(const struct outputs_file *file, FILE *out)
{
	fprintf(out, "outputs of runner %s, digest %016" PRIx64 "\n\n",
		journal_name(file->runner).text, file->checksum);
	fprintf(out, "outputs %zu, blocks %zu, bytes %zu\n", file->n_items,
		file->n_blocks, file->data);
	for (size_t i = 0; i < file->n_items; i++)
		print_item(out, &file->items[i]);
	if (file->n_owed)
		fprintf(out, "\ntickets that keep outputs %zu\n", file->n_owed);
	for (size_t i = 0; i < file->n_owed; i++)
		fprintf(out,
			"  ticket %" PRIu64 " of region %s: path %" PRIu64 "\n",
			file->owed[i].serial,
			journal_name(file->owed[i].region).text,
			file->owed[i].path);
	return 0;
}

/* --- as JSON -------------------------------------------------------------- */

static void json_item(struct json *json, const struct outputs_item *item)
{
	json_object(json, NULL);
	json_fields(json, outputs_item_fields, item);
	if (item->region) {
		json_object(json, "tie");
		json_string(json, "region", item->region);
		json_unsigned(json, "serial", item->serial);
		json_close(json);
	}
	json_close(json);
}

int outputs_json(const struct outputs_file *file, struct json *json)
{
	char digest[24];

	snprintf(digest, sizeof(digest), "%016" PRIx64, file->checksum);
	json_string(json, "kind", "outputs");
	json_string(json, "runner", file->runner);
	json_string(json, "digest", digest);
	json_unsigned(json, "bytes", file->data);
	json_array(json, "blocks");
	for (size_t i = 0; i < file->n_blocks; i++)
		json_line(json, NULL, outputs_block_fields, &file->blocks[i]);
	json_close(json);
	json_array(json, "outputs");
	for (size_t i = 0; i < file->n_items; i++)
		json_item(json, &file->items[i]);
	json_close(json);
	json_array(json, "owed");
	for (size_t i = 0; i < file->n_owed; i++)
		json_line(json, NULL, outputs_owed_fields, &file->owed[i]);
	json_close(json);
	return 0;
}

/* --- the first difference ------------------------------------------------- */

/* What is printed before what differs of an output. */
static int outputs_differ(const struct outputs_item *item, const char *format,
			  ...) __attribute__((format(printf, 2, 3)));

static int outputs_differ(const struct outputs_item *item, const char *format,
			  ...)
{
	va_list arguments;

	if (item) {
		fputs("output ", stdout);
		print_name(stdout, item);
		fputs(": ", stdout);
	}
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	putchar('\n');
	return 1;
}

static int numbers_are_other(const struct outputs_item *item, const char *what,
			     uint64_t a, uint64_t b)
{
	return a != b &&
	       outputs_differ(item, "%s %" PRIu64 " in A, %" PRIu64 " in B",
			      what, a, b);
}

/* NULL: of no ticket. */
static int ties_are_other(const struct outputs_item *a,
			  const struct outputs_item *b)
{
	if (!a->region != !b->region)
		return outputs_differ(a, "is tied to a ticket in %s only",
				      a->region ? "A" : "B");
	if (!a->region)
		return 0;
	if (strcmp(a->region, b->region) != 0)
		return outputs_differ(a, "region %s in A, %s in B",
				      journal_name(a->region).text,
				      journal_name(b->region).text);
	return numbers_are_other(a, "ticket", a->serial, b->serial);
}

static int bytes_are_other(const struct outputs_file *a,
			   const struct outputs_item *in_a,
			   const struct outputs_file *b,
			   const struct outputs_item *in_b)
{
	const struct outputs_block *left, *right;
	const unsigned char *x, *y;

	if (in_a->digest == in_b->digest || in_a->block == OUTPUTS_NO_BLOCK ||
	    in_b->block == OUTPUTS_NO_BLOCK)
		return 0;
	left = &a->blocks[in_a->block];
	right = &b->blocks[in_b->block];
	x = (const unsigned char *)left->data + (in_a->at - left->first);
	y = (const unsigned char *)right->data + (in_b->at - right->first);
	for (uint64_t i = 0; i < in_a->bytes; i++)
		if (x[i] != y[i])
			return outputs_differ(in_a,
					      "byte %" PRIu64
					      " is 0x%02x in A, 0x%02x in B",
					      i, x[i], y[i]);
	return 0;
}

static int same_name(const struct outputs_item *a, const struct outputs_item *b)
{
	return !strcmp(a->function, b->function) &&
	       !strcmp(a->output, b->output) && !strcmp(a->label, b->label);
}

static int places_are_other(const struct outputs_item *a,
			    const struct outputs_item *b)
{
	if ((a->block == OUTPUTS_NO_BLOCK) != (b->block == OUTPUTS_NO_BLOCK))
		return outputs_differ(a, "in memory of the caller in %s only",
				      a->block == OUTPUTS_NO_BLOCK ? "A" : "B");
	return numbers_are_other(a, "bytes", a->bytes, b->bytes) ||
	       numbers_are_other(a, "elements", a->elements, b->elements) ||
	       numbers_are_other(a, "block", a->block, b->block) ||
	       numbers_are_other(a, "place", a->at, b->at) ||
	       numbers_are_other(a, "path", a->path, b->path);
}

static int items_are_other(const struct outputs_file *a,
			   const struct outputs_item *in_a,
			   const struct outputs_file *b,
			   const struct outputs_item *in_b)
{
	if (!same_name(in_a, in_b)) {
		outputs_differ(in_a, "%s", "it is in A where B has another");
		return 1;
	}
	return places_are_other(in_a, in_b) || ties_are_other(in_a, in_b) ||
	       bytes_are_other(a, in_a, b, in_b);
}

static int owed_are_other(const struct outputs_file *a,
			  const struct outputs_file *b)
{
	for (size_t i = 0; i < a->n_owed && i < b->n_owed; i++)
		if (outputs_owed_order(&a->owed[i], &b->owed[i]))
			return outputs_differ(
				NULL,
				"outputs are kept for ticket %" PRIu64
				" of region %s in A, for ticket %" PRIu64
				" of region %s in B",
				a->owed[i].serial,
				journal_name(a->owed[i].region).text,
				b->owed[i].serial,
				journal_name(b->owed[i].region).text);
	return numbers_are_other(NULL, "tickets that keep outputs", a->n_owed,
				 b->n_owed);
}

static int files_are_other(const struct outputs_file *a,
			   const struct outputs_file *b)
{
	if (strcmp(a->runner, b->runner) != 0)
		return outputs_differ(NULL, "runner %s in A, %s in B",
				      journal_name(a->runner).text,
				      journal_name(b->runner).text);
	for (size_t i = 0; i < a->n_items && i < b->n_items; i++)
		if (items_are_other(a, &a->items[i], b, &b->items[i]))
			return 1;
	return numbers_are_other(NULL, "outputs", a->n_items, b->n_items) ||
	       owed_are_other(a, b);
}

/* How blocks were placed matters to nobody. */
int outputs_diff(const struct outputs_file *a, const struct outputs_file *b)
{
	if (files_are_other(a, b))
		return 1;
	printf("no difference: outputs %zu, bytes %zu\n", a->n_items, a->data);
	return 0;
}
