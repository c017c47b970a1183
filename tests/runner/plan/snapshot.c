/*
 * tests/runner/plan/snapshot.c - what the text of a runner says
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/support/allocations.h"
#include "tests/support/beds/runner.h"
#include "tests/support/left.h"
#include "tools/formats/formats.h"

TestSuite(runner_snapshot, .timeout = 120);

enum { BYTES = WORDS * sizeof(uint32_t) };

/* Valid until the next one. */
static const char *text_of(struct philox_runner *r)
{
	static char *text;
	size_t size;

	free(text);
	text = NULL;
	OK(philox_runner_snapshot_text(r, &text, &size));
	cr_assert_eq(strlen(text), size);
	left_keep(text);
	return text;
}

#define HAS(text, part) \
	cr_assert(strstr((text), (part)), "not there: %s\n%s", (part), (text))
#define HAS_NOT(text, part) \
	cr_assert(!strstr((text), (part)), "there: %s\n%s", (part), (text))

/* A call whose outputs stay: what is read is an output of another, or memory. */
static struct layer_call keep_call(struct layer *layer, const void *x,
				   const struct philox_output *from)
{
	struct layer_call call = new_call(layer, from ? from->address : x, 1);

	call.x.output = from;
	OK(try_call(layer, &call));
	return call;
}

static void drop_call(struct layer *layer, struct layer_call *call)
{
	release_outputs(layer, call);
	OK(philox_ticket_release(layer->region, layer->f->stream,
				 call->use.ticket));
}

/* --- functions, keys, counts ---------------------------------------------- */

RUNNER_PROMISE(runner_snapshot, has_functions_keys_counts_and_the_last_reason)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	const char *text;

	make_function(&layer, r, "lay\"er");
	for (int i = 0; i < 4; i++)
		kind_of_call(&layer, x, 1);
	kind_of_call(&layer, x, 2);
	text = text_of(r);
	HAS(text,
	    "philox runner 2\nrunner \"runner\" mode plain calls 5 made 1 "
	    "functions 1 live 0\n"
	    "function 1 \"lay\\x22er\" there forward flags 0 inputs 1 "
	    "outputs 2 values 0 keys 2 recordings 1\n"
	    "policy refused eager recordings 64 warm-ups 1 dry 0 retry 16 "
	    "keys 0 verify 0 differs error bytes 68719476736\n"
	    "calls eager 0 warm-up 2 record 1 replay 2 failed 0\n"
	    "bodies 3 dry 0 checking 0 prepared 0\n"
	    "misses new 1 moved 0 live 0 stale 0 evicted 0 bound 0 refused "
	    "0 eager 0 agreed 0\n"
	    "verified 0 differed 0 unverified 0\n");
	HAS(text, "\nreason \"it is warmed up under this key, for "
		  "policy.warmups\"\n"
		  "input \"x\" static flags 0 alignment 0 elements 0 origin "
		  "\"tests/support/beds/runner.c:");
	HAS(text, "output \"y\" elements 0 origin \"layer.c:1\"\n"
		  "output \"echo\" elements 0 origin \"\"\n"
		  "key 1 size 4 01000000 calls 4 warm-ups 0 dry 0 wait 0 "
		  "refused \"\"\n"
		  "key 2 size 4 02000000 calls 1 warm-ups 0 dry 0 wait 0 "
		  "refused \"\"\n"
		  "recording 1 key 1 replays 2 by call bytes ");
	HAS(text, "\nfrom memory 0 static\nrange segment 0 offset 0 bytes ");
	HAS(text, "\nbegin pool\nphilox pool 1\npool \"runner\" ");
	HAS(text, "\nend pool\nchecksum ");
}

RUNNER_PROMISE(runner_snapshot, has_the_counts_of_the_function)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct philox_function_stats counts;
	char line[200];

	make_function(&layer, r, "a");
	for (uint32_t i = 0; i < 7; i++)
		kind_of_call(&layer, x, i % 3);
	counts = counts_of(&layer);
	snprintf(line, sizeof(line),
		 "\nkept dropped 0 evicted 0 unplayed %" PRIu64
		 " bytes %" PRIu64 " pool %" PRIu64 " copies 0\n",
		 counts.unplayed, counts.bytes, counts.pool_bytes);
	cr_assert(counts.unplayed == 2 && counts.bytes);
	HAS(text_of(r), line);
}

