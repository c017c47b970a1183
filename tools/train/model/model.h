/*
 * tools/train/model/model.h - the model that is trained, and what a step does
 *
 *   text.c    the text and its vocabulary
 *   model.c   the model: its objects, its device memory, its parameters
 *   pool.c    the arrays of a step, from a pool perhaps
 *   pass.c    one layer's pass over one micro-batch
 *   step.c    one step: forwards, recomputes, backwards, the update
 *   rounded.c weights that are kept in bf16, without others in f32
 *   loop.c    one step whose micro-batches are a loop of the graph
 *   capture.c a piece of a step as a graph, with philox and without
 *   result.c  the results of a run: losses, checksums
 *   host.c    the kernels on the host device
 *   cuda.cu   the kernels on a GPU
 */
#ifndef TOOLS_TRAIN_MODEL_MODEL_H
#define TOOLS_TRAIN_MODEL_MODEL_H

#include <stddef.h>
#include <stdint.h>
#include <philox.h>
#include "tools/train/model/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- text ----------------------------------------------------------------- */

struct train_text {
	uint8_t *symbols; /* the text as indices of its vocabulary */
	size_t size;
	size_t vocabulary; /* distinct bytes */
	uint64_t hash;     /* of the bytes */
	double entropy;    /* of a single byte, in nats */
};

/*
 * train_text_read() reads a text file. Returns 0, or 1 after writing what is
 * wrong with the file to `message`.
 */
int train_text_read(const char *path, struct train_text *text, char *message,
		    size_t message_size);
void train_text_free(struct train_text *text);

/* --- backends ------------------------------------------------------------- */

/* out = left right, with one side transposed perhaps; see train_product. */
enum train_form {
	TRAIN_PLAIN,     /* left [rows, depth], right [depth, columns] */
	TRAIN_LEFT_TURN, /* left [depth, rows], right [depth, columns] */
	TRAIN_RIGHT_TURN /* left [rows, depth], right [columns, depth] */
};

#define TRAIN_STREAMS 3 /* of a model, that kernels go to */

/* rows and depth are multiples of 4, columns of 8. */
struct train_product {
	enum train_form form;
	size_t rows, columns, depth;
	const float *left, *right;
	float *out;
};

/*
 * struct train_backend puts a kernel for `count` indices, or a matrix product,
 * on a stream of its device: one of those it was opened with, of which the last
 * may be NULL. Both return NULL, or what went wrong.
 */
struct train_backend {
	const char *(*kernel)(struct train_backend *backend,
			      philox_stream stream, enum train_kernel kernel,
			      const void *args, size_t size, size_t count);
	const char *(*product)(struct train_backend *backend,
			       philox_stream stream,
			       const struct train_product *product);
	void (*close)(struct train_backend *backend);
	const char *products; /* what makes them; NULL: not worth telling */
};

/*
 * Each returns a backend, or NULL after writing why to `message`. The CUDA one
 * exists in builds with CUDA.
 */
struct train_backend *train_host_open(
	struct philox_device *device,
	const philox_stream streams[TRAIN_STREAMS], char *message, size_t size);
struct train_backend *train_cuda_open(
	struct philox_device *device,
	const philox_stream streams[TRAIN_STREAMS], char *message, size_t size);

/* --- model ---------------------------------------------------------------- */

/* The layers that end in dropout, each a region; and one for --ops. */
enum train_layer {
	TRAIN_INPUT,
	TRAIN_HIDDEN1,
	TRAIN_HIDDEN2,
	TRAIN_DEPTH,
	TRAIN_NOISE = TRAIN_DEPTH, /* the extra operators */
	TRAIN_REGIONS
};

/* Parts of the parameters: those of model->weights, and the embedding. */
#define TRAIN_SETS (TRAIN_DEPTH + 1)

/* Operators of a layer's region. */
enum { TRAIN_DROP, TRAIN_PICK }; /* the latter in TRAIN_INPUT only */

/* The places of a weight matrix and its bias among the parameters. */
struct train_weights {
	size_t weight, bias; /* in floats */
	size_t rows, columns;
};

/* A set's place among the parameters, or in what is laid out like them. */
struct train_part {
	size_t offset, floats;
};

/*
 * The buffers of one micro-batch that no later step needs. With --pool they are
 * NULL except from where they are made, by train_take(), to where they are
 * needed no more, train_give().
 */
