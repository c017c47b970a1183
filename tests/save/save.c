/*
 * tests/save/save.c - a saved context that is loaded goes on bit for bit: on
 * another device, in another process, eagerly and captured
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/support/left.h"
#include "tests/support/support.h"

/* --- contexts to save ----------------------------------------------------- */

/* Names that need escapes, in an order other than that of their bytes. */
#define ODD_NAME "layer \"1\" \\ of m\xc3\xbcnchen"

struct world {
	struct philox_context *context;
	struct philox_generator *generator; /* the second one */
	struct philox_region *plain, *shared, *odd;
};

static struct philox_region *make_shared(struct philox_context *context,
					 struct philox_generator *generator)
{
	const struct philox_op_desc ops[OPS] = {
		{"first", 0, 0}, {NULL, 2, 8}, {"", 1, 4}};
	const struct philox_region_desc options = {
		.size = sizeof(options),
		.name = "shared",
		.ops = ops,
		.n_ops = OPS,
		.generator = generator,
		.flags = PHILOX_REGION_SHARED};
	struct philox_region *region;

	OK(philox_region_create(context, &options, &region));
	return region;
}

static void set_up(struct world *w, struct philox_context *context,
		   int other_order)
{
	w->context = context;
	OK(philox_generator_create(context, 0, &w->generator));
	if (other_order)
		w->shared = make_shared(context, w->generator);
	w->plain = make_region_of(context, "plain", 0, NULL);
	w->odd = make_region_of(context, ODD_NAME, 5, w->generator);
	if (!other_order)
		w->shared = make_shared(context, w->generator);
}

static void new_world(struct fixture *f, struct world *w, int other_order)
{
	struct philox_context *context;

	OK(philox_context_create(f->device, &context));
	set_up(w, context, other_order);
}

static void destroy_region_with_a_past(struct fixture *f, struct world *w)
{
	struct philox_generator *short_lived;
	struct philox_region *gone;

	gone = make_region_of(w->context, "gone", 0, NULL);
	forward(f, gone);
	forward(f, gone);
	OK(philox_region_destroy(gone));
	OK(philox_generator_create(w->context, 5, &short_lived));
	gone = make_region_of(w->context, "gone, its generator too", 0,
			      short_lived);
	forward(f, gone);
	OK(philox_region_destroy(gone));
	OK(philox_generator_destroy(short_lived));
}

/* Leaves tickets of two seeds pending, one retained, others used up. */
static void history(struct fixture *f, struct world *w)
{
	struct forward used, dropped;
	struct philox_pass failed;

	OK(philox_generator_seed(philox_context_generator(w->context), 42));
	OK(philox_generator_seed(w->generator, 0xfedcba9876543210));
	used = forward(f, w->plain);
	dropped = forward(f, w->plain);
	backward(f, &used, PHILOX_PASS_RETAIN);
	forward(f, w->plain);
	backward(f, &used, 0);
	OK(philox_ticket_release(w->plain, f->stream, dropped.ticket));
	OK(philox_generator_seed(philox_context_generator(w->context), 43));
	used = forward(f, w->plain);
	backward(f, &used, PHILOX_PASS_RETAIN);
	forward_numbers(f, w->plain, PHILOX_PASS_INFERENCE);
	forward(f, w->shared);
	forward(f, w->odd);
	forward(f, w->shared);
	OK(philox_forward_begin(w->shared, f->stream, 0, &failed));
	OK(philox_pass_abort(&failed));
	forward(f, w->odd);
	destroy_region_with_a_past(f, w);
}

/* --- a context's future --------------------------------------------------- */

struct future {
	struct {
		struct numbers numbers;
		uint64_t serial;
	} seen[96];
	size_t n;
};

static void note(struct future *future, struct numbers numbers, uint64_t serial)
{
	cr_assert(future->n < sizeof(future->seen) / sizeof(future->seen[0]));
	future->seen[future->n].numbers = numbers;
	future->seen[future->n++].serial = serial;
}

