/*
 * tests/support/loops.c - see tests/support/loops.h
 */
#include <stdlib.h>
#include "lib/device/device.h"
#include "tests/support/loops.h"

/* --- tapes ---------------------------------------------------------------- */

/* The word taken, TAPE words, a 0 to shift in; then room to shift through. */
enum { TAPE_WORDS = TAPE + 2, WORD = sizeof(uint32_t) };

struct tape make_tape(struct fixture *f)
{
	struct tape tape = {make_memory(f, 2 * TAPE_WORDS * WORD)};

	set_tape(f, tape, NULL, 0);
	return tape;
}

void set_tape(struct fixture *f, struct tape tape, const uint32_t *words,
	      size_t n)
{
	uint32_t all[TAPE_WORDS] = {0};

	cr_assert_leq(n, TAPE);
	if (n)
		memcpy(all + 1, words, n * WORD);
	OK(philox_memory_copy(f->device, f->stream, tape.word, all,
			      sizeof(all)));
	OK(philox_stream_synchronize(f->device, f->stream));
}

void set_counts(struct fixture *f, struct tape tape, const unsigned *counts,
		size_t n)
{
	uint32_t words[TAPE] = {0};
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		cr_assert_leq(at + counts[i] + 1, TAPE);
		for (unsigned k = 0; k < counts[i]; k++)
			words[at++] = 1 + k;
		words[at++] = 0;
	}
	set_tape(f, tape, words, at);
}

void take_word(struct fixture *f, philox_stream stream, struct tape tape)
{
	uint32_t *spare = tape.word + TAPE_WORDS;
	size_t size = (TAPE_WORDS - 1) * WORD;

	OK(philox_memory_copy(f->device, stream, spare, tape.word + 1, size));
	OK(philox_memory_copy(f->device, stream, tape.word, spare, size));
}

/* --- logs ----------------------------------------------------------------- */

enum { UNTOUCHED = 0x5a };

void make_log(struct fixture *f, struct log *log)
{
	memset(log, 0, sizeof(*log));
	log->device = make_memory(f, 2 * LOG * sizeof(*log->device));
	clear_log(f, log);
}

void clear_log(struct fixture *f, struct log *log)
{
	OK(philox_memory_set(f->device, f->stream, log->device, UNTOUCHED,
			     LOG * sizeof(*log->device)));
}

static void make_room(struct fixture *f, philox_stream stream, struct log *log)
{
	struct numbers *spare = log->device + LOG;
	size_t size = (LOG - 1) * sizeof(*spare);

	OK(philox_memory_copy(f->device, stream, spare, log->device, size));
	OK(philox_memory_copy(f->device, stream, log->device + 1, spare, size));
}

void draw_to_log(struct fixture *f, const struct philox_pass *pass,
		 struct log *log)
{
	make_room(f, pass->stream, log);
	draw(pass, log->device->word);
}

void copy_to_log(struct fixture *f, philox_stream stream, struct log *log,
		 const void *from, size_t size)
{
	cr_assert_leq(size, sizeof(*log->device));
	make_room(f, stream, log);
	OK(philox_memory_set(f->device, stream, log->device, 0,
			     sizeof(*log->device)));
	OK(philox_memory_copy(f->device, stream, log->device, from, size));
}

static int untouched(const struct numbers *numbers)
{
	struct numbers fresh;

	memset(&fresh, UNTOUCHED, sizeof(fresh));
	return !memcmp(numbers, &fresh, sizeof(fresh));
}

void read_log(struct fixture *f, struct log *log)
{
	struct numbers *all = malloc(sizeof(log->run));

	cr_assert(all);
	OK(philox_device_synchronize(f->device));
	memcpy(all, log->device, sizeof(log->run));
	for (log->n = 0; log->n < LOG && !untouched(&all[log->n]); log->n++)
		;
	for (unsigned i = 0; i < log->n; i++)
		log->run[i] = all[log->n - 1 - i];
	free(all);
}

/* --- nodes ---------------------------------------------------------------- */

void begin_node(struct fixture *f, philox_stream stream,
		enum philox_conditional_kind kind, uint32_t bodies,
		uint32_t limit, struct tape tape,
		struct philox_conditional *node)
{
	struct philox_conditional_desc options = {.size = sizeof(options),
						  .kind = kind,
						  .bodies = bodies,
						  .limit = limit,
						  .word = tape.word};

	take_word(f, stream, tape);
	OK(philox_conditional_begin(f->context, stream, &options, node));
}

void begin_while(struct fixture *f, philox_stream stream, philox_stream inner,
		 uint32_t limit, struct tape tape,
		 struct philox_conditional *node)
{
	begin_node(f, stream, PHILOX_CONDITIONAL_WHILE, 0, limit, tape, node);
	OK(philox_conditional_body(node, 0, inner));
}

void end_while(struct fixture *f, philox_stream inner, struct tape tape,
	       struct philox_conditional *node)
{
	take_word(f, inner, tape);
	OK(philox_conditional_set(node, inner, tape.word));
	OK(philox_conditional_end(node));
}

void end_while_own(struct fixture *f, philox_stream inner, struct tape tape,
		   struct philox_conditional *node)
{
	take_word(f, inner, tape);
	cr_assert_neq(node->condition, 0);
	OK(device_condition_record(f->device, inner, node->condition,
				   tape.word));
	OK(philox_conditional_end(node));
}

