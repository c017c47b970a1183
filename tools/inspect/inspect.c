/*
 * tools/inspect/inspect.c - philox inspect: the contents of a saved context, a
 * set of them, a journal, a plan, outputs, or the snapshot of a pool or runner
 */
#include "tools/tools.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/containers/array.h"
#include "tools/cli/cli.h"
#include "tools/inspect/inspect.h"
#include "tools/outputs/outputs.h"
#include "tools/plan/plan.h"
#include "tools/pool/pool.h"
#include "tools/runner/runner.h"
#include "lib/state/state.h"

/* --- saved contexts ------------------------------------------------------- */

static size_t count_alive(const struct saved *saved)
{
	size_t alive = 0;

	for (size_t i = 0; i < saved->n_regions; i++)
		alive += saved->regions[i].alive != 0;
	return alive;
}

/* A region may have lost the axes whose other coordinates have issued. */
static void print_axes(const struct saved *saved,
		       const struct saved_region *region)
{
	for (size_t i = 0; i < region->n_axes; i++)
		printf("%s%s", i ? ", " : "    differs along ",
		       journal_name(saved->axes[region->axis + i]).text);
	if (region->issued_serial)
		printf("%sothers have issued up to offset %" PRIu64
		       ", serial %" PRIu64,
		       region->n_axes ? "; " : "    ", region->issued,
		       region->issued_serial);
	if (region->n_axes || region->issued_serial)
		putchar('\n');
}

static void print_mesh(const struct philox_mesh *mesh)
{
	uint64_t world, rank;

	if (!mesh->n_axes ||
	    philox_mesh_world_size(mesh, &world) != PHILOX_OK ||
	    philox_mesh_rank(mesh, &rank) != PHILOX_OK)
		return;
	printf("rank %" PRIu64 " of %" PRIu64 "\n", rank, world);
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		printf("  %s: %" PRIu32 " of %" PRIu32 "%s\n",
		       journal_name(mesh->axes[i].name).text,
		       mesh->axes[i].coordinate, mesh->axes[i].n_ranks,
		       mesh->axes[i].flags & PHILOX_AXIS_STAGES ? ", stages"
								: "");
	putchar('\n');
}

static void print_region(const struct saved *saved,
			 const struct saved_region *region)
{
	printf("  %s: ", journal_name(region->name).text);
	if (region->generator == SAVE_NO_GENERATOR)
		printf("no generator");
	else
		printf("generator %" PRIu32, region->generator);
	if (region->flags & PHILOX_REGION_SHARED)
		printf(", shared");
	printf(", next offset %" PRIu64 ", next serial %" PRIu64,
	       region->state.offset, region->serial);
	if (!region->alive)
		printf(", destroyed\n");
	else
		printf(", operators %zu, pending %zu\n", region->n_ops,
		       region->n_tickets);
	print_axes(saved, region);
	for (size_t i = 0; i < region->n_tickets; i++) {
		const struct saved_ticket *ticket =
			&saved->tickets[region->ticket + i];

		printf("    ticket %" PRIu64 ": offset %" PRIu64
		       ", seed %016" PRIx64 ", %" PRIu64 " forward%s ago",
		       ticket->serial, ticket->state.offset, ticket->state.seed,
		       region->serial - ticket->serial,
		       region->serial - ticket->serial == 1 ? "" : "s");
		if (ticket->iterations > 1)
			printf(", iterations %" PRIu32, ticket->iterations);
		printf("\n");
	}
}

/* The offsets of a table's rows, without naming each of them. */
static void print_table(const struct saved *saved,
			const struct saved_table *table)
{
	const struct philox_state *rows = &saved->rows[table->row];
	uint64_t least = rows->offset, most = rows->offset;

	for (size_t i = 1; i < table->n_rows; i++) {
		least = rows[i].offset < least ? rows[i].offset : least;
		most = rows[i].offset > most ? rows[i].offset : most;
	}
	printf("  %s: generator %" PRIu32 ", rows %zu, offsets %" PRIu64
	       " .. %" PRIu64 "\n",
	       journal_name(table->name).text, table->generator, table->n_rows,
	       least, most);
}