static enum philox_status refuse(struct layer *layer, struct philox_run *run)
{
	(void)layer;
	return philox_run_refuse(run, "it looks at\ta clock");
}

RUNNER_PROMISE(runner_snapshot, says_why_a_key_waits_and_for_how_long)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	layer.hook = refuse;
	kind_of_call(&layer, x, 1);
	layer.hook = NULL;
	for (int i = 0; i < 3; i++)
		kind_of_call(&layer, x, 1);
	HAS(text_of(r), " wait 13 refused \"its body refused to be recorded");
	HAS(text_of(r), "it looks at\\x09a clock\"\n");
}

RUNNER_PROMISE(runner_snapshot, says_which_recordings_were_prepared)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);
	struct layer_call call = new_call(&layer, x, 1);
	size_t n;

	make_function(&layer, r, "a");
	call.call.inputs = &call.x;
	call.call.outputs = NULL;
	OK(philox_function_prepare(layer.function, &call.call, 1, &n));
	cr_assert_eq(n, 1);
	HAS(text_of(r), "\nrecording 1 key 1 replays 0 by prepare bytes ");
	HAS(text_of(r), "\nbodies 1 dry 0 checking 0 prepared 1\n");
}

/* --- where inputs are from ------------------------------------------------ */

RUNNER_PROMISE(runner_snapshot, says_who_handed_a_recording_its_inputs)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b");
	struct layer_call made, read;
	uint32_t *x = make_words(f, 1);

	make_function(&a, r, "a");
	make_function(&b, r, "b");
	/* a's warm-up is read by b's warm-up and by its first recording */
	made = keep_call(&a, x, NULL);
	for (int i = 0; i < 2; i++) {
		read = keep_call(&b, NULL, &made.outputs[0]);
		drop_call(&b, &read);
	}
	HAS(text_of(r), "\nfrom function 1 output 1 recording 0 static\nrange");
	drop_call(&a, &made);
	/* a's recording, number 2, is read by number 3: another address, or the
	 * same one, which is another output */
	made = keep_call(&a, x, NULL);
	cr_assert_eq(made.call.kind, PHILOX_CALL_RECORD);
	read = keep_call(&b, NULL, &made.outputs[1]);
	cr_assert_eq(read.call.kind, PHILOX_CALL_RECORD);
	HAS(text_of(r), "\nfrom function 1 output 2 recording 2 static\nrange");
	drop_call(&b, &read);
	drop_call(&a, &made);
}

RUNNER_PROMISE(runner_snapshot, says_the_id_of_other_memory)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	for (int i = 0; i < 2; i++) {
		struct layer_call call = new_call(&layer, x, 1);

		call.x.id = 77;
		OK(try_call(&layer, &call));
		drop_call(&layer, &call);
	}
	HAS(text_of(r), "\nfrom memory 77 static\n");
}

RUNNER_PROMISE(runner_snapshot, tells_copied_inputs_from_static_ones)
{
	static const struct philox_input_desc copied = {
		.name = "x", .kind = PHILOX_INPUT_COPIED};
	struct layer layer = make_layer(f, r, "a");
	struct philox_function_desc options = layer_options("a", &layer);
	uint32_t *x = make_words(f, 1);

	options.inputs = &copied;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 2; i++)
		kind_of_call(&layer, x, 1);
	HAS(text_of(r), "\ninput \"x\" copied flags 0 ");
	HAS(text_of(r), "\nfrom memory 0 copied\n");
}

/* A replay hands out what its recording did; another function is its own. */
RUNNER_PROMISE(runner_snapshot, keeps_what_is_gone_by_its_number)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b");
	struct layer_call made, read;
	uint32_t *x = make_words(f, 1);
	const char *text;

	make_function(&a, r, "a");
	make_function(&b, r, "b");
	for (int i = 0; i < 3; i++) {
		made = keep_call(&a, x, NULL);
		read = keep_call(&b, NULL, &made.outputs[0]);
		drop_call(&b, &read);
		drop_call(&a, &made);
	}
	HAS(text_of(r), "\nfrom function 1 output 1 recording 1 static\nrange");
	OK(philox_function_destroy(a.function));
	text = text_of(r);
	HAS(text, "\nfunction 1 \"a\" gone forward flags 0 inputs 1 outputs 2 "
		  "values 0 keys 0 recordings 0\n");
	HAS(text, "\nfunction 2 \"b\" there ");
	HAS(text, "\nfrom function 1 output 1 recording 1 static\nrange");
	HAS_NOT(text, "\nrecording 1 ");
}

