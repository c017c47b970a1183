/*
 * tests/readme/names.h - the names that parts of programs on the pages use
 *
 * tests/scripts/readme.sh compiles such parts with these declarations; nothing
 * is linked.
 */
#ifndef TESTS_README_NAMES_H
#define TESTS_README_NAMES_H

#include <philox.h>

extern struct philox_context *ctx;
extern philox_stream stream, inner;
extern struct philox_pass pass;
extern struct philox_ticket placeholder, ticket[2];
extern size_t bytes, size;

#ifdef PAGE_runners
extern struct philox_region *layer[2];
extern struct philox_graph *graph[2];
#else
extern struct philox_region *layer;
extern struct philox_graph *graph;
#endif

/* README.md; doc/rows.md */
extern struct philox_region *sampler;
extern struct philox_span span;
extern struct philox_graph *forward, *backward;
extern double p, mean, std;
extern float *x, *y, *weights;

/* doc/loops.md */
extern struct philox_conditional loop;
extern const uint32_t *more;

/* doc/rows.md */
extern struct philox_rows *rows;
extern struct philox_sample_desc sample;
extern struct philox_row_list requests, list;
extern uint32_t row, vocab;
extern uint64_t seed;
extern const uint16_t *logits;
extern int32_t *tokens, *top;
extern float *logprobs, *of_top;
extern const uint32_t *grammar, *row_of_entry, *step_of_entry;
extern uint32_t *kept;
extern struct philox_sample_desc target, draft;
extern const int32_t *draft_tokens;
extern struct philox_split_desc split;
extern struct philox_split_info info;
void add_up(uint64_t *numbers, uint64_t n, philox_stream stream);
void take_most(uint64_t *numbers, uint64_t n, philox_stream stream);
extern const float *of_entry;
extern uint32_t n_requests, k, n_rows, *counts, *seen;
extern struct philox_device *device;
extern struct philox_row_list one;
extern struct philox_token_list prompt;

/* doc/kernels.md */
extern struct philox_region *const *layers;
extern struct philox_state *states, *on_device;
extern size_t n_layers, n_states;

/* doc/runners.md */
extern struct philox_pool *pool;
extern struct philox_pool_checkpoint *empty;
extern struct philox_pool_session *session;
extern struct philox_pool_block h[2], loss;
extern struct philox_launch_pass passes[4];
extern uint64_t dead[3];
extern size_t n_dead;
extern void *at_rate;
extern float rate;
extern struct philox_runner_desc runner_options;
extern struct philox_function_desc options;
extern struct philox_runner *runner;
extern struct philox_function *function, *one_layer;
extern struct philox_call call;
extern struct philox_call_input in;
extern struct philox_call_param value;

void forth(philox_stream on, int i, void *from, void *to, size_t n);
void compare(philox_stream on, void *of, void *to, size_t n);
void back(philox_stream on, int i, void *from, void *gradients, const void *by,
	  size_t n);
void drop(const struct philox_pass *of, void *in_place, size_t n);

/* MPI, as far as doc/runners.md needs it */
typedef int MPI_Comm, MPI_Datatype, MPI_Op;
extern MPI_Comm MPI_COMM_WORLD;
extern MPI_Datatype MPI_UINT32_T;
extern MPI_Op MPI_MIN;
int MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type,
		  MPI_Op op, MPI_Comm comm);

#endif