static void same_future(const struct future *a, const struct future *b)
{
	cr_assert(a->n == b->n && a->n > 0);
	for (size_t i = 0; i < a->n; i++) {
		SAME(a->seen[i].numbers, b->seen[i].numbers,
		     "other numbers in step %zu", i);
		cr_assert(a->seen[i].serial == b->seen[i].serial,
			  "step %zu has serial %" PRIu64 ", not %" PRIu64, i,
			  b->seen[i].serial, a->seen[i].serial);
	}
}

/* How the forwards and backwards of a region run. */
struct way {
	struct philox_region *region;
	struct philox_graph *forward, *backward; /* NULL: eagerly */
	uint32_t *array;
};

static void make_way(struct fixture *f, struct world *w, struct way *way,
		     struct philox_region *region, int captured)
{
	struct philox_context *own = f->context;

	memset(way, 0, sizeof(*way));
	way->region = region;
	if (!captured)
		return;
	way->array = make_array(f);
	f->context = w->context;
	way->forward = record_forward(f, region, 0, way->array);
	way->backward = record_backward(f, region, way->array);
	f->context = own;
}

static struct forward go_forward(struct fixture *f, const struct way *way)
{
	return way->forward ? launch_forward(f, way->forward, way->region,
					     way->array)
			    : forward(f, way->region);
}

static struct numbers go_backward(struct fixture *f, const struct way *way,
				  struct philox_ticket ticket, unsigned flags)
{
	struct philox_launch_pass use = {ticket, flags, 0};

	if (!way->backward)
		return backward_numbers(f, way->region, ticket, flags);
	OK(philox_graph_launch(way->backward, f->stream, &use, 1));
	return read_numbers(f, way->array);
}

static size_t list(struct philox_region *region, struct philox_ticket *tickets)
{
	size_t n;

	OK(philox_region_tickets(region, tickets, 16, &n));
	cr_assert(n <= 16);
	return n;
}

/* Retained and then used up, from the newest or from the oldest. */
static void finish_pending(struct fixture *f, const struct way *way,
			   int newest_first, struct future *future)
{
	struct philox_ticket tickets[16];
	size_t n = list(way->region, tickets);

	for (size_t i = 0; i < n; i++) {
		size_t pick = newest_first ? n - 1 - i : i;

		note(future,
		     go_backward(f, way, tickets[pick], PHILOX_PASS_RETAIN), n);
		note(future, go_backward(f, way, tickets[pick], 0),
		     tickets[pick].serial);
	}
}

static void run_way(struct fixture *f, const struct way *way, int newest_first,
		    struct future *future)
{
	for (int i = 0; i < 2; i++) {
		struct forward made = go_forward(f, way);

		note(future, made.saw, made.ticket.serial);
	}
	note(future, forward_numbers(f, way->region, PHILOX_PASS_INFERENCE), 0);
	finish_pending(f, way, newest_first, future);
	note(future, go_forward(f, way).saw, 0);
}

static void remake(struct fixture *f, struct world *w, const char *name,
		   struct future *future)
{
	struct philox_region *region =
		make_region_of(w->context, name, 0, NULL);
	struct forward made = forward(f, region);

	note(future, made.saw, made.ticket.serial);
}

static struct future future_of(struct fixture *f, struct world *w, int captured)
{
	struct philox_generator *first = philox_context_generator(w->context);
	struct philox_state before;
	struct future future = {.n = 0};
	struct way way[3];

	make_way(f, w, &way[0], w->plain, captured);
	make_way(f, w, &way[1], w->shared, captured);
	make_way(f, w, &way[2], w->odd, captured);
	for (int i = 0; i < 3; i++)
		run_way(f, &way[i], i == 0, &future);
	remake(f, w, "gone", &future);
	remake(f, w, "gone, its generator too", &future);
	OK(philox_generator_advance(first, 4, &before));
	OK(philox_generator_seed(first, before.seed + before.offset + 1));
	for (int i = 0; i < 3; i++)
		run_way(f, &way[i], i == 1, &future);
	return future;
}