/* --- outputs -------------------------------------------------------------- */

RUNNER_PROMISE(runner_snapshot, lists_outputs_that_are_not_released)
{
	struct layer layer = make_layer(f, r, "a");
	struct layer_call first, second;
	uint32_t *x = make_words(f, 1);
	char line[150], tied[50];

	make_function(&layer, r, "a");
	first = keep_call(&layer, x, NULL);
	second = keep_call(&layer, x, NULL);
	cr_assert_eq(second.call.kind, PHILOX_CALL_RECORD);
	OK(philox_output_tie(r, &second.outputs[0], layer.region,
			     second.use.ticket));
	snprintf(tied, sizeof(tied), "tied to \"a\" serial %" PRIu64,
		 second.use.ticket.serial);
	HAS(text_of(r), " functions 1 live 4\n");
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line),
			 "\nlive function 1 output %d recording 0 block %d "
			 "size %d call 1 untied\n",
			 i + 1, i + 1, (int)BYTES);
		HAS(text_of(r), line);
		snprintf(line, sizeof(line),
			 "\nlive function 1 output %d recording 1 block %d "
			 "size %d call 2 %s\n",
			 i + 1, i + 3, (int)BYTES, i ? "untied" : tied);
		HAS(text_of(r), line);
	}
	HAS(text_of(r), " live 3 size ");
	drop_call(&layer, &first);
	HAS(text_of(r), " functions 1 live 2\n");
	HAS_NOT(text_of(r), " call 1 untied");
	drop_call(&layer, &second);
	HAS(text_of(r), " functions 1 live 0\n");
}

static void keep_saved(void *saved, philox_stream stream)
{
	(void)saved;
	(void)stream;
}

RUNNER_PROMISE(runner_snapshot, lists_what_each_pending_ticket_keeps)
{
	static const struct philox_saved_desc parts[] = {
		{.name = "ma\"sk", .elements = 1, .bytes = 77},
		{.name = "n", .elements = 3, .bytes = 23}};
	struct layer layer = make_layer(f, r, "a");
	struct layer_call first, second, third;
	uint32_t *x = make_words(f, 1);
	char lines[500];

	make_function(&layer, r, "a");
	first = keep_call(&layer, x, NULL);
	second = keep_call(&layer, x, NULL);
	third = keep_call(&layer, x, NULL);
	HAS_NOT(text_of(r), "\nticket ");
	for (int i = 0; i < 2; i++)
		OK(philox_output_tie(r, &third.outputs[i], layer.region,
				     third.use.ticket));
	OK(philox_ticket_attach(layer.region, first.use.ticket, NULL,
				keep_saved));
	OK(philox_ticket_describe(layer.region, first.use.ticket, parts, 2));
	snprintf(lines, sizeof(lines),
		 " tied to \"a\" serial %" PRIu64 "\n"
		 "ticket \"a\" serial %" PRIu64 " keeps 2 bytes 100 function 1 "
		 "call 1\n"
		 "keep \"ma\\x22sk\" function \"\" elements 1 bytes 77\n"
		 "keep \"n\" function \"\" elements 3 bytes 23\n"
		 "ticket \"a\" serial %" PRIu64 " keeps 2 bytes %d function 1 "
		 "recording 2 call 3\n"
		 "keep \"y\" function \"a\" elements 0 bytes %d\n"
		 "keep \"echo\" function \"a\" elements 0 bytes %d\n"
		 "program 1 ",
		 third.use.ticket.serial, first.use.ticket.serial,
		 third.use.ticket.serial, 2 * (int)BYTES, (int)BYTES,
		 (int)BYTES);
	HAS(text_of(r), lines);
	drop_call(&layer, &first);
	drop_call(&layer, &second);
	OK(philox_ticket_release(layer.region, f->stream, third.use.ticket));
	HAS_NOT(text_of(r), "\nticket ");
}