static void print_data(const struct saved_data *data)
{
	printf("  %s: generator %" PRIu32 ", sources %" PRIu32
	       ", block %" PRIu64 ", order %016" PRIx64 ", seed %016" PRIx64
	       ", position %" PRIu64 "\n",
	       journal_name(data->name).text, data->generator, data->sources,
	       data->block, data->order, data->seed, data->position);
}

static void print_context(const struct saved *saved)
{
	size_t alive = count_alive(saved);

	printf("saved context\n\n");
	print_mesh(&saved->mesh);
	printf("generators %zu\n", saved->n_generators);
	for (size_t i = 0; i < saved->n_generators; i++)
		printf("  %zu: seed %016" PRIx64 ", offset %" PRIu64 "%s\n", i,
		       saved->generators[i].state.seed,
		       saved->generators[i].state.offset,
		       saved->generators[i].flags ? ", differs between ranks"
						  : "");
	printf("\nregions %zu, destroyed %zu, tickets pending %zu\n", alive,
	       saved->n_regions - alive, saved->n_tickets);
	for (size_t i = 0; i < saved->n_regions; i++)
		print_region(saved, &saved->regions[i]);
	if (saved->n_tables)
		printf("\ntables of rows %zu\n", saved->n_tables);
	for (size_t i = 0; i < saved->n_tables; i++)
		print_table(saved, &saved->tables[i]);
	if (saved->n_data)
		printf("\ndata %zu\n", saved->n_data);
	for (size_t i = 0; i < saved->n_data; i++)
		print_data(&saved->data[i]);
	if (saved->n_outputs)
		printf("\noutputs of runners %zu\n", saved->n_outputs);
	for (size_t i = 0; i < saved->n_outputs; i++)
		printf("  %s: digest %016" PRIx64 "\n",
		       journal_name(saved->outputs[i].runner).text,
		       saved->outputs[i].digest);
}

static void json_mesh(struct json *json, const struct philox_mesh *mesh,
		      const struct field *fields)
{
	json_array(json, "mesh");
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		json_line(json, NULL, fields, &mesh->axes[i]);
	json_close(json);
}

static void json_axes(struct json *json, const struct saved *saved,
		      const struct saved_region *region)
{
	if (region->n_axes) {
		json_array(json, "differs");
		for (size_t i = 0; i < region->n_axes; i++)
			json_string(json, NULL, saved->axes[region->axis + i]);
		json_close(json);
	}
	if (region->issued_serial)
		json_fields(json, save_issued_fields, region);
}

static void json_region(struct json *json, const struct saved *saved,
			const struct saved_region *region)
{
	json_object(json, NULL);
	json_string(json, "name", region->name);
	json_bool(json, "alive", region->alive);
	if (region->generator != SAVE_NO_GENERATOR)
		json_unsigned(json, "generator", region->generator);
	json_bool(json, "shared", (region->flags & PHILOX_REGION_SHARED) != 0);
	json_fields(json, save_state_fields, &region->state);
	json_unsigned(json, "serial", region->serial);
	json_axes(json, saved, region);
	json_unsigned(json, "operators", region->n_ops);
	json_array(json, "tickets");
	for (size_t i = 0; i < region->n_tickets; i++)
		json_line(json, NULL, save_ticket_fields,
			  &saved->tickets[region->ticket + i]);
	json_close(json);
	json_close(json);
}

static void json_table(struct json *json, const struct saved *saved,
		       const struct saved_table *table)
{
	json_object(json, NULL);
	json_string(json, "name", table->name);
	json_unsigned(json, "generator", table->generator);
	json_array(json, "states");
	for (size_t i = 0; i < table->n_rows; i++)
		json_line(json, NULL, save_state_fields,
			  &saved->rows[table->row + i]);
	json_close(json);
	json_close(json);
}