static char *text_of(struct philox_context *context)
{
	char *text;
	size_t size;

	OK(philox_context_save_text(context, &text, &size));
	cr_assert(strlen(text) == size);
	return text;
}

#define SAME_TEXT(context, expected)                                        \
	do {                                                                \
		char *text_ = text_of(context);                             \
		cr_assert(strcmp(text_, expected) == 0, "%s\nis not\n%s\n", \
			  text_, expected);                                 \
		free(text_);                                                \
	} while (0)

/* --- round trips ---------------------------------------------------------- */

PROMISE(save, a_loaded_context_saves_as_the_same_text)
{
	struct world saved, loaded;
	char *text;

	new_world(f, &saved, 0);
	history(f, &saved);
	text = text_of(saved.context);
	SAME_TEXT(saved.context, text);
	new_world(f, &loaded, 1);
	OK(philox_context_load_text(loaded.context, text, strlen(text)));
	SAME_TEXT(loaded.context, text);
	OK(philox_context_load_text(loaded.context, text, strlen(text)));
	SAME_TEXT(loaded.context, text);
	philox_context_destroy(saved.context);
	philox_context_destroy(loaded.context);
	free(text);
}

PROMISE(save, the_text_is_what_its_note_says)
{
	static const char expected[] =
		"philox context 1\n"
		"generator 0 state 000000000000002a 0000000000000000\n"
		"region \"a \\x22b\\x22\" alive generator 0 flags 0 next "
		"%016llx 0000000000000008 serial 3\n"
		"op \"first\" calls 1 advance 4\n"
		"op \"second\" calls 2 advance 4\n"
		"op \"third\" calls 1 advance 4\n"
		"ticket 2 state %016llx 0000000000000004\n";
	const char *name = "a \"b\"";
	unsigned long long seed =
		philox_fold(42, PHILOX_FOLD_REGION, fnv1a(name));
	struct philox_region *region = make_region(f, name);
	struct forward first;
	char text[1024], *written = NULL;
	int size = snprintf(text, sizeof(text), expected, seed, seed);

	OK(philox_generator_seed(philox_context_generator(f->context), 42));
	first = forward(f, region);
	forward(f, region);
	backward(f, &first, 0);
	snprintf(text + size, sizeof(text) - (size_t)size,
		 "checksum %016" PRIx64 " bytes %d\n", fnv1a(text), size);
	OK(philox_context_save_text(f->context, &written, NULL));
	cr_assert_str_eq(written, text);
	free(written);
}

static void goes_on(struct fixture *f, int captured)
{
	struct world control, saved, loaded;
	struct future expected, seen;
	char *text;

	new_world(f, &control, 0);
	history(f, &control);
	expected = future_of(f, &control, captured);
	new_world(f, &saved, 0);
	history(f, &saved);
	text = text_of(saved.context);
	seen = future_of(f, &saved, captured);
	same_future(&expected, &seen);
	new_world(f, &loaded, 1);
	OK(philox_context_load_text(loaded.context, text, strlen(text)));
	seen = future_of(f, &loaded, captured);
	same_future(&expected, &seen);
	philox_context_destroy(control.context);
	philox_context_destroy(saved.context);
	philox_context_destroy(loaded.context);
	free(text);
}

PROMISE(save, a_loaded_context_goes_on_with_the_same_numbers)
{
	goes_on(f, 0);
}

GRAPH_PROMISE(save, captured_graphs_go_on_with_the_same_numbers)
{
	goes_on(f, 1);
}

GRAPH_PROMISE(save, graphs_that_a_context_has_follow_a_load)
{
	struct world saved, loaded;
	struct way before, after;
	char *text;

	new_world(f, &saved, 0);
	history(f, &saved);
	text = text_of(saved.context);
	make_way(f, &saved, &before, saved.shared, 0);
	new_world(f, &loaded, 0);
	make_way(f, &loaded, &after, loaded.shared, 1);
	go_forward(f, &after);
	OK(philox_context_load_text(loaded.context, text, strlen(text)));
	for (int i = 0; i < 3; i++) {
		struct forward expected = go_forward(f, &before);
		struct forward seen = go_forward(f, &after);

		SAME(seen.saw, expected.saw, "launch %d", i);
		cr_assert_eq(seen.ticket.serial, expected.ticket.serial);
		SAME(go_backward(f, &after, seen.ticket, 0), expected.saw,
		     "its backward");
	}
	philox_context_destroy(saved.context);
	philox_context_destroy(loaded.context);
	free(text);
}