void begin_if(struct fixture *f, philox_stream stream, philox_stream inner,
	      struct tape tape, struct philox_conditional *node)
{
	begin_node(f, stream, PHILOX_CONDITIONAL_IF, 1, 0, tape, node);
	OK(philox_conditional_body(node, 0, inner));
}

struct philox_ticket forward_in(struct fixture *f, struct philox_region *region,
				philox_stream stream, struct log *log)
{
	struct philox_ticket ticket;
	struct philox_pass pass;

	OK(philox_forward_begin(region, stream, 0, &pass));
	draw_to_log(f, &pass, log);
	OK(philox_pass_commit(&pass, 0, &ticket));
	return ticket;
}

void backward_in(struct fixture *f, struct philox_region *region,
		 struct philox_ticket ticket, philox_stream stream,
		 unsigned flags, struct log *log)
{
	struct philox_pass pass;

	OK(philox_backward_begin(region, stream, ticket, flags, &pass));
	draw_to_log(f, &pass, log);
	OK(philox_pass_commit(&pass, 0, NULL));
}

struct philox_graph *record_while(struct fixture *f,
				  struct philox_region *region, uint32_t limit,
				  struct tape tape, struct log *log)
{
	struct philox_conditional loop;

	record_begin(f);
	begin_while(f, f->stream, f->side, limit, tape, &loop);
	forward_in(f, region, f->side, log);
	end_while(f, f->side, tape, &loop);
	return record_end(f);
}

struct philox_graph *record_while_backward(struct fixture *f,
					   struct philox_region *region,
					   uint32_t limit, struct tape tape,
					   struct log *log)
{
	const struct philox_ticket named_at_launch = {0, 0};
	struct philox_conditional loop;

	record_begin(f);
	begin_while(f, f->stream, f->side, limit, tape, &loop);
	backward_in(f, region, named_at_launch, f->side, 0, log);
	end_while(f, f->side, tape, &loop);
	return record_end(f);
}

struct philox_launch_pass launch_one(struct fixture *f,
				     struct philox_graph *graph)
{
	struct philox_launch_pass use = {{0, 0}, 0, 0};

	OK(philox_graph_launch(graph, f->stream, &use, 1));
	return use;
}

struct numbers iteration_of(struct fixture *f, struct philox_region *region,
			    struct philox_ticket ticket, uint32_t iteration)
{
	struct philox_pass pass, view;

	OK(philox_backward_begin(region, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &pass));
	OK(philox_pass_at(&pass, iteration, &view));
	draw(&view, f->scratch);
	OK(philox_pass_commit(&pass, 0, NULL));
	return read_numbers(f, f->scratch);
}

/* --- what is left --------------------------------------------------------- */

void runs(struct fixture *f, philox_stream stream)
{
	enum philox_capture_status capture;

	OK(philox_stream_capture_info(f->device, stream, &capture, NULL));
	cr_assert_eq(capture, PHILOX_CAPTURE_NONE);
}

static void wrong(struct fixture *f, uint64_t beyond, uint64_t cut)
{
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);

	OK(philox_device_synchronize(f->device));
	FAILS(philox_context_check(f->context, &report), PHILOX_ERROR_LIMIT);
	cr_assert(report.beyond == beyond, "%d beyond limits, not %d",
		  (int)report.beyond, (int)beyond);
	cr_assert(report.cut == cut, "%d loops cut, not %d", (int)report.cut,
		  (int)cut);
	cr_assert_eq(report.launches, 0);
	nothing_wrong(f);
}

void beyond_limits(struct fixture *f, uint64_t count)
{
	wrong(f, count, 0);
}

void loops_cut(struct fixture *f, uint64_t count)
{
	wrong(f, 0, count);
}

void nothing_wrong(struct fixture *f)
{
	const struct philox_context_report zeros =
		PHILOX_INIT(struct philox_context_report);
	struct philox_context_report report;

	memset(&report, 0x55, sizeof(report));
	report.size = sizeof(report);
	OK(philox_device_synchronize(f->device));
	OK(philox_context_check(f->context, &report));
	cr_assert_eq(memcmp(&report, &zeros, sizeof(report)), 0);
}

/* --- regions -------------------------------------------------------------- */

struct philox_region *make_wide(struct fixture *f, const char *name,
				uint32_t flags)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 1, 8}, {"second", 2, 4}, {"third", 1, WIDE_ADVANCE}};
	struct philox_region_desc options = {.size = sizeof(options),
					     .name = name,
					     .ops = ops,
					     .n_ops = OPS,
					     .flags = flags};
	struct philox_region *region;

	OK(philox_region_create(f->context, &options, &region));
	return region;
}

struct numbers predict_shared(struct philox_state state)
{
	static const uint64_t words[SITES] = {8, 4, 4, WIDE_ADVANCE};
	struct numbers numbers;

	for (unsigned i = 0; i < WORDS; i++) {
		uint64_t element = i % COUNT;

		numbers.word[i] =
			philox_draw4(state, element / 4).w[element % 4];
		if (element == COUNT - 1)
			state.offset += words[i / COUNT];
	}
	return numbers;
}
