/*
 * tools/train/report.c - the output of `philox train`: progress and text
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/cli/cli.h"
#include "tools/train/train.h"

/* --- progress ------------------------------------------------------------- */

void train_progress(const struct train_result *result, uint64_t before,
		    uint64_t done, uint64_t steps)
{
	double loss = done ? train_step_loss(result, done - 1) : 0;
	double part = (double)done / (double)steps;
	char detail[64] = "";

	if (!progress_possible()) {
		if (done * 4 / steps != before * 4 / steps)
			fprintf(stderr,
				"%-12s step %" PRIu64 " of %" PRIu64
				"  loss %.4f\n",
				result->name, done, steps, loss);
		return;
	}
	if (done)
		snprintf(detail, sizeof(detail),
			 "%" PRIu64 "/%" PRIu64 ", loss %.4f", done, steps,
			 loss);
	progress_show(&(struct progress){
		.name = result->name,
		.part = part,
		.whole = result->from + part * (result->to - result->from),
		.detail = detail});
	if (done == steps)
		progress_wipe(); /* a report may follow */
}

/* --- text ----------------------------------------------------------------- */

void train_report_begin(const struct train_model *model)
{
	const struct train_options *options = model->options;
	const struct train_text *text = model->text;

	printf("text      %s: %zu bytes, %zu distinct, unigram entropy %.4f "
	       "nats (%.4f bits)\n",
	       options->file, text->size, text->vocabulary, text->entropy,
	       text->entropy / log(2));
	printf("model     %d bytes of context x %d, 2 hidden layers of %d, %zu "
	       "parameters, dropout %g\n",
	       TRAIN_CONTEXT, TRAIN_EMBED, TRAIN_WIDTH, model->n_parameters,
	       options->dropout);
	printf("training  %" PRIu64 " step%s of %d micro-batches of %d, seed "
	       "%" PRIu64,
	       options->steps, plural(options->steps), TRAIN_SLOTS, TRAIN_BATCH,
	       options->seed);
	if (options->ops)
		printf(", %" PRIu64 " extra operator%s", options->ops,
		       plural(options->ops));
	printf("\n");
	if (options->weights == TRAIN_WEIGHTS_BF16)
		printf("weights   bf16, moments E4M3 and E5M2 with MX scales, all "
		       "rounded stochastically\n");
	printf("device    %s: %s\n", philox_device_name(model->device),
	       philox_device_description(model->device));
	if (model->backend->products)
		printf("products  %s\n", model->backend->products);
	printf("\n");
	fflush(stdout);
}

/* A line for each figure: the table takes 70 columns. */
static void print_run_below(const struct train_result *result)
{
	printf("%s\n", result->name);
	printf("  losses      %016" PRIx64 "\n", result->loss_checksum);
	printf("  parameters  %016" PRIx64 "\n", result->parameter_checksum);
	printf("  steps/s     %.1f\n", (double)result->steps / result->seconds);
	if (result->replays)
		printf("  replays/s   %.1f\n",
		       (double)result->replays / result->seconds);
}

static void print_run(const struct train_result *result)
{
	printf("%-12s  %016" PRIx64 "  %016" PRIx64 "  %8.1f", result->name,
	       result->loss_checksum, result->parameter_checksum,
	       (double)result->steps / result->seconds);
	if (result->replays)
		printf("  %10.1f\n", (double)result->replays / result->seconds);
	else
		printf("  %10s\n", "-");
}

static void print_runs(const struct train_result *results, unsigned n)
{
	int is_table = terminal_fits(STDOUT_FILENO, 70);

	if (is_table)
		printf("%-12s  %-16s  %-16s  %8s  %10s\n", "run", "losses",
		       "parameters", "steps/s", "replays/s");
	for (unsigned i = 0; i < n; i++)
		(is_table ? print_run : print_run_below)(&results[i]);
	printf("\n");
}