static void json_generator(struct json *json,
			   const struct saved_generator *generator)
{
	json_object(json, NULL);
	json_fields(json, save_state_fields, &generator->state);
	if (generator->flags) /* else the text is as it was without flags */
		json_bool(json, "differs", 1);
	json_close(json);
}

static void json_context(struct json *json, const struct saved *saved)
{
	json_string(json, "kind", "context");
	if (saved->mesh.n_axes) /* else the text is as it was before meshes */
		json_mesh(json, &saved->mesh, save_placed_axis_fields);
	json_unsigned(json, "pending", saved->n_tickets);
	json_array(json, "generators");
	for (size_t i = 0; i < saved->n_generators; i++)
		json_generator(json, &saved->generators[i]);
	json_close(json);
	json_array(json, "regions");
	for (size_t i = 0; i < saved->n_regions; i++)
		json_region(json, saved, &saved->regions[i]);
	json_close(json);
	json_array(json, "rows");
	for (size_t i = 0; i < saved->n_tables; i++)
		json_table(json, saved, &saved->tables[i]);
	json_close(json);
	if (saved->n_data) { /* else the text is as it was before data */
		json_array(json, "data");
		for (size_t i = 0; i < saved->n_data; i++)
			json_line(json, NULL, save_data_fields,
				  &saved->data[i]);
		json_close(json);
	}
	if (!saved->n_outputs)
		return;
	json_array(json, "outputs");
	for (size_t i = 0; i < saved->n_outputs; i++)
		json_line(json, NULL, save_outputs_fields, &saved->outputs[i]);
	json_close(json);
}

/* --- sets of saved contexts ----------------------------------------------- */

/* Why a text of a set cannot be loaded, without its path; or NULL. */
static const char *text_fault(const struct set *set, const char *path,
			      uint64_t rank)
{
	struct saved saved;
	const char *said, *end;

	if (set_read_text(path, rank, &set->mesh, &set->ends[rank], &saved,
			  NULL) == PHILOX_OK) {
		saved_finish(&saved);
		return NULL;
	}
	said = philox_error_message();
	end = strstr(said, "': ");
	return end ? end + 3 : said;
}

static int print_set(const struct set *set, const char *path)
{
	const struct philox_mesh *mesh = &set->mesh;
	int status = 0;

	printf("set of saved contexts\n\nranks %zu\n", set->n);
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		printf("  %s: %" PRIu32 "%s\n",
		       journal_name(mesh->axes[i].name).text,
		       mesh->axes[i].n_ranks,
		       mesh->axes[i].flags ? ", stages" : "");
	printf("\ntexts\n");
	for (size_t i = 0; i < set->n; i++) {
		const char *fault = text_fault(set, path, i);

		printf("  %zu: checksum %016" PRIx64 ", bytes %" PRIu64
		       ", %s\n",
		       i, set->ends[i].checksum, set->ends[i].bytes,
		       fault ? fault : "whole");
		status |= fault != NULL;
	}
	return status;
}

static int json_set(struct json *json, const struct set *set, const char *path)
{
	int status = 0;

	json_string(json, "kind", "set");
	json_unsigned(json, "ranks", set->n);
	json_mesh(json, &set->mesh, save_axis_fields);
	json_array(json, "texts");
	for (size_t i = 0; i < set->n; i++) {
		const char *fault = text_fault(set, path, i);

		json_object(json, NULL);
		json_fields(json, set_end_fields, &set->ends[i]);
		json_bool(json, "whole", !fault);
		if (fault)
			json_string(json, "fault", fault);
		json_close(json);
		status |= fault != NULL;
	}
	json_close(json);
	return status;
}

/* --- journals ------------------------------------------------------------- */

/* The number of events of one kind. */
struct kind {
	struct written_word word;
	size_t events;
};

struct kinds {
	struct kind *kinds; /* in order of first appearance */
	size_t n;
};

