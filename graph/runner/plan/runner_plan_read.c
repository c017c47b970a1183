/*
 * graph/runner/plan/runner_plan_read.c - reading a plan: see Note [Plan]
 */
#include <inttypes.h>
#include <stdlib.h>
#include "graph/runner/plan/runner_plan_reader.h"

/* --- the first lines -------------------------------------------------------------- */

static void read_head(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	reader_expect(in, "philox plan ");
	in->version = reader_decimal(in, 1, UINT64_MAX);
	if (in->version > PLAN_VERSION) {
		in->status = status_set(PHILOX_ERROR_UNSUPPORTED,
					"line 1: the text has version %" PRIu64
					", the newest this library reads is %d",
					in->version, PLAN_VERSION);
		return;
	}
	reader_end_line(in);
	reader_expect(in, "library ");
	reader->plan->library = reader_name(in);
	reader_end_line(in);
	reader_expect(in, "runner");
	reader->plan->live = plan_size(in, " live ");
	reader->plan->mapped = plan_size(in, " mapped ");
	reader_end_line(in);
}

/* --- barred tickets --------------------------------------------------------------- */

static int by_name(const void *name, const void *function)
{
	return strcmp(name, ((const struct plan_function *)function)->name);
}

static void check_barred(struct plan_reader *reader,
			 const struct plan_barred *barred)
{
	const struct plan *plan = reader->plan;

	if (plan->n_barred == BARRED_TICKETS)
		reader_refuse(&reader->in, "more than %d barred tickets",
			      BARRED_TICKETS);
	if (reader->in.status == PHILOX_OK && barred->alive &&
	    (!plan->n_functions ||
	     !bsearch(barred->function, plan->functions, plan->n_functions,
		      sizeof(*plan->functions), by_name)))
		reader_refuse(&reader->in, "there is no function '%s' above",
			      barred->function);
}

static void read_barred(struct plan_reader *reader)
{
	struct reader *in = &reader->in;
	struct plan *plan = reader->plan;
	struct plan_barred read = {0};

	if (!plan->n_barred)
		plan_end_function(reader);
	read.ticket.region_key = reader_hex(in);
	reader_expect(in, " ");
	read.ticket.serial = reader_decimal(in, 1, PLAN_MOST);
	reader_expect(in, " by ");
	read.function =
		plan_short_name(in, TEXT_OF(((struct barred_ticket *)0)->name));
	read.alive = reader_accept(in, " alive");
	if (!read.alive)
		reader_expect(in, " destroyed");
	reader_expect(in, " for ");
	read.reason = plan_short_name(
		in, TEXT_OF(((struct barred_ticket *)0)->reason));
	check_barred(reader, &read);
	reader_end_line(in);
	plan->barred =
		reader_grow(in, plan->barred, plan->n_barred, sizeof(read));
	if (in->status == PHILOX_OK) {
		plan->barred[plan->n_barred++] = read;
		return;
	}
	free(read.function);
	free(read.reason);
}

/* --- all of it --------------------------------------------------------------------- */

static void read_line(struct plan_reader *reader)
{
	static const struct {
		const char *word;
		void (*read)(struct plan_reader *reader);
	} lines[] = {{"takes ", plan_read_taken},
		     {"key ", plan_read_key},
		     {"step ", plan_read_script_step},
		     {"script ", plan_begin_script},
		     {"function ", plan_begin_function},
		     {"input ", plan_read_input},
		     {"output ", plan_read_output},
		     {"value ", plan_read_value},
		     {"policy ", plan_read_policy},
		     {"barred ", read_barred}};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (reader_accept(&reader->in, lines[i].word)) {
			lines[i].read(reader);
			return;
		}
	reader_expected(&reader->in, "a known kind of line");
}

static void read_plan_lines(struct plan_reader *reader)
{
	struct reader *in = &reader->in;

	while (in->status == PHILOX_OK) {
		const char *line = in->at;

		if (!reader_accept(in, "checksum ")) {
			read_line(reader);
			continue;
		}
		if (!reader->plan->n_barred)
			plan_end_function(reader);
		reader_checksum(in, line);
		return;
	}
}

enum philox_status plan_read(const char *text, size_t size, struct plan *plan)
{
	struct plan_reader reader = {.in = {.text = text,
					    .at = text,
					    .end = text + size,
					    .start = text,
					    .line = 1},
				     .plan = plan};

	memset(plan, 0, sizeof(*plan));
	read_head(&reader);
	read_plan_lines(&reader);
	free(reader.keys.places);
	if (reader.in.status != PHILOX_OK)
		plan_finish(plan);
	return reader.in.status;
}
