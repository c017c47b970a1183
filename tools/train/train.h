/*
 * tools/train/train.h - the parts of `philox train` around its model
 *
 *   train.c     the command: the runs, the verdict
 *   options.c   the command line
 *   report.c    what it prints; json.c: the same for machines
 *   runs.c      the schedules: eager, captured, recomputed, out of order, looped,
 *               through a runner
 *   runner.c    one step whose layers are calls of a runner's functions
 *   functions.c the runner of a run, its functions, a call of one
 *   bodies.c    what these functions do
 *   save.c      a run that is interrupted, into a file
 *   resume.c    and continued from it
 */
#ifndef TOOLS_TRAIN_TRAIN_H
#define TOOLS_TRAIN_TRAIN_H

#include "tools/train/model/model.h"

/*
 * train_parse_options() takes the command line with the defaults. Returns -1,
 * or the exit status: 0 after --help, 2 after saying what is wrong.
 */
int train_parse_options(int argc, char **argv, struct train_options *options);

/* --- runs ----------------------------------------------------------------- */

enum train_schedule {
	TRAIN_EAGER,
	TRAIN_CAPTURED,
	TRAIN_RECOMPUTED,
	TRAIN_REORDERED,
	TRAIN_LOOPED,
	TRAIN_RUNNER,
	TRAIN_MASTERS, /* --weights bf16: captured, with weights in f32 */
	TRAIN_SCHEDULES,
	TRAIN_NAIVE = TRAIN_SCHEDULES
};

/*
 * train_run() trains from the start by a schedule; errors are left in
 * model->status. The arrays of *result are the caller's; `numbers` may be NULL.
 */
void train_run(struct train_model *model, enum train_schedule schedule,
	       struct train_result *result);

/*
 * train_try() makes the graphs of a schedule, or its runner, and takes no step,
 * so that what a device cannot do is known before the runs.
 */
void train_try(struct train_model *model, enum train_schedule schedule);

/*
 * train_run_to_save() trains out of order up to the middle of the step
 * options->save_at, and saves. train_run_resumed() continues from model->saved
 * to the end.
 */
void train_run_to_save(struct train_model *model, struct train_result *result);
void train_run_resumed(struct train_model *model, struct train_result *result);

/* --- runs through a runner ------------------------------------------------ */

/*
 * What a layer does, forward and backward, is a function (philox/runner.h), and
 * all layers of a kind share it: its static inputs are the layer's parameters.
 * What a call gives goes to the next one by handle, and is released where it is
 * needed no more.
 */

/*
 * train_runner_open() makes the runner of a run with its functions,
 * train_runner_close() destroys it after the device has finished, and notes how
 * its calls were executed. Without a runner that does nothing.
 */
void train_runner_open(struct train_model *model);
void train_runner_close(struct train_model *model, struct train_result *result);

/*
 * train_runner_step() is a step, counted from 0, as calls of these functions:
 * in every second step backwards come out of order, and one of them twice.
 */
void train_runner_step(struct train_model *model, uint64_t step,
		       struct train_result *result);

#define TRAIN_INPUTS_MAX  (4 + TRAIN_SLOTS)
#define TRAIN_OUTPUTS_MAX 3

/* Inputs and outputs of the functions, by number. */
enum { INPUT_TEXT, INPUT_EMBEDDING, INPUT_INPUTS };
enum { INPUT_WORDS, INPUT_HIDDEN, INPUT_DROPPED, INPUT_OUTPUTS };
enum { HIDDEN_X, HIDDEN_WEIGHTS, HIDDEN_INPUTS };
enum { HIDDEN_HIDDEN, HIDDEN_DROPPED, HIDDEN_OUTPUTS };
enum { LOSS_X, LOSS_WEIGHTS, LOSS_TEXT, LOSS_WORDS, LOSS_INPUTS };
enum { LOSS_GRADIENT, LOSS_LOSS, LOSS_OUTPUTS };
enum { LAYER_ABOVE, LAYER_HIDDEN, LAYER_WEIGHTS, LAYER_INPUTS };
enum { LAYER_GRADIENT, LAYER_OF_WEIGHTS, LAYER_OUTPUTS };
enum { EMBEDDING_TEXT, EMBEDDING_WORDS, EMBEDDING_GRADIENT, EMBEDDING_INPUTS };
enum {
	UPDATE_PARAMETERS,
	UPDATE_FIRST,
	UPDATE_SECOND,
	UPDATE_CLOCK,
	UPDATE_GRADIENTS, /* one for each slot */
	UPDATE_INPUTS = UPDATE_GRADIENTS + TRAIN_SLOTS
};
enum { FINISH_CLOCK, FINISH_LOSSES, FINISH_HISTORY, FINISH_INPUTS };