static int count_kind(struct kinds *kinds, struct written_word word)
{
	struct kind *added;

	for (size_t i = 0; i < kinds->n; i++) {
		if (written_same(kinds->kinds[i].word, word)) {
			kinds->kinds[i].events++;
			return 0;
		}
	}
	added = array_grow(&kinds->kinds, kinds->n, 1, sizeof(*added));
	if (!added)
		return -1;
	*added = (struct kind){word, 1};
	kinds->n++;
	return 0;
}

static int count_kinds(const struct written *journal, struct kinds *kinds)
{
	struct written_word words[WRITTEN_WORDS_MAX];

	for (size_t i = 0; i < journal->n_events; i++) {
		written_words(&journal->events[i], words);
		if (count_kind(kinds, words[0]))
			return -1;
	}
	return 0;
}

static size_t count_contexts(const struct written *journal)
{
	size_t contexts = 0;

	for (size_t i = 0; i < journal->n_events; i++)
		contexts += !i || journal->events[i].context !=
					  journal->events[i - 1].context;
	return contexts;
}

static void print_followed(const struct inspect_region *region)
{
	printf("  context %" PRIu64 ", %.*s: forwards %zu, backwards %zu, "
	       "pending %zu",
	       region->context, (int)region->name.length, region->name.text,
	       region->forwards, region->backwards, region->pending);
	if (region->oldest)
		printf(" (longest: ticket %" PRIu64 ", %" PRIu64 " event%s)",
		       region->oldest, region->oldest_for,
		       region->oldest_for == 1 ? "" : "s");
	printf(", longest wait %" PRIu64 " event%s\n", region->longest_for,
	       region->longest_for == 1 ? "" : "s");
}

static void print_journal(const struct written *journal,
			  const struct kinds *kinds,
			  const struct inspect_regions *regions)
{
	printf("journal\n\ncontexts %zu, events %zu%s\n",
	       count_contexts(journal), journal->n_events,
	       journal->cut ? ", the last line is cut" : "");
	for (size_t i = 0; i < kinds->n; i++)
		printf("  %-20.*s %zu\n", (int)kinds->kinds[i].word.length,
		       kinds->kinds[i].word.text, kinds->kinds[i].events);
	printf("\nregions %zu\n", regions->n);
	for (size_t i = 0; i < regions->n; i++)
		print_followed(&regions->regions[i]);
}

static void json_followed(struct json *json,
			  const struct inspect_region *region)
{
	char name[sizeof(struct journal_text)];

	/* without the quotation marks */
	snprintf(name, sizeof(name), "%.*s", (int)region->name.length - 2,
		 region->name.text + 1);
	json_object(json, NULL);
	json_unsigned(json, "context", region->context);
	json_string(json, "name", name);
	json_unsigned(json, "forwards", region->forwards);
	json_unsigned(json, "backwards", region->backwards);
	json_unsigned(json, "pending", region->pending);
	json_unsigned(json, "oldest_ticket", region->oldest);
	json_unsigned(json, "oldest_events", region->oldest_for);
	json_unsigned(json, "longest_events", region->longest_for);
	json_close(json);
}

static void json_journal(struct json *json, const struct written *journal,
			 const struct kinds *kinds,
			 const struct inspect_regions *regions)
{
	json_string(json, "kind", "journal");
	json_unsigned(json, "contexts", count_contexts(journal));
	json_unsigned(json, "events", journal->n_events);
	json_bool(json, "cut", journal->cut);
	json_object(json, "kinds");
	for (size_t i = 0; i < kinds->n; i++) {
		char kind[64];

		snprintf(kind, sizeof(kind), "%.*s",
			 (int)kinds->kinds[i].word.length,
			 kinds->kinds[i].word.text);
		json_unsigned(json, kind, kinds->kinds[i].events);
	}
	json_close(json);
	json_array(json, "regions");
	for (size_t i = 0; i < regions->n; i++)
		json_followed(json, &regions->regions[i]);
	json_close(json);
}