struct train_activations {
	uint32_t *words;              /* where its samples are */
	float *hidden[TRAIN_DEPTH];   /* before dropout */
	float *dropped[TRAIN_DEPTH];  /* after it, in the forward */
	float *redrawn[TRAIN_DEPTH];  /* the same again, in the backward */
	float *gradient[TRAIN_DEPTH]; /* of `hidden` before tanh */
	float *logits;                /* then their gradient */
	float *losses;                /* of each sample */
};

/* Of one layer's activations in such a buffer. */
#define TRAIN_LAYER_SIZE (TRAIN_BATCH * TRAIN_WIDTH * sizeof(float))

#define TRAIN_BLOCKS_MAX 64 /* of a pool at a time */

/* The arrays that live for a part of a step. */
struct train_arrays {
	struct train_activations activations[TRAIN_SLOTS];
	float *recomputed_loss; /* a recompute's, not used */
	float *gradients;       /* TRAIN_SLOTS times n_parameters */
	float *mean_gradient;   /* n_parameters */
	uint32_t *extra_rows;   /* options->ops times TRAIN_EXTRA */
	/* Those that are in the pool now, all of them. */
	struct philox_pool_block blocks[TRAIN_BLOCKS_MAX];
	size_t n_blocks;
};

/* With --pool, during a run: where these arrays come from. */
struct train_pool {
	struct philox_pool *pool; /* NULL: the model's own block */
	struct philox_pool_session *session;
	struct train_arrays before; /* the session */
	struct philox_pool_checkpoint *checkpoint;
	struct train_arrays marked; /* with it */
	int held;                   /* no array is taken or given now */
};

struct train_options {
	const char *file;
	const char *device;
	const char *save, *resume; /* files, or NULL */
	uint64_t save_at;          /* a step, counted from 1 */
	uint64_t steps, seed, ops;
	double dropout;
	int json, naive;
	int loop;             /* the looped run is among those to make */
	int runner;           /* and so is the run through a runner */
	const char *snapshot; /* the file that it is written to, or NULL */
	int only;             /* the schedule to run alone, if only_given */
	int pool;             /* enum train_pool_kind, if pool_given */
	int weights;          /* enum train_weights_kind */
	/* as given, or NULL */
	const char *steps_given, *seed_given, *ops_given, *dropout_given;
	const char *only_given, *pool_given, *weights_given;
};

enum train_pool_kind { TRAIN_POOL_PLAIN, TRAIN_POOL_EXPANDABLE };

/* What the weights are kept in; those of bf16 have moments of 8 bits. */
enum train_weights_kind { TRAIN_WEIGHTS_F32, TRAIN_WEIGHTS_BF16 };

#define TRAIN_STEPS_MAX 10000000
#define TRAIN_OPS_MAX   100000

struct train_graph;  /* a captured piece of a step, see below */
struct train_result; /* of a run */
struct train_runner; /* see tools/train/train.h */

/*
 * struct train_model is the model with its buffers, and the state of the
 * current run. The first call that fails leaves its status and message here;
 * those after it do nothing.
 */
struct train_model {
	const struct train_options *options;
	const struct train_text *text;
	const struct train_saved *saved; /* to resume, or NULL */
	struct philox_device *device;
	struct philox_context *context;
	struct train_backend *backend;
	struct philox_region *regions[TRAIN_REGIONS], *init;
	struct philox_region *updates[TRAIN_SETS]; /* of weights in bf16 */
	philox_stream stream, side; /* side: gradients of the weights */
	philox_stream inner; /* options->loop: captures the loop's body */
	philox_event fork, join;

	enum philox_status status;
	char message[512];
	int file_failed; /* the failure is about a file to save or resume */

	/* Device memory: one block, and the parts of it. */
	char *memory;
	size_t memory_size;
	uint8_t *symbols;
	size_t columns;      /* the vocabulary, rounded up */
	size_t n_parameters; /* in floats */
	size_t n_embedding;  /* the first of them */
	struct train_weights weights[TRAIN_DEPTH]; /* above each layer */
	float *parameters, *first, *second;
	float *spare_gradient; /* n_parameters: kept, or of the loop's body */
	float *losses;         /* TRAIN_SLOTS */
	float *history;        /* options->steps times TRAIN_SLOTS */
	struct train_clock *clock;
	uint32_t *extra[2]; /* totals: forward, backward */
	uint32_t *retained_differs;
	struct train_micro *micro;  /* of the loop's body */
	struct train_arrays arrays; /* last in the block, or in the pool */
	size_t arrays_size;         /* in the block, or instead of the pool */
	struct train_pool pool;