/* What one micro-batch has at the moment: outputs that are not released. */
struct train_slot_outputs {
	struct philox_output words;
	struct philox_output hidden[TRAIN_DEPTH];
	struct philox_output dropped;  /* of the layer that was last */
	struct philox_output gradient; /* of the logits */
	struct philox_output gradients[TRAIN_SETS];
};

/* A function, and what its body is called with. */
struct train_function {
	struct train_model *model;
	struct philox_function *function; /* NULL: not in this run */
	void (*body)(struct train_model *model);
	uint64_t device_calls; /* the most of a replay */
};

struct train_runner {
	struct philox_runner *runner;
	struct train_function functions[TRAIN_FUNCTIONS];
	struct train_slot_outputs slots[TRAIN_SLOTS];
	enum train_layer layer; /* of the call on its way: its key has it */
};

/*
 * struct train_call is a call: what is not used stays 0. `use` is the ticket
 * that a backward takes, or that a forward gives.
 */
struct train_call {
	enum train_function_id function;
	enum train_layer layer; /* part of the key; a set that is updated */
	struct philox_call_input inputs[TRAIN_INPUTS_MAX];
	struct philox_call_param value;
	struct philox_launch_pass use;
	struct philox_output outputs[TRAIN_OUTPUTS_MAX]; /* written */
};

/* Inputs of a call: memory of the model, and an output of another call. */
struct philox_call_input train_memory(void *address, size_t bytes);
struct philox_call_input train_output(const struct philox_output *output);

/* train_make_call() calls, train_drop_output() releases what a call gave. */
void train_make_call(struct train_model *model, struct train_call *call);
void train_drop_output(struct train_model *model, struct philox_output *output);

/* The bodies, with model->run. */
void train_body_input(struct train_model *model);
void train_body_hidden(struct train_model *model);
void train_body_loss(struct train_model *model);
void train_body_layer(struct train_model *model);
void train_body_embedding(struct train_model *model);
void train_body_update(struct train_model *model);
void train_body_finish(struct train_model *model);
void train_body_extra(struct train_model *model);
void train_body_extra_again(struct train_model *model);

/* --- interrupted runs ----------------------------------------------------- */

/* struct train_saved is a file that was read, and the parts of it. */
struct train_saved {
	char *bytes;
	uint64_t step; /* in the middle of which it was saved, from 1 */
	int on_host;
	const char *context, *payload;
	size_t context_size, payload_size;
};

/*
 * train_save_check() says before the run what is wrong with options->save, as
 * far as it can be known. train_saved_read() reads options->resume, takes over
 * its options where none were given, and refuses different ones. Both return 0,
 * or 1 after writing what is wrong to `message`. train_saved_free() frees what
 * was read: after the model.
 */
int train_save_check(const struct train_options *options, char *message,
		     size_t message_size);
int train_saved_read(struct train_options *options,
		     const struct train_text *text, struct train_saved *saved,
		     char *message, size_t message_size);
void train_saved_free(struct train_saved *saved);

/*
 * train_save() writes options->save in the middle of a step, train_load() puts
 * the model where it was then, from model->saved. train_load_check() says
 * before whether the file fits the device and the model.
 */
void train_save(struct train_model *model);
void train_load(struct train_model *model);
void train_load_check(struct train_model *model);

/* --- a saved run: written by save.c, read by resume.c --------------------- */

/*
 * Note [Saved training]
 * ~~~~~~~~~~~~~~~~~~~~~
 * A run is saved in the middle of a step: every slot's forward is pending, one
 * slot has had a backward with PHILOX_PASS_RETAIN, no parameter has moved yet.
 *
 *   philox train save 1, philox 0.1.0, little-endian
 *   text 9f86d081884c7d65 bytes 4242
 *   device host
 *   options seed 1 dropout 0x1.999999999999ap-4 ops 0 steps 600
 *   step 300 context 1321 payload 812345
 *   (the context, as philox_context_save_text() wrote it)
 *   (the payload)
 *   checksum 0123456789abcdef
 *
 * `text` is the hash of the text's bytes. `step` counts from 1; the sizes of
 * the two parts in bytes follow it. The payload is the tickets, slot by slot
 * and layer by layer, two 64-bit words each, then the device memory that
 * train_save_parts() lists, in the byte order of the first line and with
 * nothing in between. The checksum is FNV-1a, 64 bits, of everything above its
 * line.
 *
 * Activations are not saved: the tickets give every number back, so a recompute
 * of each pending forward makes them again, bit for bit. Only a file with this
 * very first line is read: another version may compute otherwise.
 */