static int inspect_journal(const struct written *journal, struct json *json)
{
	struct inspect_regions regions;
	struct kinds kinds = {0};
	int result = inspect_regions(journal, &regions);

	if (!result)
		result = count_kinds(journal, &kinds);
	if (result)
		complain("inspect", "out of memory");
	else if (json)
		json_journal(json, journal, &kinds, &regions);
	else
		print_journal(journal, &kinds, &regions);
	free(kinds.kinds);
	inspect_regions_finish(&regions);
	return result ? 1 : 0;
}

/* --- the command ---------------------------------------------------------- */

struct request {
	int json, svg, dot;
	const char *trace;
	uint64_t from, to;
	const char *given_from, *given_to;
};

static int inspect(const struct written *written, const char *path,
		   struct json *json)
{
	if (written->kind == WRITTEN_SET)
		return json ? json_set(json, &written->set, path)
			    : print_set(&written->set, path);
	if (written->kind == WRITTEN_JOURNAL)
		return inspect_journal(written, json);
	if (written->kind == WRITTEN_POOL)
		return json ? pool_json(&written->pool, json)
			    : pool_print(&written->pool, stdout);
	if (written->kind == WRITTEN_PLAN)
		return json ? plan_json(written->plan, json)
			    : plan_print(written->plan, stdout);
	if (written->kind == WRITTEN_RUNNER)
		return json ? runner_json(&written->runner, json)
			    : runner_print(&written->runner, stdout);
	if (written->kind == WRITTEN_OUTPUTS)
		return json ? outputs_json(written->outputs, json)
			    : outputs_print(written->outputs, stdout);
	if (json)
		json_context(json, &written->saved);
	else
		print_context(&written->saved);
	return 0;
}

static int inspect_as_json(const struct written *written, const char *path)
{
	struct json json;
	int status;

	json_begin(&json, stdout);
	json_object(&json, NULL);
	status = inspect(written, path, &json);
	json_close(&json);
	return json_end(&json) && !status ? 1 : status;
}

/* What there is no picture of. */
static int check_kind(const struct written *written, const char *path,
		      const struct request *request)
{
	const char *kind = written_kind_name(written);

	if (request->dot && written->kind != WRITTEN_RUNNER)
		return complain("inspect",
				"'%s' is a %s: --dot takes the snapshot of a "
				"runner",
				path, kind);
	if (written->kind == WRITTEN_JOURNAL)
		return 0;
	if (request->trace)
		return complain("inspect",
				"'%s' is a %s: --trace takes a journal", path,
				kind);
	if (request->given_from || request->given_to)
		return complain("inspect",
				"'%s' is a %s: --%s is for a journal", path,
				kind, request->given_from ? "from" : "to");
	if (request->svg && written->kind != WRITTEN_POOL &&
	    written->kind != WRITTEN_RUNNER)
		return complain("inspect",
				"'%s' is a %s: --svg takes a journal or the "
				"snapshot of a pool or runner",
				path, kind);
	return 0;
}

static int show(const struct written *written, const char *path,
		const struct request *request)
{
	if (check_kind(written, path, request))
		return 2;
	if (request->svg && written->kind == WRITTEN_POOL)
		return pool_svg(&written->pool, stdout);
	if (request->svg && written->kind == WRITTEN_RUNNER)
		return runner_svg(&written->runner, stdout);
	if (request->dot)
		return runner_dot(&written->runner, stdout);
	if (request->trace)
		return trace_journal(written, path, request->trace);
	if (request->svg)
		return svg_journal(written, path, request->from, request->to,
				   stdout);
	return request->json ? inspect_as_json(written, path)
			     : inspect(written, path, NULL);
}

static int inspect_file(const char *path, const struct request *request)
{
	struct written written;
	int status;

	if (written_read("inspect", path, &written))
		return 2;
	status = show(&written, path, request);
	written_finish(&written);
	return status;
}