/* A replay does not touch the pool, and neither does a release. */
RUNNER_PROMISE(runner_snapshot, has_a_pool_that_agrees_with_live_outputs)
{
	struct layer layer = make_layer(f, r, "a");
	struct layer_call made;
	uint32_t *x = make_words(f, 1);
	char line[100];

	make_function(&layer, r, "a");
	for (int i = 0; i < 2; i++)
		kind_of_call(&layer, x, 1);
	made = keep_call(&layer, x, NULL);
	cr_assert_eq(made.call.kind, PHILOX_CALL_REPLAY);
	for (int i = 0; i < 2; i++) {
		snprintf(line, sizeof(line), " live %d size %d tag \"%s\"\n",
			 i + 1, (int)BYTES, i ? "echo" : "y");
		HAS(text_of(r), line);
	}
	drop_call(&layer, &made);
	HAS_NOT(text_of(r), line);
	HAS(text_of(r), "\nlive 0 peak ");
}

/* Keys go for the limit, their recordings with them, and then the places of
 * their outputs. */
RUNNER_PROMISE(runner_snapshot, knows_an_eager_call_in_a_recording_s_place)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_function_desc options = layer_options("a", &layer);
	struct layer_call call;
	uint32_t *x = make_words(f, 1);

	options.policy.keys = 1;
	make_function_of(&layer, r, &options);
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	KIND(&layer, x, 1, PHILOX_CALL_RECORD);
	for (uint32_t key = 2; key < 5; key++) {
		OK(philox_stream_synchronize(f->device, f->stream));
		KIND(&layer, x, key, PHILOX_CALL_WARMUP);
	}
	call = new_call(&layer, x, 5);
	OK(try_call(&layer, &call));
	cr_assert_eq(call.call.kind, PHILOX_CALL_WARMUP);
	HAS(text_of(r), "\nlive function 1 output 1 recording 0 ");
	HAS(text_of(r), "\nlive function 1 output 2 recording 0 ");
	drop_call(&layer, &call);
}

/* Its output is its input, so that it can be replayed while that is live. */
static enum philox_status pass_on(void *user, struct philox_run *run)
{
	void *x;
	size_t bytes;
	enum philox_status status = philox_run_input(run, 0, &x, &bytes);

	(void)user;
	return status == PHILOX_OK ? philox_run_output(run, 0, x, bytes)
				   : status;
}

RUNNER_PROMISE(runner_snapshot, knows_the_recording_of_each_live_replay)
{
	struct layer layer = make_layer(f, r, "a");
	struct philox_function_desc options = layer_options("a", &layer);
	struct layer_call calls[4];
	uint32_t *x = make_words(f, 1);
	const char *at;
	unsigned n = 0;

	options.body = pass_on;
	options.n_outputs = 1;
	make_function_of(&layer, r, &options);
	for (int i = 0; i < 4; i++) {
		calls[i] = new_call(&layer, x, 1);
		calls[i].call.n_passes = 0;
		calls[i].call.n_outputs = 1;
		OK(try_call(&layer, &calls[i]));
	}
	at = text_of(r);
	HAS(at, "\nlive function 1 output 1 recording 0 block 0 size ");
	while ((at = strstr(at, "\nlive function 1 output 1 recording 1 "))) {
		at++;
		n++;
	}
	cr_assert_eq(n, 3, "%u outputs are of the recording", n);
	for (int i = 0; i < 4; i++)
		OK(philox_output_release(r, f->stream, &calls[i].outputs[0]));
}

/* --- the same calls ------------------------------------------------------- */

/* Reasons with addresses and ids of blocks, outputs that stay, other streams. */
static char *odd_calls(struct fixture *f, struct philox_runner *r)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b");
	struct philox_function_desc limited = layer_options("limited", &b);
	struct layer_call made;
	char *text;

	limited.policy.recordings = 2;
	make_function(&a, r, "a");
	make_function_of(&b, r, &limited);
	for (int i = 0; i < 6; i++) {
		kind_of_call(&b, make_words(f, 1), 1); /* elsewhere each time */
		kind_of_call(&a, make_words(f, 2), 1);
	}
	made = keep_call(&a, make_words(f, 3), NULL);
	drop_call(&a, &made);
	text = strdup(text_of(r));
	left_keep(text);
	OK(philox_runner_destroy(r));
	return text;
}