unsigned train_loss_steps(uint64_t steps, uint64_t shown[TRAIN_LOSS_STEPS])
{
	unsigned n = 0;

	shown[n++] = 1;
	for (uint64_t tenth = 1; tenth <= 10; tenth++) {
		uint64_t step = steps * tenth / 10;

		if (step > shown[n - 1])
			shown[n++] = step;
	}
	return n;
}

/* A row of some of the losses. */
static void print_losses_of(const struct train_result *result, const char *name,
			    const uint64_t *shown, unsigned n, int label,
			    int column)
{
	printf("%-*s", label, name);
	for (unsigned i = 0; i < n; i++)
		printf(" %*.3f", column, train_step_loss(result, shown[i] - 1));
	printf("\n");
}

/* The steps' numbers. */
static void print_steps(const uint64_t *shown, unsigned n, int label,
			int column)
{
	printf("%-*s", label, "step");
	for (unsigned i = 0; i < n; i++)
		printf(" %*" PRIu64, column, shown[i]);
	printf("\n");
}

/* As many in a row as the terminal has room for; `masters` may be NULL. */
static void print_losses(const struct train_model *model,
			 const struct train_result *result,
			 const struct train_result *masters)
{
	unsigned width = terminal_width(STDOUT_FILENO);
	uint64_t shown[TRAIN_LOSS_STEPS];
	unsigned n = train_loss_steps(model->options->steps, shown);
	int digits = snprintf(NULL, 0, "%" PRIu64, shown[n - 1]);
	int column = digits > 6 ? digits : 6;
	int label = width && width < 80 ? 14 : 22;
	unsigned room = n;

	if (width)
		room = (width - (unsigned)label) / ((unsigned)column + 1);
	room = room ? room : 1;
	for (unsigned i = 0; i < n; i += room) {
		const unsigned some = n - i < room ? n - i : room;

		print_steps(shown + i, some, label, column);
		print_losses_of(result, "loss, in nats", shown + i, some, label,
				column);
		if (masters)
			print_losses_of(masters, "of f32 masters", shown + i,
					some, label, column);
	}
}

static void print_verdict(const char *what, const char *verdict,
			  enum terminal_colour colour)
{
	printf("%-22s %s%s%s", what, terminal_colour(colour), verdict,
	       terminal_colour(TERMINAL_PLAIN));
}

/* Names the first run that differs, and in what. */
static void print_difference(const struct train_result *first,
			     const struct train_verdict *verdict)
{
	const struct train_result *other = verdict->differs;
	uint64_t step = verdict->differs_step;

	print_verdict("runs agree", "NO", TERMINAL_BAD);
	printf(": ");
	if (step)
		printf("the losses of '%s' are not those of '%s' from step "
		       "%" PRIu64 " on: %.9g, not %.9g\n",
		       other->name, first->name, step,
		       train_step_loss(other, step - 1),
		       train_step_loss(first, step - 1));
	else if (!other->retained_same)
		printf("a retained backward of '%s' gave another gradient the "
		       "second time\n",
		       other->name);
	else if (!other->extra_paired)
		printf("extra operators of '%s' drew other numbers in the "
		       "backward\n",
		       other->name);
	else
		printf("'%s' has the losses of '%s', but not its final "
		       "parameters or extra numbers\n",
		       other->name, first->name);
}

static void print_agreement(const struct train_result *results,
			    const struct train_verdict *verdict)
{
	if (!verdict->agree) {
		print_difference(results, verdict);
		return;
	}
	print_verdict("runs agree", "yes", TERMINAL_GOOD);
	printf(", in every bit of every loss and of the final parameters\n");
}

static void print_learned(const struct train_model *model,
			  const struct train_verdict *verdict)
{
	double entropy = model->text->entropy;

	printf("%-22s %s: mean loss of the last tenth %.4f nats, %.2f of the "
	       "unigram entropy %.4f (at most %.1f)\n",
	       "learned", verdict->learned ? "yes" : "no", verdict->last_tenth,
	       verdict->last_tenth / entropy, entropy, TRAIN_LEARNED);
}