	/* The current run. */
	struct philox_ticket tickets[TRAIN_SLOTS][TRAIN_REGIONS];
	struct train_graph *recording; /* where passes are noted, or NULL */
	int rounded;                   /* the weights are kept in bf16 */
	int shared;                    /* all slots use activations[0] */
	int baked;                     /* see train_bake_begin() */
	unsigned baked_flags;
	philox_stream idle; /* never captured: baked passes begin on it */
	struct philox_pass baked_passes[TRAIN_SLOTS][TRAIN_REGIONS];
	struct philox_pass baked_updates[TRAIN_SETS];
	struct philox_ticket no_ticket; /* of passes that have none */
	struct train_runner *runner; /* that the run goes through, or NULL */
	struct philox_run *run;      /* of the body that runs, or NULL */
	struct philox_ticket run_ticket; /* its last one; not for use: calls
					    give out tickets */
};

/*
 * train_model_open() makes a model without contents on model->device, or if
 * that is NULL on the one that the options name. train_model_close() frees it,
 * even if it was opened in part. Both leave errors in model->status.
 */
void train_model_open(struct train_model *model);
void train_model_close(struct train_model *model);

/* train_model_start() begins a run: seeds again, fills the parameters anew. */
void train_model_start(struct train_model *model);

/* train_part_of() returns where a set is. */
struct train_part train_part_of(const struct train_model *model, int set);

/*
 * train_check() keeps the first failure of philox, with its message;
 * train_fail() a failure of the command's own.
 */
