/*
 * tests/graph/bodies/orders.c - forks in bodies, with nodes in many orders
 *
 * If an edge is missing, in some order of the nodes a draw comes before the
 * body's kernel and has poison or the numbers of the run before.
 */
#include "lib/device/device.h"
#include "tests/support/loops.h"

enum { LIMIT = 4, ORDERS = 64 };

/* Work of `to` comes after the work that is on `from` now. */
static void order(struct fixture *f, philox_stream from, philox_stream to)
{
	philox_event event;

	OK(philox_event_create(f->device, &event));
	OK(philox_event_record(f->device, from, event));
	OK(philox_event_wait(f->device, to, event));
	OK(philox_event_destroy(f->device, event));
}

/* Two logs of a body that forks. */
struct forked {
	struct philox_region *region;
	struct tape tape;
	struct log here, there;
	philox_stream beside;
	uint64_t at;
};

static void open_forked(struct fixture *f, struct forked *t)
{
	memset(t, 0, sizeof(*t));
	t->region = make_region(f, "layer");
	t->tape = make_tape(f);
	make_log(f, &t->here);
	make_log(f, &t->there);
	OK(philox_stream_create(f->device, 0, &t->beside));
}

static void close_forked(struct fixture *f, struct forked *t)
{
	OK(philox_device_synchronize(f->device));
	OK(philox_stream_destroy(f->device, t->beside));
}

/* Two forwards of the body, `first` logged where the first of them draws. */
static void launch_forked(struct fixture *f, struct forked *t,
			  struct philox_graph *graph, struct log *first,
			  struct log *second)
{
	static const unsigned counts[] = {3, LIMIT, 1};

	set_counts(f, t->tape, counts, 3);
	for (int launch = 0; launch < 3; launch++) {
		struct philox_launch_pass uses[2] = {{{0, 0}, 0, 0}};

		clear_log(f, &t->here);
		clear_log(f, &t->there);
		OK(philox_graph_launch(graph, f->stream, uses, 2));
		read_log(f, &t->here);
		read_log(f, &t->there);
		LOGGED_IN_ALL(first, counts[launch]);
		LOGGED_IN_ALL(second, counts[launch]);
		for (unsigned i = 0; i < counts[launch]; i++) {
			LOGGED(first, i, predict(0, "layer", t->at + 4 * i));
			LOGGED(second, i,
			       predict(0, "layer", t->at + 4 * (LIMIT + i)));
		}
		t->at += 8 * LIMIT;
		for (int i = 0; i < 2; i++)
			OK(philox_ticket_release(t->region, f->stream,
						 uses[i].ticket));
	}
	nothing_wrong(f);
	OK(philox_graph_destroy(graph));
}

/* A stream that joins the body begins a pass of its own. */
GRAPH_PROMISE(orders, passes_on_a_fork_come_after_the_body_s_kernel)
{
	struct forked t;

	open_forked(f, &t);
	for (f->order = 0; f->order < ORDERS; f->order++) {
		struct philox_conditional loop;

		record_begin(f);
		begin_while(f, f->stream, f->side, LIMIT, t.tape, &loop);
		order(f, f->side, t.beside);
		forward_in(f, t.region, t.beside, &t.there);
		forward_in(f, t.region, f->side, &t.here);
		order(f, t.beside, f->side);
		end_while(f, f->side, t.tape, &loop);
		launch_forked(f, &t, record_end(f), &t.there, &t.here);
	}
	close_forked(f, &t);
}