static void print_masters(const struct train_verdict *verdict)
{
	if (!verdict->masters)
		return;
	printf("%-22s %.4f nats in the last tenth, beside %.4f with masters of "
	       "f32: %+.4f\n",
	       "weights of bf16", verdict->last_tenth,
	       verdict->masters_last_tenth,
	       verdict->last_tenth - verdict->masters_last_tenth);
}

size_t train_mask_bytes(void)
{
	return (size_t)TRAIN_SLOTS * TRAIN_DEPTH * TRAIN_BATCH * TRAIN_WIDTH;
}

static void print_graphs(const struct train_result *result)
{
	const struct train_calls *most = &result->calls[1];
	char record[40] = "";

	if (most->record)
		snprintf(record, sizeof(record), ", event %" PRIu64,
			 most->record);
	printf("  %-20s ", result->name);
	if (result->nodes_added[0] == result->nodes_added[1])
		printf("%zu per graph", result->nodes_added[0]);
	else
		printf("%zu to %zu per graph", result->nodes_added[0],
		       result->nodes_added[1]);
	if (result->looped)
		printf(" outside of its loop");
	printf(" (%u graph%s, up to %zu passes); %" PRIu64 " calls per replay "
	       "(launch %" PRIu64 ", parameter update %" PRIu64
	       ", capture query %" PRIu64 "%s)\n",
	       result->graphs, result->graphs == 1 ? "" : "s", result->passes,
	       most->all, most->launch, most->set_kernel, most->capture_info,
	       record);
}

static void print_counts(const char *name, const struct train_counts *counts)
{
	printf("  %-20s %" PRIu64 " eager, %" PRIu64 " warm-up%s, %" PRIu64
	       " recording%s, %" PRIu64 " replay%s",
	       name, counts->eager, counts->warmups, plural(counts->warmups),
	       counts->recordings, plural(counts->recordings), counts->replays,
	       plural(counts->replays));
	if (counts->replays)
		printf(" of up to %" PRIu64 " device calls",
		       counts->device_calls);
	printf("\n");
}

/* How the calls of a runner's functions were executed, and of all of them. */
static void print_calls(const struct train_result *result)
{
	if (!result->called)
		return;
	if (!result->replays) {
		print_verdict("calls replayed", "NO", TERMINAL_BAD);
		printf(": %s\n", result->not_replayed);
	}
	printf("calls of the runner's functions\n");
	for (int i = 0; i < TRAIN_FUNCTIONS; i++)
		if (result->counts[i].name)
			print_counts(result->counts[i].name,
				     &result->counts[i]);
	print_counts("all", &result->all_counts);
}

static double kilobytes(uint64_t bytes)
{
	return (double)bytes * 1e-3;
}

/* What a pool took from the device, and most that was live, in each run. */
static void print_pool(const struct train_model *model,
		       const struct train_result *results, unsigned n)
{
	if (!model->options->pool_given)
		return;
	printf("%s pool, against %.1f kB for arrays of their own\n",
	       model->options->pool_given, kilobytes(model->arrays_size));
	for (unsigned i = 0; i < n; i++)
		printf("  %-20s %.1f kB mapped in %" PRIu64
		       " growth%s, %.1f kB live at most\n",
		       results[i].name, kilobytes(results[i].pool.mapped_peak),
		       results[i].pool.growths, plural(results[i].pool.growths),
		       kilobytes(results[i].pool.live_peak));
}