void train_check(struct train_model *model, enum philox_status status);
void train_fail(struct train_model *model, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * train_launch() puts a kernel on a stream, its arguments written out as those
 * of its struct.
 */
#define train_launch(model, stream, name, count, ...)  \
	train_put((model), (stream), TRAIN_##name,     \
		  &(struct train_##name){__VA_ARGS__}, \
		  sizeof(struct train_##name), (count))
void train_put(struct train_model *model, philox_stream stream,
	       enum train_kernel kernel, const void *args, size_t size,
	       size_t count);

/* train_copy(), train_set() act on device memory, on the model's stream. */
void train_copy(struct train_model *model, void *to, const void *from,
		size_t size);
void train_set(struct train_model *model, void *to, int value, size_t size);

/* train_download() copies device memory to the host and waits for it. */
void train_download(struct train_model *model, void *to, const void *from,
		    size_t size);

/* --- arrays of a step ----------------------------------------------------- */

/*
 * train_take() returns memory for an array from the pool, that may be used on
 * the stream from now on; train_give() gives it back there, and returns NULL.
 * Both return the array as it is without --pool, as does train_take() for one
 * that has its memory already.
 */
void *train_take(struct train_model *model, philox_stream stream, void *array,
		 size_t size, const char *tag);
void *train_give(struct train_model *model, philox_stream stream, void *array);

/*
 * train_forget() overwrites all activations of a slot with NaN, and gives them
 * back.
 */
void train_forget(struct train_model *model, unsigned slot);

/*
 * train_hold() takes all activations of a slot; until train_release(), which
 * gives them back, no array is taken or given: the body of a loop has no
 * session of a pool.
 */
void train_hold(struct train_model *model, unsigned slot);
void train_release(struct train_model *model, unsigned slot);

/*
 * What follows does nothing without --pool. train_pool_open() makes the pool of
 * a run, train_pool_close() destroys it after all graphs, and notes what it
 * took.
 */
void train_pool_open(struct train_model *model);
void train_pool_close(struct train_model *model, struct train_result *result);

/*
 * train_pool_begin() and train_pool_end() stand around what the model's stream
 * captures. If that did not go well, all arrays are as they were.
 */
void train_pool_begin(struct train_model *model);
void train_pool_end(struct train_model *model, enum philox_status went);

/*
 * train_pool_mark() notes which arrays have memory now; train_pool_return()
 * makes that so again, train_pool_return_gradients() for the gradients alone.
 * Between captures.
 */
void train_pool_mark(struct train_model *model);
void train_pool_return(struct train_model *model);
void train_pool_return_gradients(struct train_model *model);

/* --- passes --------------------------------------------------------------- */

/* TRAIN_UPDATE is a forward without a backward. */
enum train_kind {
	TRAIN_FORWARD,
	TRAIN_RECOMPUTE,
	TRAIN_BACKWARD,
	TRAIN_UPDATE
};

/* One layer of one micro-batch, forward or backward; or a set's update. */
struct train_pass {
	struct train_model *model;
	enum train_layer layer;
	enum train_kind kind;
	struct philox_ticket *ticket;
	struct philox_pass pass;
	const struct philox_pass *baked; /* instead, see train_bake_begin() */
};

/*
 * train_begin_pass() begins a pass on the model's stream, train_begin_update()
 * that of a set's update, train_end_pass() ends it: a failed one is aborted.
 */
struct train_pass train_begin_pass(struct train_model *model, unsigned slot,
				   enum train_layer layer,
				   enum train_kind kind);
struct train_pass train_begin_update(struct train_model *model, int set);
void train_end_pass(struct train_pass *pass);

/* The draws of a pass: bits on the model's stream, dropout on either. */
void train_draw_bits(struct train_pass *pass, uint32_t op, size_t count,
		     uint32_t *out);
void train_drop(struct train_pass *pass, philox_stream stream, const float *in,
		float *out);

/* train_pass_rng() writes by what a kernel of our own draws an operator. */
void train_pass_rng(struct train_pass *pass, uint32_t op,
		    struct philox_rng *rng);

/*
 * train_bake_begin() makes the following passes as one would write them without
 * philox: their states are read on the host now, and go into kernels by value.
 * `flags` are those of the forwards: PHILOX_PASS_WARMUP or
 * PHILOX_PASS_INFERENCE.
 */
void train_bake_begin(struct train_model *model, unsigned flags);
void train_bake_end(struct train_model *model);

/* --- one step ------------------------------------------------------------- */

/* train_order() makes one stream wait for the work that is on another now. */
void train_order(struct train_model *model, philox_event event,
		 philox_stream first, philox_stream then);

/* train_multiply() puts a matrix product on a stream, see train_product. */
void train_multiply(struct train_model *model, philox_stream stream,
		    enum train_form form, size_t rows, size_t columns,
		    size_t depth, const float *left, const float *right,
		    float *out);

/* train_reduce_gradients() makes the mean of the slots' gradients. */
void train_reduce_gradients(struct train_model *model, size_t count,
			    const float *const parts[TRAIN_SLOTS], float *mean);

/*
 * train_narrow_weights() makes bf16 of the parameters, at the begin of a run. train_update_rounded() updates a set; `args` has where it is,
 * and which rates.
 */
void train_narrow_weights(struct train_model *model);
void train_update_rounded(struct train_model *model, int set,
			  struct train_adamw args);

/* The pieces of a step, put on the model's stream. */
void train_forward(struct train_model *model, unsigned slot);
void train_recompute(struct train_model *model, unsigned slot);
void train_backward(struct train_model *model, unsigned slot);
void train_update(struct train_model *model);

/*
 * train_forward_to() and train_backward_to() are one micro-batch with the
 * activations of a slot, without the extra operators; its loss and its gradient
 * go where the last argument says.
 */
void train_forward_to(struct train_model *model, unsigned slot, float *loss);
void train_backward_to(struct train_model *model, unsigned slot,
		       float *gradient);

/* train_extra() is a pass of the extra operators, one of each kind in a step. */
void train_extra(struct train_model *model, enum train_kind kind);

/* train_loop() is all micro-batches of a step, as one node of a capture. */
void train_loop(struct train_model *model);

/* train_activations() returns the buffers that a slot uses. */
struct train_activations *train_activations(struct train_model *model,
					    unsigned slot);

/* train_warm_up() makes each product once, so that a capture's is not the first. */
void train_warm_up(struct train_model *model);

/* train_take_gradients() takes the memory of all slots' gradients. */
void train_take_gradients(struct train_model *model);

/* train_keep_gradient() copies a slot's gradient, train_same_gradient() notes
 * whether the slot's is still the same in every bit. */
void train_keep_gradient(struct train_model *model, unsigned slot);
void train_same_gradient(struct train_model *model, unsigned slot);

/* --- graphs --------------------------------------------------------------- */

#define TRAIN_PASSES_MAX 32 /* of a graph: 4 slots of 3 + 3 layers, and 6 */

/*
 * Who captures: philox_capture_begin(), or the caller, who lets it be adopted.
 */
enum train_capturer { TRAIN_OURS, TRAIN_CALLERS };

struct train_graph {
	struct philox_graph *graph;
	philox_native_graph native; /* TRAIN_CALLERS */
	philox_native_exec exec;
	size_t n_passes;
	struct {
		enum train_kind kind;
		struct philox_ticket *ticket; /* where its ticket is kept */
	} passes[TRAIN_PASSES_MAX];
	size_t nodes_added; /* over the same work without philox */
	int launched;
};

typedef void (*train_body)(struct train_model *model, unsigned slot);

/*
 * train_capture() captures body(model, slot); once more before, baked, to know
 * how many nodes the same work has without philox. train_capture_baked() makes
 * what --naive launches with philox_native_exec_launch().
 */
void train_capture(struct train_model *model, enum train_capturer capturer,
		   train_body body, unsigned slot, struct train_graph *graph);
void train_capture_baked(struct train_model *model, train_body body,
			 struct train_graph *graph);
void train_graph_close(struct train_model *model, struct train_graph *graph);

/* train_note() notes a pass of the current capture, if there is one. */
void train_note(struct train_model *model, enum train_kind kind,
		struct philox_ticket *ticket);

/* train_replay() launches a graph; `flags` go to its consuming backwards. */
void train_replay(struct train_model *model, struct train_graph *graph,
		  unsigned flags);

/* --- results -------------------------------------------------------------- */

/* struct train_calls counts device calls of replays. */
struct train_calls {
	uint64_t all, launch, set_kernel, capture_info, record;
};

/* The functions of a runner that a step goes through. */
enum train_function_id {
	TRAIN_CALL_EXTRA,
	TRAIN_CALL_INPUT,
	TRAIN_CALL_HIDDEN,
	TRAIN_CALL_LOSS,
	TRAIN_CALL_LAYER,
	TRAIN_CALL_EMBEDDING,
	TRAIN_CALL_EXTRA_AGAIN,
	TRAIN_CALL_UPDATE,
	TRAIN_CALL_FINISH,
	TRAIN_FUNCTIONS
};

/* How the calls of a function were executed. */
struct train_counts {
	const char *name; /* NULL: no such function in this run */
	uint64_t eager, warmups, recordings, replays;
	uint64_t device_calls; /* the most of a replay */
};

/* struct train_result has the results of a run. */
struct train_result {
	const char *name;
	float *losses;     /* steps times TRAIN_SLOTS */
	uint64_t *numbers; /* --naive: fingerprint of each step, or NULL */
	uint64_t loss_checksum, parameter_checksum;
	uint64_t extra_checksum;
	int extra_paired;  /* extra operators: backward drew the same */
	int retained_same; /* a retained backward gave the same twice */
	double from, to;   /* its part of the command's work, for progress */
	double seconds;
	uint64_t steps;              /* that it took: a resumed one fewer */
	uint64_t replays;            /* of graphs with passes in them */
	unsigned graphs;             /* with passes in them */
	size_t passes;               /* of the largest graph */
	size_t nodes_added[2];       /* least and most, of graphs with passes */
	int looped;                  /* ... without those in the loop's body */
	struct train_calls calls[2]; /* least and most, of replays */
	int again;      /* calls are of launches after a graph's first */
	size_t pending; /* most tickets owed at once */
	struct philox_pool_stats pool; /* at its end, with --pool */
	/* Of a run through a runner, whose pool it is that is above. */
	int called;                                  /* it is one */
	struct train_counts counts[TRAIN_FUNCTIONS]; /* of its calls */
	struct train_counts all_counts;              /* their sums */
	char not_replayed[256]; /* why no call was, if none was */
};

/*
 * train_finish_result() fetches losses and checksums at the end of a run, and
 * checks that it owes no backward and that no launch went unannounced.
 */
void train_finish_result(struct train_model *model,
			 struct train_result *result);

/* train_count_pending() returns how many forwards await their backward. */
size_t train_count_pending(struct train_model *model);

/*
 * train_fingerprint() hashes a step's numbers: the places of the first
 * micro-batch's samples, and the elements of its first hidden layer that were
 * dropped.
 */
uint64_t train_fingerprint(struct train_model *model);

/* train_step_loss() returns the mean loss of a step. */
double train_step_loss(const struct train_result *result, uint64_t step);

/* train_hash() is a 64-bit FNV-1a. */
uint64_t train_hash(const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