static char *odd_text(const char *device)
{
	struct fixture f;
	char *text;

	fixture_open(&f, device);
	text = odd_calls(&f, make_runner_of(&f, "runner", 0));
	fixture_close(&f);
	return text;
}

static void no_address(const char *text)
{
	for (const char *at = text; (at = strstr(at, "0x")); at += 2)
		cr_assert(at[2] == '.', "an address: %.30s", at);
}

Test(runner_snapshot, is_one_text_for_the_same_calls)
{
	static const char *const devices[] = {"host:sync", "host:strict",
					      "host"};
	char *first = odd_text(devices[0]);

	no_address(first);
	HAS(first, "reason \"its inputs moved: input 'x' "
		   "(tests/support/beds/runner.c:");
	HAS(first, ") from 0x.. to 0x..; those of kind PHILOX_INPUT_COPIED may "
		   "move; its key keeps the recordings that it has, for "
		   "policy.recordings: those that it evicted were never "
		   "replayed\"\n");
	for (int i = 0; i < 3; i++) {
		char *again = odd_text(devices[i]);

		cr_assert_str_eq(again, first, "on %s", devices[i]);
		free(again);
	}
	free(first);
}

RUNNER_PROMISE(runner_snapshot, names_no_block_by_the_process_s_number)
{
	struct layer layer = make_layer(f, r, "a");
	struct layer_call made;
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	kind_of_call(&layer, x, 1);
	made = keep_call(&layer, x, NULL);
	kind_of_call(&layer, x, 1);
	HAS(text_of(r), "\nreason \"block # of its recording's memory holds "
			"output 'y' (layer.c:1) of function 'a', from call 2 "
			"of that, which is not released");
	drop_call(&layer, &made);
}

RUNNER_PROMISE(runner_snapshot, does_not_change_what_is_decided)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	KIND(&layer, x, 1, PHILOX_CALL_WARMUP);
	text_of(r);
	KIND(&layer, x, 1, PHILOX_CALL_RECORD);
	text_of(r);
	KIND(&layer, x, 1, PHILOX_CALL_REPLAY);
	text_of(r);
	KIND(&layer, x, 1, PHILOX_CALL_REPLAY);
}

/* --- read again ----------------------------------------------------------- */

RUNNER_PROMISE(runner_snapshot, is_read_and_written_again_as_it_was)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b");
	struct layer_call made, read;
	struct runner_text text;
	uint32_t *x = make_words(f, 1);
	const char *written;
	struct text again;

	make_function(&a, r, "a");
	make_function(&b, r, "b");
	for (uint32_t i = 0; i < 3; i++) {
		made = keep_call(&a, x, NULL);
		read = keep_call(&b, NULL, &made.outputs[i % 2]);
	}
	written = text_of(r);
	OK(runner_text_read(written, strlen(written), &text));
	OK(runner_text_write(&text, &again));
	cr_assert_str_eq(again.bytes, written);
	cr_assert_eq(again.size, strlen(written));
	free(again.bytes);
	runner_text_finish(&text);
	drop_call(&b, &read);
	drop_call(&a, &made);
}

/* --- errors --------------------------------------------------------------- */

static enum philox_status asked_within; /* by a body */

static enum philox_status ask_within(struct layer *layer,
				     struct philox_run *run)
{
	char *text = NULL;

	(void)run;
	asked_within = philox_runner_snapshot_text(layer->runner, &text, NULL);
	cr_assert(!text);
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_snapshot, is_refused_while_a_body_runs)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	layer.hook = ask_within;
	kind_of_call(&layer, x, 1);
	cr_assert_eq(asked_within, PHILOX_ERROR_BUSY);
}

struct asker {
	struct philox_runner *runner;
	enum philox_status status;
};

static void *ask_elsewhere(void *user)
{
	struct asker *asker = user;
	char *text;

	asker->status = philox_runner_snapshot_text(asker->runner, &text, NULL);
	return NULL;
}

