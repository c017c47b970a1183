/*
 * tests/interface/names.h - the names that examples in public headers use
 *
 * tests/scripts/interface/headers.sh compiles the examples with these
 * declarations; nothing is linked.
 */
#ifndef TESTS_INTERFACE_NAMES_H
#define TESTS_INTERFACE_NAMES_H

#include <philox.h>
#include <philox/kernel.h>

extern struct philox_context *context;
extern philox_stream stream, inner;
extern struct philox_region *region;
extern struct philox_pass pass;
extern struct philox_ticket ticket;
extern struct philox_rng rng;
extern struct philox_state state;
extern struct philox_span span;
extern double p;
extern size_t bytes;
extern uint64_t e, n;

/* mesh.h */
extern struct philox_mesh mesh;
extern uint64_t batch, sequence, hidden, n_spans;
extern uint32_t data, at, tensor, c;
extern int rank;
extern enum philox_status status, failed;
enum philox_status largest(enum philox_status of_this_rank);
extern void *communicator;
enum philox_status gather(void *user, const void *mine, size_t size, void *all);

/* mixture.h, data.h */
extern const struct philox_mixture_source *from;
extern struct philox_data *train;
extern struct philox_mixture_sample *samples;
extern uint64_t position, first, mine;

/* weights.h */
extern const double *weights;
extern size_t count;
extern uint64_t *sums;

/* graph.h */
extern const uint32_t *more;

/* rows.h */
extern struct philox_rows *rows;
extern struct philox_row_list slots;
extern struct philox_sample_desc sample;
extern float *uniforms;
extern const uint32_t *on_device, *slot_of_entry, *step_of_entry, *kept;
extern uint32_t row, k;

/* penalties.h */
extern struct philox_device *device;
extern struct philox_row_list slot;
extern struct philox_token_list prompt;
extern uint32_t *counts, *seen, vocab;
extern const float *of_entry;

/* quantize.h */
extern const uint16_t *bf16s;
extern uint8_t *halves, *scales;
extern const float *scale;

/* accept.h */
extern struct philox_accept_desc accept;

/* split.h */
extern struct philox_split_desc split;
extern struct philox_split_info info;
extern uint32_t n_entries;
void add_up(uint64_t *numbers, uint64_t n, philox_stream stream);
void take_most(uint64_t *numbers, uint64_t n, philox_stream stream);

/* runner.h */
extern struct philox_runner *runner;
extern struct philox_runner_desc runner_options;
extern struct philox_function *function, *block;
extern struct philox_function_desc options;
extern struct philox_call call;
extern struct philox_call_input inputs[1];
extern struct philox_output output;
extern struct philox_run *run;
extern void *h;

#ifdef HEADER_runner
extern void *x, *y;
#else
extern float *x, *y, *dx, *dy;
#endif

#endif