/* A node of the caller's own, whose body has work before philox hears of it. */
GRAPH_PROMISE(orders, a_body_may_have_forked_before_it_is_tied)
{
	struct forked t;
	uint32_t *array = make_array(f);

	open_forked(f, &t);
	for (f->order = 0; f->order < ORDERS; f->order++) {
		struct philox_conditional_desc options = {
			.size = sizeof(options),
			.kind = PHILOX_CONDITIONAL_WHILE,
			.limit = LIMIT,
			.own = 1};
		struct conditional what = {0, CONDITIONAL_WHILE, 1};
		struct philox_conditional node;
		philox_native_graph body, ended;
		struct capture_info info;
		device_node tip, made;
		size_t n = 1;

		record_begin(f);
		OK(device_capture_info(f->device, f->stream, &info));
		OK(device_condition_create(f->device, info.graph, 0, 0,
					   &what.condition));
		take_word(f, f->stream, t.tape);
		OK(philox_conditional_begin(f->context, f->stream, &options,
					    &node));
		OK(device_condition_record(f->device, f->stream, what.condition,
					   t.tape.word));
		OK(device_capture_tips(f->device, f->stream, &tip, &n));
		OK(device_graph_add_conditional(f->device, info.graph, &tip, n,
						&what, &made, &body));
		OK(device_capture_after(f->device, f->stream, made));
		OK(device_capture_begin_to(f->device, f->side, body,
					   PHILOX_CAPTURE_RELAXED));
		OK(philox_memory_set(f->device, f->side, array, 1, 16));
		order(f, f->side, t.beside);
		OK(philox_memory_set(f->device, t.beside, array + 4, 1, 16));
		OK(philox_conditional_body(&node, 0, f->side));
		forward_in(f, t.region, t.beside, &t.there);
		forward_in(f, t.region, f->side, &t.here);
		order(f, t.beside, f->side);
		take_word(f, f->side, t.tape);
		OK(device_condition_record(f->device, f->side, what.condition,
					   t.tape.word));
		OK(philox_stream_end_capture(f->device, f->side, &ended));
		OK(philox_conditional_end(&node));
		launch_forked(f, &t, record_end(f), &t.there, &t.here);
	}
	close_forked(f, &t);
}

/* The node itself is on a fork of the capture, before any pass of it. */
GRAPH_PROMISE(orders, a_node_on_a_fork_comes_after_the_head)
{
	struct forked t;
	uint32_t *array = make_array(f);

	open_forked(f, &t);
	for (f->order = 0; f->order < ORDERS; f->order++) {
		struct philox_conditional loop;

		record_begin(f);
		OK(philox_memory_set(f->device, f->stream, array, 1, 16));
		order(f, f->stream, t.beside);
		OK(philox_memory_set(f->device, f->stream, array + 4, 1, 16));
		begin_while(f, t.beside, f->side, LIMIT, t.tape, &loop);
		forward_in(f, t.region, f->side, &t.here);
		forward_in(f, t.region, f->side, &t.there);
		end_while(f, f->side, t.tape, &loop);
		order(f, t.beside, f->stream);
		launch_forked(f, &t, record_end(f), &t.here, &t.there);
	}
	close_forked(f, &t);
}

/* A view by word is in place when the stream goes on. */
GRAPH_PROMISE(orders, a_view_by_word_comes_after_its_word)
{
	struct forked t;

	open_forked(f, &t);
	for (f->order = 0; f->order < ORDERS; f->order++) {
		static const uint32_t order_of[] = {3, 0, 2, 1};
		struct philox_pass pass, view;
		struct philox_ticket ticket;
		struct philox_graph *graph;

		record_begin(f);
		OK(philox_forward_begin_loop(t.region, f->stream, 0, LIMIT,
					     &pass));
		take_word(f, f->stream, t.tape);
		OK(philox_pass_at_word(&pass, t.tape.word, &view));
		draw_to_log(f, &view, &t.here);
		take_word(f, f->stream, t.tape);
		OK(philox_pass_at_word(&pass, t.tape.word, &view));
		draw_to_log(f, &view, &t.there);
		OK(philox_pass_commit(&pass, 0, &ticket));
		graph = record_end(f);
		set_tape(f, t.tape, order_of, 4);
		for (unsigned launch = 0; launch < 2; launch++) {
			struct philox_launch_pass use;

			clear_log(f, &t.here);
			clear_log(f, &t.there);
			use = launch_one(f, graph);
			read_log(f, &t.here);
			read_log(f, &t.there);
			LOGGED(&t.here, 0,
			       predict(0, "layer",
				       t.at + 4 * order_of[2 * launch]));
			LOGGED(&t.there, 0,
			       predict(0, "layer",
				       t.at + 4 * order_of[2 * launch + 1]));
			t.at += 4 * LIMIT;
			OK(philox_ticket_release(t.region, f->stream,
						 use.ticket));
		}
		OK(philox_graph_destroy(graph));
	}
	close_forked(f, &t);
}