static const char usage[] =
	"usage: philox inspect [OPTION]... FILE\n"
	"\n"
	"Sum up a context that philox_context_save() wrote, a set of them that\n"
	"philox_mesh_seal() wrote, and whether its texts are there and whole, a\n"
	"journal (PHILOX_JOURNAL=FILE), a plan that philox_plan_save() wrote,\n"
	"outputs that philox_outputs_save() wrote, a pool that\n"
	"philox_pool_snapshot() wrote, or a runner that philox_runner_snapshot()\n"
	"wrote; or show a journal as a picture: passes, arrows from forwards to\n"
	"their backwards, captures, launches; or a pool: segments, extents, blocks\n"
	"in the colours of their tags, free memory by owner; or a runner: the\n"
	"recordings of each function, with lines from those whose output is an\n"
	"input to those that read it.\n"
	"\n"
	"  --json       as one JSON object\n"
	"  --trace OUT  a journal as a trace for ui.perfetto.dev, written to "
	"OUT;\n"
	"               PHILOX_TRACE=OUT gives that of a run, with times\n"
	"  --svg        a journal, a pool or a runner as a picture in SVG\n"
	"  --dot        a runner as a graph for Graphviz: dot -Tsvg\n"
	"  --from N     draw from the N-th event of the journal on\n"
	"  --to N       draw up to the N-th event\n"
	"  --help       " HELP_HELP "\n"
	"\n"
	"The object of a runner has its name, mode, calls, made (recordings ever),\n"
	"functions, live (outputs) and pool, which is as that of a pool. Functions\n"
	"and keys are numbered from 1, as they are listed. A function has name, mode,\n"
	"destroyed, eager, collective, reason, calls, misses and bodies (objects of\n"
	"counts), other counts, policy (null: never), inputs, outputs, values, keys\n"
	"(bytes in hex, calls, warm_ups, dry, wait, refused) and recordings: number,\n"
	"key, replays, prepared, bytes, passes, writes, inputs (copied, and memory,\n"
	"or function, output and recording, 0 for an eager call) and ranges (segment,\n"
	"offset, bytes).\n"
	"\n"
	"Exit status: 0 done, 1 it failed, or a text of a set is not as it was, 2 "
	"the\ncommand line or the file is wrong.\n";

static int check_request(const struct request *request)
{
	if (request->json + request->svg + request->dot +
		    (request->trace != NULL) >
	    1)
		return complain("inspect",
				"choose one of --json, --trace, --svg and "
				"--dot");
	if (!request->svg && (request->given_from || request->given_to))
		return complain("inspect", "--%s is for --svg only",
				request->given_from ? "from" : "to");
	if (request->to && request->to < request->from)
		return complain_value("inspect", "to", request->given_to,
				      "must not be before --from");
	return 0;
}

int tool_inspect(int argc, char **argv)
{
	struct request request = {.from = 1};
	int status;
	const struct tool_option options[] = {
		{"json", TAKES_NOTHING, .to = &request.json},
		{"trace", TAKES_TEXT, .to = &request.trace},
		{"svg", TAKES_NOTHING, .to = &request.svg},
		{"dot", TAKES_NOTHING, .to = &request.dot},
		{"from", TAKES_WHOLE, .to = &request.from, .least = 1,
		 .most = UINT64_MAX, .given = &request.given_from},
		{"to", TAKES_WHOLE, .to = &request.to, .least = 1,
		 .most = UINT64_MAX, .given = &request.given_to},
		{0}};

	status = read_options(argc, argv, options, usage, 1);
	if (status < 0 && check_request(&request))
		status = 2;
	if (status >= 0)
		return status;
	if (optind == argc)
		return complain("inspect",
				"give a FILE: a saved context or a set of "
				"them, a journal, a plan, outputs or the "
				"snapshot of a pool or runner");
	return inspect_file(argv[optind], &request);
}