Test(save, a_text_is_good_for_another_device, .timeout = 120)
{
	static const char *const devices[] = {"host:sync", "host:strict"};

	for (int from = 0; from < 2; from++) {
		struct fixture here, there;
		struct world saved, loaded;
		struct future expected, seen;
		char *text;

		fixture_open(&here, devices[from]);
		set_up(&saved, here.context, 0);
		history(&here, &saved);
		text = text_of(saved.context);
		left_keep(text);
		expected = future_of(&here, &saved, 0);
		fixture_close(&here);
		fixture_open(&there, devices[1 - from]);
		set_up(&loaded, there.context, 1);
		OK(philox_context_load_text(loaded.context, text,
					    strlen(text)));
		seen = future_of(&there, &loaded, 1);
		same_future(&expected, &seen);
		fixture_close(&there);
		free(text);
	}
}

/* --- another process ------------------------------------------------------ */

/* In the new process: the numbers of each pending backward, or nothing. */
static int resume(const char *path, int out)
{
	struct fixture f;
	struct world w;
	struct philox_ticket tickets[16];
	size_t n;

	fixture_open(&f, "host:strict");
	set_up(&w, f.context, 1);
	if (philox_context_load(w.context, path))
		return 1;
	n = list(w.plain, tickets);
	for (size_t i = n; i--;) {
		struct numbers saw =
			backward_numbers(&f, w.plain, tickets[i], 0);

		if (write(out, &saw, sizeof(saw)) != (ssize_t)sizeof(saw))
			return 2;
	}
	fixture_close(&f);
	return 0;
}

static pid_t fork_resume(const char *path, int start[2], int result[2])
{
	pid_t child = fork();
	char go;

	if (child)
		return child;
	close(start[1]);
	_exit(read(start[0], &go, 1) == 1 ? resume(path, result[1]) : 3);
}

/* The process is begun first: a device does not survive a fork. */
Test(save, a_new_process_finishes_the_backwards_that_are_owed, .timeout = 120)
{
	char path[] = "/tmp/philox-test-XXXXXX";
	int start[2], result[2], file = mkstemp(path), ended;
	struct fixture f;
	struct world w;
	struct philox_ticket tickets[16];
	struct numbers saw;
	pid_t child;

	cr_assert(file >= 0 && !close(file));
	cr_assert(!pipe(start) && !pipe(result));
	child = fork_resume(path, start, result);
	cr_assert(child > 0);
	fixture_open(&f, "host:sync");
	set_up(&w, f.context, 0);
	history(&f, &w);
	OK(philox_context_save(w.context, path));
	cr_assert(write(start[1], "", 1) == 1);
	close(result[1]);
	cr_assert_eq(list(w.plain, tickets), 2);
	for (size_t i = 2; i--;) {
		cr_assert(read(result[0], &saw, sizeof(saw)) ==
			  (ssize_t)sizeof(saw));
		SAME(backward_numbers(&f, w.plain, tickets[i], 0), saw,
		     "ticket %zu in the new process", i);
	}
	cr_assert(waitpid(child, &ended, 0) == child);
	cr_assert(WIFEXITED(ended) && !WEXITSTATUS(ended), "it ended with %d",
		  ended);
	fixture_close(&f);
	unlink(path);
}

/* --- tickets -------------------------------------------------------------- */

PROMISE(save, serials_do_not_go_back)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward kept = forward(f, region), late[2], next;
	char *text = text_of(f->context);

	late[0] = forward(f, region);
	late[1] = forward(f, region);
	backward(f, &kept, 0);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	for (int i = 0; i < 2; i++)
		FAILS(philox_ticket_release(region, NULL, late[i].ticket),
		      PHILOX_ERROR_RELEASED);
	next = forward(f, region);
	SAME(next.saw, late[0].saw, "the numbers after the save are reissued");
	cr_assert_eq(next.ticket.serial, 4, "under a serial never issued");
	backward(f, &kept, 0);
	backward(f, &next, 0);
	PENDING(region, 0);
	free(text);
}