#define TRAIN_SAVE_MAGIC     "philox train save "
#define TRAIN_SAVE_HEAD_MAX  512
#define TRAIN_SAVE_FOOT_SIZE (sizeof("checksum 0123456789abcdef\n") - 1)
#define TRAIN_SAVE_PARTS     10

/* The lines before the context, except the first. */
struct train_save_head {
	uint64_t text_hash;
	size_t text_size;
	char device[8];
	uint64_t seed, ops, steps, step;
	double dropout;
	size_t context_size, payload_size;
};

struct train_save_part {
	void *memory; /* of the device */
	size_t size;
};

/* train_save_parts() lists the parts of device memory in a payload. */
void train_save_parts(const struct train_model *model, uint64_t step,
		      struct train_save_part parts[TRAIN_SAVE_PARTS]);
size_t train_save_payload(const struct train_model *model, uint64_t step);

/*
 * train_save_first_line(), train_save_head() and train_save_foot() write the
 * lines of a file, the first one alone, up to the context, and the last, and a
 * NUL; the first two return how many bytes that is, without the NUL.
 */
size_t train_save_first_line(char line[TRAIN_SAVE_HEAD_MAX]);
size_t train_save_head(char text[TRAIN_SAVE_HEAD_MAX],
		       const struct train_save_head *head);
void train_save_foot(char foot[TRAIN_SAVE_FOOT_SIZE + 1], const char *bytes,
		     size_t size);

/* train_save_refuse() writes what is wrong, and returns 1. */
int train_save_refuse(char *message, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* --- verdict and report --------------------------------------------------- */

/* A run that learned has a mean loss, at the end, of at most this share of the
 * entropy of a single byte. */
#define TRAIN_LEARNED 0.9

struct train_verdict {
	int agree;                          /* all runs, in every bit */
	const struct train_result *masters; /* the run that need not, or NULL */
	double masters_last_tenth;          /* its mean loss there */
	const struct train_result *differs; /* if not: the first that differs */
	uint64_t differs_step; /* ... in a loss from this step on; or 0 */
	/* the run through a runner of which no call was replayed, or NULL */
	const struct train_result *not_replayed;
	double last_tenth; /* mean loss of the last tenth of steps */
	int learned;
	uint64_t distinct[2]; /* --naive: numbers that are new, by run */
};

/*
 * train_progress() shows the progress of a run: on one line of a terminal
 * (tools/cli/cli.h), a line each quarter elsewhere. Steps `before` ..
 * `done` - 1 are new.
 */
void train_progress(const struct train_result *result, uint64_t before,
		    uint64_t done, uint64_t steps);

/* train_loss_steps() says at which steps, counted from 1, a loss is shown: the
 * first and the end of each tenth, each once. It returns how many there are. */
#define TRAIN_LOSS_STEPS 11
unsigned train_loss_steps(uint64_t steps, uint64_t shown[TRAIN_LOSS_STEPS]);

/* Bytes that one step's dropout masks would take, one for each element. */
size_t train_mask_bytes(void);

/* The task, before the runs. */
void train_report_begin(const struct train_model *model);

/* The results: as text, and as one JSON object on one line. */
void train_report(const struct train_model *model,
		  const struct train_result *results, unsigned n,
		  const struct train_verdict *verdict);
void train_report_only(const struct train_model *model,
		       const struct train_result *result,
		       const struct train_verdict *verdict);
void train_report_naive(const struct train_model *model,
			const struct train_result *results,
			const struct train_verdict *verdict);
void train_report_saved(const struct train_model *model,
			const struct train_result *result);
void train_report_resumed(const struct train_model *model,
			  const struct train_result *result,
			  const struct train_verdict *verdict);
void train_report_saved_json(const struct train_model *model,
			     const struct train_result *result);
void train_report_json(const struct train_model *model,
		       const struct train_result *results, unsigned n,
		       const struct train_verdict *verdict);

#endif