static enum philox_status ask_from_a_thread(struct layer *layer,
					    struct philox_run *run)
{
	struct asker asker = {.runner = layer->runner};
	pthread_t thread;

	(void)run;
	cr_assert(!pthread_create(&thread, NULL, ask_elsewhere, &asker));
	pthread_join(thread, NULL);
	asked_within = asker.status;
	return PHILOX_OK;
}

RUNNER_PROMISE(runner_snapshot,
	       is_refused_while_another_thread_is_in_the_runner)
{
	struct layer layer = make_layer(f, r, "a");
	uint32_t *x = make_words(f, 1);

	make_function(&layer, r, "a");
	layer.hook = ask_from_a_thread;
	kind_of_call(&layer, x, 1);
	cr_assert_eq(asked_within, PHILOX_ERROR_BUSY);
}

RUNNER_PROMISE(runner_snapshot, needs_a_runner_and_a_place)
{
	char *text;

	FAILS(philox_runner_snapshot_text(NULL, &text, NULL),
	      PHILOX_ERROR_INVALID);
	NAMES("runner");
	FAILS(philox_runner_snapshot_text(r, NULL, NULL), PHILOX_ERROR_INVALID);
	NAMES("text");
	FAILS(philox_runner_snapshot(NULL, "/tmp/x"), PHILOX_ERROR_INVALID);
	NAMES("runner");
	FAILS(philox_runner_snapshot(r, NULL), PHILOX_ERROR_INVALID);
	NAMES("path");
	OK(philox_runner_snapshot_text(r, &text, NULL));
	free(text);
}

static char *read_whole(const char *path)
{
	FILE *file = fopen(path, "r");
	static char text[1 << 16];

	cr_assert(file, "%s", path);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

RUNNER_PROMISE(runner_snapshot, replaces_a_file_whole_or_not_at_all)
{
	char folder[] = "/tmp/philox-runner-XXXXXX", path[64];

	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/runner", folder);
	OK(philox_runner_snapshot(r, path));
	cr_assert_str_eq(read_whole(path), text_of(r));
	FAILS(philox_runner_snapshot(r, "/tmp/philox-none/x"),
	      PHILOX_ERROR_FILE);
	NAMES("/tmp/philox-none/x");
	FAILS(philox_runner_snapshot(r, folder), PHILOX_ERROR_FILE);
	cr_assert_str_eq(read_whole(path), text_of(r));
	unlink(path);
	cr_assert(!rmdir(folder), "something else is there, too");
}

/* Of each allocation that it makes. */
RUNNER_PROMISE(runner_snapshot, without_memory_changes_nothing)
{
	struct layer a = make_layer(f, r, "a"), b = make_layer(f, r, "b");
	struct layer_call made, read;
	uint32_t *x = make_words(f, 1);
	char *before, *text;
	unsigned failed = 0;
	uint64_t n = 1;

	if (!allocations_fail(0))
		cr_skip_test("a sanitizer has the functions that would fail");
	make_function(&a, r, "a");
	make_function(&b, r, "b");
	for (int i = 0; i < 3; i++) {
		made = keep_call(&a, x, NULL);
		read = keep_call(&b, NULL, &made.outputs[0]);
		if (i < 2) {
			drop_call(&b, &read);
			drop_call(&a, &made);
		}
	}
	before = strdup(text_of(r));
	for (;; n++) {
		enum philox_status status;

		text = NULL;
		allocations_fail(n);
		status = philox_runner_snapshot_text(r, &text, NULL);
		allocations_fail(0);
		if (status == PHILOX_OK)
			break;
		cr_assert_eq(status, PHILOX_ERROR_MEMORY, "allocation %u: %s",
			     (unsigned)n, philox_error_message());
		cr_assert(!text);
		failed++;
		cr_assert_str_eq(text_of(r), before);
	}
	cr_assert(failed > 10, "%u", failed);
	cr_assert_str_eq(text, before);
	free(text);
	free(before);
	drop_call(&b, &read);
	drop_call(&a, &made);
	KIND(&a, x, 1, PHILOX_CALL_REPLAY);
}