PROMISE(save, names_that_the_text_does_not_have_begin_again)
{
	struct philox_region *region = make_region(f, "layer");
	char *text = text_of(f->context), *loaded, line[128];
	struct forward first, second, again;

	region = make_region(f, "gone");
	first = forward(f, region);
	second = forward(f, region);
	OK(philox_region_destroy(region));
	OK(philox_generator_seed(philox_context_generator(f->context), 7));
	OK(philox_context_load_text(f->context, text, strlen(text)));
	snprintf(line, sizeof(line),
		 "\nregion \"gone\" destroyed generator 0 next %016" PRIx64 " "
		 "0000000000000000 serial 3\n",
		 philox_fold(0, PHILOX_FOLD_REGION, fnv1a("gone")));
	loaded = text_of(f->context);
	cr_assert(strstr(loaded, line), "%s is not in\n%s", line, loaded);
	free(loaded);
	region = make_region(f, "gone");
	again = forward(f, region);
	SAME(again.saw, first.saw, "as in the context that was saved");
	cr_assert_eq(again.ticket.serial, second.ticket.serial + 1);
	FAILS(philox_ticket_release(region, NULL, first.ticket),
	      PHILOX_ERROR_RELEASED);
	free(text);
}

static struct {
	unsigned calls, logs;
	philox_stream stream;
	struct philox_region *region;
	size_t pending;
} released;

static void on_release(void *saved, philox_stream stream)
{
	cr_assert_eq(saved, &released);
	released.calls++;
	released.stream = stream;
	OK(philox_region_pending_count(released.region, &released.pending));
}

static void on_log(void *user, const struct philox_log_entry *entry)
{
	(void)user;
	if (strcmp(entry->event, "dropped by load"))
		return;
	released.logs++;
	cr_assert_eq(entry->level, PHILOX_LOG_WARNING);
	cr_assert_str_eq(entry->region, "layer");
	cr_assert(strstr(entry->text, "2 tickets"), "%s", entry->text);
}

PROMISE(save, a_load_releases_pending_tickets_once)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made[2] = {forward(f, region), forward(f, region)};
	char *text = text_of(f->context);
	void *saved;

	memset(&released, 0, sizeof(released));
	released.region = region;
	released.stream = f->stream;
	OK(philox_context_set_log(f->context, on_log, NULL));
	OK(philox_ticket_attach(region, made[0].ticket, &released, on_release));
	FAILS(philox_context_load_text(f->context, text, strlen(text) - 1),
	      PHILOX_ERROR_INVALID);
	cr_assert(!released.calls && !released.logs);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	cr_assert(released.calls == 1 && released.logs == 1);
	cr_assert(released.stream == NULL && released.pending == 2);
	FAILS(philox_ticket_context(region, made[0].ticket, &saved),
	      PHILOX_ERROR_NOT_FOUND);
	OK(philox_ticket_attach(region, made[0].ticket, &released, on_release));
	backward(f, &made[0], 0);
	cr_assert(released.calls == 2 && released.stream == f->stream);
	backward(f, &made[1], 0);
	cr_assert_eq(released.calls, 2);
	free(text);
}