void train_report(const struct train_model *model,
		  const struct train_result *results, unsigned n,
		  const struct train_verdict *verdict)
{
	size_t masks = train_mask_bytes();

	print_runs(results, n);
	print_losses(model, &results[0], verdict->masters);
	print_agreement(results, verdict);
	print_learned(model, verdict);
	print_masters(verdict);
	printf("%-22s %zu bytes per step, %.1f MB per run (one byte per "
	       "element)\n",
	       "masks not stored", masks,
	       (double)masks * (double)model->options->steps * 1e-6);
	printf("%-22s %zu forwards of a layer at once\n", "pending, at most",
	       results[TRAIN_REORDERED].pending);
	if (model->options->ops && verdict->agree)
		printf("%-22s %016" PRIx64 ", drawn again by each backward\n",
		       "extra operators", results[0].extra_checksum);
	printf("nodes added, and device calls per replay\n");
	for (unsigned i = 0; i < n; i++)
		if (results[i].graphs)
			print_graphs(&results[i]);
	for (unsigned i = 0; i < n; i++)
		print_calls(&results[i]);
	print_pool(model, results, n);
}

void train_report_only(const struct train_model *model,
		       const struct train_result *result,
		       const struct train_verdict *verdict)
{
	print_runs(result, 1);
	print_losses(model, result, NULL);
	if (!verdict->agree)
		print_difference(result, verdict);
	print_learned(model, verdict);
	if (result->graphs) {
		printf("nodes added, and device calls per replay\n");
		print_graphs(result);
	}
	print_calls(result);
	print_pool(model, result, 1);
}

/* The worth of a loss whose steps all saw one set of numbers. */
static void print_memorised(const struct train_result *results, uint64_t steps)
{
	printf("%-22s the seeds were frozen in the graph: its numbers repeat "
	       "at every replay\n",
	       "without philox");
	printf("%-22s eager %.3f, naive %.3f: naive's is memorisation. All "
	       "its steps saw the same\n"
	       "%-22s samples and masks, so a low loss is no success.\n",
	       "loss of the last step", train_step_loss(&results[0], steps - 1),
	       train_step_loss(&results[1], steps - 1), "");
}

void train_report_naive(const struct train_model *model,
			const struct train_result *results,
			const struct train_verdict *verdict)
{
	uint64_t steps = model->options->steps;

	print_runs(results, 2);
	printf("%-22s eager: %" PRIu64 " of %" PRIu64 " steps drew numbers of "
	       "their own; naive: %" PRIu64 "\n",
	       "samples and masks", verdict->distinct[0], steps,
	       verdict->distinct[1]);
	if (verdict->distinct[1] == 1 && steps > 1)
		print_memorised(results, steps);
	print_agreement(results, verdict);
}

/* --- interrupted runs ----------------------------------------------------- */

void train_report_saved(const struct train_model *model,
			const struct train_result *result)
{
	const struct train_options *options = model->options;
	int on_host = philox_device_is_host(model->device);

	printf("%-22s %s, in the middle of step %" PRIu64 " of %" PRIu64
	       ": %zu forwards of a layer pending, one slot's backward done "
	       "and retained\n",
	       "saved", options->save, options->save_at, options->steps,
	       result->pending);
	printf("%-22s philox train %s --resume %s%s%s\n", "to continue",
	       options->file, options->save, on_host ? "" : " --device ",
	       on_host ? "" : options->device);
}

void train_report_resumed(const struct train_model *model,
			  const struct train_result *result,
			  const struct train_verdict *verdict)
{
	const struct train_options *options = model->options;

	print_runs(result, 1);
	print_losses(model, result, NULL);
	printf("%-22s %s, in the middle of step %" PRIu64 " of %" PRIu64
	       ", with %zu forwards of a layer pending\n",
	       "resumed", options->resume, model->saved->step, options->steps,
	       result->pending);
	printf("%-22s %s\n", "retained backward",
	       result->retained_same
		       ? "gave the same gradient before and after"
		       : "NO: it gave another gradient than before the save");
	if (!result->extra_paired)
		printf("%-22s NO: other numbers in the backward\n",
		       "extra operators");
	print_learned(model, verdict);
}