PROMISE(save, tickets_are_listed_in_order)
{
	struct philox_region *region = make_region(f, "layer");
	struct forward made[5];
	struct philox_ticket tickets[4];
	struct philox_pass open;
	size_t n = 77;

	OK(philox_region_tickets(region, NULL, 0, &n));
	cr_assert_eq(n, 0);
	for (int i = 0; i < 5; i++)
		made[i] = forward(f, region);
	backward(f, &made[1], 0);
	backward(f, &made[3], PHILOX_PASS_RETAIN);
	OK(philox_forward_begin(region, f->stream, 0, &open));
	memset(tickets, 0xee, sizeof(tickets));
	OK(philox_region_tickets(region, tickets, 3, &n));
	cr_assert_eq(n, 4, "all that have a ticket are counted");
	cr_assert(!memcmp(&tickets[0], &made[0].ticket, sizeof(tickets[0])));
	cr_assert(!memcmp(&tickets[1], &made[2].ticket, sizeof(tickets[0])));
	cr_assert(!memcmp(&tickets[2], &made[3].ticket, sizeof(tickets[0])));
	cr_assert_eq(tickets[3].serial, 0xeeeeeeeeeeeeeeee, "capacity");
	OK(philox_pass_abort(&open));
	FAILS(philox_region_tickets(NULL, tickets, 3, &n),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_region_tickets(region, NULL, 3, &n), PHILOX_ERROR_INVALID);
	NAMES("layer");
	FAILS(philox_region_tickets(region, tickets, 3, NULL),
	      PHILOX_ERROR_INVALID);
	OK(philox_region_destroy(region));
	FAILS(philox_region_tickets(region, tickets, 3, &n),
	      PHILOX_ERROR_STALE);
	cr_assert_eq(n, 4, "outputs are written on success only");
}

/* --- refusals ------------------------------------------------------------- */

/* Saving, and loading an earlier text, are refused and change nothing. */
static void refused(struct fixture *f, const char *text,
		    enum philox_status expected, const char *named)
{
	char *written = NULL;
	size_t size = 77;

	FAILS(philox_context_save_text(f->context, &written, &size), expected);
	NAMES(named);
	cr_assert(!written && size == 77);
	FAILS(philox_context_load_text(f->context, text, strlen(text)),
	      expected);
	NAMES(named);
	FAILS(philox_context_save(f->context, "/tmp/philox-test-refused"),
	      expected);
	cr_assert(access("/tmp/philox-test-refused", F_OK));
}

PROMISE(save, is_refused_while_a_pass_is_open)
{
	struct philox_region *layer = make_region(f, "layer");
	struct philox_region *shared = make_shared(f->context, NULL);
	struct forward made = forward(f, layer);
	char *text = text_of(f->context);
	struct philox_pass pass, reader;
	struct philox_ticket ticket;

	OK(philox_forward_begin(layer, f->stream, 0, &pass));
	refused(f, text, PHILOX_ERROR_BUSY, "'layer': forward 2");
	OK(philox_pass_commit(&pass, 0, &ticket));
	OK(philox_backward_begin(layer, f->stream, ticket, 0, &pass));
	refused(f, text, PHILOX_ERROR_BUSY, "'layer'");
	NAMES("ticket 2");
	OK(philox_backward_begin(layer, f->stream, ticket, PHILOX_PASS_RETAIN,
				 &reader));
	OK(philox_pass_commit(&pass, 0, NULL));
	refused(f, text, PHILOX_ERROR_BUSY, "ticket 2");
	OK(philox_pass_commit(&reader, 0, NULL));
	OK(philox_forward_begin(shared, f->stream, PHILOX_PASS_INFERENCE,
				&pass));
	refused(f, text, PHILOX_ERROR_BUSY, "'shared'");
	OK(philox_pass_commit(&pass, 0, NULL));
	backward(f, &made, PHILOX_PASS_RETAIN);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	backward(f, &made, 0);
	free(text);
}

GRAPH_PROMISE(save, is_refused_while_a_capture_is_in_progress)
{
	struct philox_region *layer = make_region(f, "layer");
	uint32_t *array = make_array(f);
	char *text = text_of(f->context);
	struct philox_graph *graph;
	struct forward made;

	record_begin(f);
	if (!f->own)
		refused(f, text, PHILOX_ERROR_BUSY,
			"a capture that philox began is under way");
	captured_forward(f, layer, 0, array);
	refused(f, text, PHILOX_ERROR_BUSY, "layer");
	NAMES("capture");
	graph = record_end(f);
	made = launch_forward(f, graph, layer, array);
	backward(f, &made, PHILOX_PASS_RETAIN);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	FAILS(philox_ticket_release(layer, NULL, made.ticket),
	      PHILOX_ERROR_RELEASED);
	free(text);
}

struct foreign {
	struct philox_device *device;
	philox_stream stream;
};

static void *capture_foreign(void *argument)
{
	struct foreign *foreign = argument;

	OK(philox_stream_begin_capture(foreign->device, foreign->stream,
				       PHILOX_CAPTURE_RELAXED));
	return NULL;
}

/* A capture that philox does not know, begun by a thread that is over. */
static void begin_foreign(struct fixture *f, philox_stream stream)
{
	struct foreign foreign = {f->device, stream};
	pthread_t thread;

	cr_assert(!pthread_create(&thread, NULL, capture_foreign, &foreign));
	cr_assert(!pthread_join(thread, NULL));
}

static int is_broken(struct fixture *f, philox_stream stream)
{
	enum philox_capture_status status;

	OK(philox_stream_capture_info(f->device, stream, &status, NULL));
	return status == PHILOX_CAPTURE_INVALIDATED;
}

PROMISE(save, is_refused_while_others_capture_and_says_what_to_wait_for)
{
	struct philox_region *layer = make_region(f, "layer");
	struct forward made = forward(f, layer);
	char *text = text_of(f->context);
	philox_native_graph none;
	philox_stream stream;

	for (int i = 0; i < 3; i++) {
		enum philox_capture_mode mode = i;

		OK(philox_stream_create(f->device, 0, &stream));
		begin_foreign(f, stream);
		OK(philox_capture_exchange_mode(f->device, &mode));
		refused(f, text, PHILOX_ERROR_CAPTURE_UNSUPPORTED,
			philox_device_name(f->device));
		NAMES("synchronize the streams");
		OK(philox_capture_exchange_mode(f->device, &mode));
		cr_assert(is_broken(f, stream));
		PENDING(layer, 1);
		FAILS(philox_stream_end_capture(f->device, stream, &none),
		      PHILOX_ERROR_CAPTURE_INVALIDATED);
		OK(philox_stream_destroy(f->device, stream));
		SAME_TEXT(f->context, text);
	}
	backward(f, &made, 0);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	backward(f, &made, 0);
	free(text);
}

PROMISE(save, is_refused_until_a_capture_is_adopted_or_dropped)
{
	struct philox_region *layer = make_region(f, "layer");
	uint32_t *array = make_array(f);
	char *text = text_of(f->context);
	philox_native_graph native;

	f->own = 1;
	record_begin(f);
	captured_forward(f, layer, 0, array);
	OK(philox_stream_end_capture(f->device, f->stream, &native));
	refused(f, text, PHILOX_ERROR_BUSY, "layer");
	OK(philox_capture_drop(f->context, f->capture_id));
	SAME_TEXT(f->context, text);
	OK(philox_native_graph_destroy(f->device, native));
	SAME_TEXT(f->context, text);
	free(text);
}

GRAPH_PROMISE(save, is_refused_between_prologue_and_epilogue)
{
	struct philox_region *layer = make_region(f, "layer");
	uint32_t *array = make_array(f);
	const unsigned kinds[] = {0, PHILOX_PASS_INFERENCE};

	for (int i = 0; i < 2; i++) {
		struct philox_launch_pass use = {{0, 0}, 0, 0};
		struct philox_graph *graph;
		struct philox_pass pass;
		char *text;

		record_begin(f);
		OK(philox_forward_begin(layer, f->stream, kinds[i], &pass));
		draw(&pass, array);
		OK(philox_pass_commit(&pass, 0, &use.ticket));
		graph = record_end(f);
		OK(philox_graph_set_name(graph, "step"));
		text = text_of(f->context);
		OK(philox_graph_prologue(graph, f->stream, &use, 1));
		refused(f, text, PHILOX_ERROR_BUSY, "'step'");
		OK(philox_native_exec_launch(f->device, f->stream,
					     native_exec(graph)));
		refused(f, text, PHILOX_ERROR_BUSY, "'step'");
		OK(philox_graph_epilogue(graph, PHILOX_OK));
		OK(philox_context_load_text(f->context, text, strlen(text)));
		free(text);
	}
}

static struct philox_context *launched;
static enum philox_status said;

static void save_within(const void *unused)
{
	char *text = NULL;

	(void)unused;
	said = philox_context_save_text(launched, &text, NULL);
	cr_assert_null(text);
}

/* On this device a launch runs its work, with the graph taken. */
Test(save, is_refused_within_a_launch, .timeout = 120)
{
	struct philox_region *layer;
	struct philox_graph *graph;
	struct philox_launch_pass use = {{0, 0}, 0, 0};
	struct philox_pass pass;
	struct fixture f;

	fixture_open(&f, "host:sync");
	launched = f.context;
	layer = make_region(&f, "layer");
	record_begin(&f);
	OK(philox_forward_begin(layer, f.stream, PHILOX_PASS_INFERENCE, &pass));
	OK(philox_stream_launch_host(f.device, f.stream, save_within, "", 1));
	OK(philox_pass_commit(&pass, 0, NULL));
	graph = record_end(&f);
	said = PHILOX_OK;
	OK(philox_graph_launch(graph, f.stream, &use, 1));
	cr_assert_eq(said, PHILOX_ERROR_BUSY);
	fixture_close(&f);
}

static void doze(const void *unused)
{
	(void)unused;
	usleep(50000);
}

/* The launch is queued after slow work: only a wait can show it. */
GRAPH_PROMISE(save, is_refused_after_an_unannounced_launch_until_it_is_reported)
{
	struct philox_region *layer = make_region(f, "layer");
	uint32_t *array = make_array(f);
	struct philox_graph *graph = record_forward(f, layer, 0, array);
	struct philox_context_report report =
		PHILOX_INIT(struct philox_context_report);
	struct forward made = launch_forward(f, graph, layer, array);
	char *text = text_of(f->context);

	OK(philox_graph_set_name(graph, "step"));
	OK(philox_stream_launch_host(f->device, f->stream, doze, "", 1));
	OK(philox_native_exec_launch(f->device, f->stream, native_exec(graph)));
	refused(f, text, PHILOX_ERROR_UNANNOUNCED, "'step'");
	NAMES("layer");
	FAILS(philox_context_check(f->context, &report),
	      PHILOX_ERROR_UNANNOUNCED);
	cr_assert_eq(report.launches, 1);
	SAME_TEXT(f->context, text);
	OK(philox_context_load_text(f->context, text, strlen(text)));
	backward(f, &made, 0);
	free(text);
}

PROMISE(save, fails_with_its_device)
{
	struct philox_region *layer = make_region(f, "layer");
	char *text = text_of(f->context);

	forward(f, layer);
	for (int i = 0; i < 2; i++) {
		char *unwritten = NULL;

		OK(philox_device_fail(f->device, "device_sync", 1,
				      PHILOX_ERROR_DEVICE));
		FAILS(i ? philox_context_load_text(f->context, text,
						   strlen(text))
			: philox_context_save_text(f->context, &unwritten,
						   NULL),
		      PHILOX_ERROR_DEVICE);
		cr_assert_null(unwritten);
		PENDING(layer, 1);
	}
	free(text);
}

PROMISE(save, refuses_null_pointers)
{
	char *text = text_of(f->context), *unwritten = NULL;

	FAILS(philox_context_save_text(NULL, &unwritten, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_save_text(f->context, NULL, NULL),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_text(NULL, text, 1), PHILOX_ERROR_INVALID);
	FAILS(philox_context_load_text(f->context, NULL, 0),
	      PHILOX_ERROR_INVALID);
	FAILS(philox_context_save(NULL, "x"), PHILOX_ERROR_INVALID);
	FAILS(philox_context_save(f->context, NULL), PHILOX_ERROR_INVALID);
	FAILS(philox_context_load(NULL, "x"), PHILOX_ERROR_INVALID);
	FAILS(philox_context_load(f->context, NULL), PHILOX_ERROR_INVALID);
	free(text);
}
