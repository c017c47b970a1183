/*
 * tests/device/device_cuda.c - what the CUDA device promises beyond the
 * contract
 *
 * Without a GPU: its absence is reported and harms nothing. With one: its own
 * kernels, against the loops of the host; the contract of every device is
 * tested for both together. tests/stress/device_cuda.c has the errors of CUDA.
 */
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>
#include "lib/device/device.h"
#include "tests/support/support.h"

/* --- without a GPU -------------------------------------------------------- */

Test(device_cuda, the_lack_of_a_gpu_is_reported_with_its_reason)
{
	struct philox_device *device = NULL;
	unsigned count = 77;
	enum philox_status status = philox_device_count("cuda", &count);

	if (status == PHILOX_OK)
		cr_skip_test("this machine has %u CUDA devices", count);
	cr_assert_eq(status, PHILOX_ERROR_NO_DEVICE);
	cr_assert_eq(count, 77, "the output was written");
	cr_assert(strstr(philox_error_message(), "cudaGetDeviceCount: "));
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(philox_device_open(i ? "cuda:0" : "cuda", &device),
			     PHILOX_ERROR_NO_DEVICE);
		cr_assert_null(device);
		cr_assert(strstr(philox_error_message(), "driver") ||
				  strstr(philox_error_message(), "device"),
			  "no reason: %s", philox_error_message());
	}
}

Test(device_cuda, the_lack_of_a_gpu_harms_no_other_device)
{
	struct philox_device *device = NULL;
	void *memory = NULL;
	unsigned count;

	philox_device_count("cuda", &count);
	OK(philox_device_open("host", &device));
	OK(philox_memory_alloc(device, 64, &memory));
	OK(philox_memory_free(device, memory));
	philox_device_close(device);
}

Test(device_cuda, a_number_beyond_the_last_gpu_is_not_a_device)
{
	struct philox_device *device = NULL;

	cr_assert_eq(philox_device_open("cuda:99999", &device),
		     PHILOX_ERROR_NO_DEVICE);
	cr_assert_null(device);
}

/* --- with a GPU ----------------------------------------------------------- */

/*
 * Few large tests: each has its own process and pays for a context.
 */
static struct philox_device *open_gpu(void)
{
	struct philox_device *device;
	unsigned count;

	if (philox_device_count("cuda", &count) != PHILOX_OK)
		cr_skip_test("needs a GPU: %s", philox_error_message());
	OK(philox_device_open("cuda", &device));
	return device;
}

Test(device_cuda, an_open_gpu_describes_itself, .timeout = 120)
{
	struct philox_device *device = open_gpu();
	int current;

	cr_assert(strstr(philox_device_description(device),
			 "compute capability "));
	cr_assert_not(philox_device_is_host(device));
	cr_assert_eq(cudaGetDevice(&current), cudaSuccess);
	cr_assert_eq(current, 0);
	philox_device_close(device);
}

/* A head on the GPU with a full message. */
struct head {
	struct philox_device *device;
	struct head_args *args;
	struct kernel_call call;
	struct head_report *report;
	struct philox_state *cells; /* on the device */
	uint32_t slots, n_cells;
	void *map, *control; /* on the device */
};

static void head_make(struct head *head, struct philox_device *device,
		      uint32_t slots, uint32_t n)
{
	struct head_cell *map = calloc(1, head_map_size(n));
	struct head_control control = {.cells = n};
	void *cells, *device_map, *device_control, *report, *device_report;
	size_t size = head_args_size(slots);

	cr_assert(map);
	OK(philox_memory_alloc(device, n * sizeof(*head->cells), &cells));
	OK(philox_memory_alloc(device, head_map_size(n), &device_map));
	OK(philox_memory_alloc(device, sizeof(control), &device_control));
	OK(device_mapped_alloc(device, sizeof(*head->report), &report,
			       &device_report));
	*head = (struct head){device, calloc(1, size), {0},
			      report, cells,           slots,
			      n,      device_map,      device_control};
	cr_assert(head->args);
	for (uint32_t i = 0; i < n; i++)
		map[i] = (struct head_cell){.cell = head->cells + i,
					    .shift = 4 * (i / 5),
					    .slot = i % slots,
					    .plain = i % 3 == 0,
					    .op = i,
					    .call = i / 7};
	control.report = device_report;
	control.map = device_map;
	OK(philox_memory_copy(device, NULL, device_map, map, head_map_size(n)));
	OK(philox_memory_copy(device, NULL, device_control, &control,
			      sizeof(control)));
	OK(philox_stream_synchronize(device, NULL));
	head->args->control = device_control;
	for (uint32_t i = 0; i < slots; i++)
		head->args->states[i] = (struct philox_state){i * 7919, 4 * i};
	head->call =
		(struct kernel_call){KERNEL_HEAD, head->args, size, n, NULL, 0};
	free(map);
}

static void head_run(struct head *head)
{
	OK(device_launch(head->device, NULL, &head->call));
	OK(philox_stream_synchronize(head->device, NULL));
}

static void head_check(const struct head *head, int poisoned)
{
	size_t size = head->n_cells * sizeof(struct philox_state);
	struct philox_state *cells = malloc(size);

	cr_assert(cells);
	OK(philox_memory_copy(head->device, NULL, cells, head->cells, size));
	OK(philox_stream_synchronize(head->device, NULL));
	for (uint32_t i = 0; i < head->n_cells; i++) {
		struct philox_state state = head->args->states[i % head->slots];

		cr_assert_eq(philox_is_poison(cells[i]), poisoned, "cell %u",
			     i);
		if (poisoned)
			continue;
		if (i % 3)
			state.seed = philox_op_seed(state.seed, i, i / 7);
		cr_assert_eq(cells[i].seed, state.seed, "cell %u", i);
		cr_assert_eq(cells[i].offset, state.offset + 4 * (i / 5),
			     "cell %u", i);
	}
	free(cells);
}

static void head_free(struct head *head)
{
	OK(device_mapped_free(head->device, head->report));
	OK(philox_memory_free(head->device, head->cells));
	OK(philox_memory_free(head->device, head->map));
	OK(philox_memory_free(head->device, head->control));
	free(head->args);
}

/* New messages fill all cells, old ones poison all. */
static void head_lives(struct philox_device *device, uint32_t slots,
		       uint32_t cells)
{
	struct head head;

	head_make(&head, device, slots, cells);
	head.args->sequence = 5;
	head_run(&head);
	head_check(&head, 0);
	cr_assert_eq(head.report->count, 0);
	for (uint64_t repeats = 1; repeats <= 3; repeats++) {
		head.args->sequence = 6 - repeats; /* and older ones */
		head_run(&head);
		head_check(&head, 1);
		cr_assert_eq(head.report->count, repeats);
		cr_assert_eq(head.report->sequence, 5);
	}
	head.args->sequence = 9;
	head_run(&head);
	head_check(&head, 0);
	head.args->sequence = 0;
	head_run(&head);
	head_check(&head, 1);
	cr_assert_eq(head.report->count, 4);
	cr_assert_eq(head.report->sequence, 9);
	head_free(&head);
}

Test(device_cuda, heads_of_every_capacity_fill_or_poison_their_cells,
     .timeout = 120)
{
#define CAPACITY(capacity) capacity,
	static const uint32_t capacities[] = {HEAD_CAPACITY_LIST(CAPACITY)};
#undef CAPACITY
	struct philox_device *device = open_gpu();

	for (size_t i = 0; i < sizeof(capacities) / sizeof(*capacities); i++)
		head_lives(device, capacities[i], capacities[i] + 1500);
	philox_device_close(device);
}

/* One cell to many blocks of cells, also where a part is not full. */
Test(device_cuda, heads_of_every_width_fill_or_poison_their_cells,
     .timeout = 120)
{
	static const uint32_t widths[] = {1,   2,   31,  32,   33,   63,   64,
					  65,  127, 128, 129,  255,  256,  257,
					  511, 512, 513, 4096, 4097, 40000};
	struct philox_device *device = open_gpu();

	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++)
		head_lives(device, 4, widths[i]);
	philox_device_close(device);
}

/* A head whose graph has no cells yet still reports. */
Test(device_cuda, a_head_without_cells_reports_its_launches, .timeout = 120)
{
	struct philox_device *device = open_gpu();
	struct head_control control = {0};
	struct head head;

	head_make(&head, device, 4, 100);
	OK(philox_memory_copy(device, NULL, &control, head.control,
			      sizeof(control)));
	OK(philox_stream_synchronize(device, NULL));
	control.cells = 0;
	OK(philox_memory_copy(device, NULL, head.control, &control,
			      sizeof(control)));
	OK(philox_memory_set(device, NULL, head.cells, 0x22, 16 * 100));
	for (unsigned i = 1; i <= 2; i++) {
		struct philox_state state;

		head_run(&head);
		cr_assert_eq(head.report->count, i);
		OK(philox_memory_copy(device, NULL, &state, head.cells,
				      sizeof(state)));
		OK(philox_device_synchronize(device));
		cr_assert_eq(state.offset, 0x2222222222222222);
	}
	head_free(&head);
	philox_device_close(device);
}

/* --- with a GPU, two launches that overlap -------------------------------- */

enum { DRAWN = 512 };

/* A fill that reads a cell. */
static void draw_from(struct head *head, philox_stream stream, uint32_t *out)
{
	struct fill_args args = {.rng = {.cell = head->cells + 1},
				 .out = out,
				 .count = DRAWN,
				 .rows = 1};
	struct kernel_call call = {KERNEL_bits_u32, &args, sizeof(args),
				   DRAWN / 4,       NULL,  0};

	OK(device_launch(head->device, stream, &call));
}

/* Each block of a draw is that of the state, or poison. */
static unsigned count_poison(struct head *head, const void *out,
			     struct philox_state state)
{
	uint32_t saw[DRAWN];
	unsigned poison = 0;

	OK(philox_memory_copy(head->device, NULL, saw, out, sizeof(saw)));
	OK(philox_stream_synchronize(head->device, NULL));
	for (unsigned i = 0; i < DRAWN; i += 4) {
		struct philox_words words = philox_draw4(state, i / 4);

		if ((saw[i] & saw[i + 1] & saw[i + 2] & saw[i + 3]) ==
		    UINT32_MAX)
			poison += 4;
		else
			cr_assert_eq(memcmp(&saw[i], words.w, 16), 0,
				     "words %u: %08x, not %08x", i, saw[i],
				     words.w[0]);
	}
	return poison;
}

/*
 * An announced head and one without a message, on two streams, with a kernel
 * after each that reads a cell: nothing is drawn but the message's numbers, and
 * every launch without one is counted.
 */
static void overlap_heads(struct philox_device *device, unsigned cells,
			  unsigned rounds)
{
	philox_stream one, two;
	struct head head;
	void *announced, *other;

	head_make(&head, device, 4, cells);
	OK(philox_stream_create(device, 0, &one));
	OK(philox_stream_create(device, 0, &two));
	OK(philox_memory_alloc(device, 4 * DRAWN, &announced));
	OK(philox_memory_alloc(device, 4 * DRAWN, &other));
	for (unsigned i = 1; i <= rounds; i++) {
		struct philox_state state = {head.args->states[1].seed, 4 * i};

		head.args->states[1].offset = state.offset;
		state.seed = philox_op_seed(state.seed, 1, 0);
		head.args->sequence = i % 2 ? i : 0;
		OK(device_launch(device, i % 2 ? one : two, &head.call));
		draw_from(&head, i % 2 ? one : two, i % 2 ? announced : other);
		head.args->sequence = i % 2 ? 0 : i;
		OK(device_launch(device, i % 2 ? two : one, &head.call));
		draw_from(&head, i % 2 ? two : one, i % 2 ? other : announced);
		OK(philox_device_synchronize(device));
		cr_assert_eq(head.report->count, i);
		cr_assert_leq(head.report->sequence, i);
		count_poison(&head, announced, state);
		count_poison(&head, other, state);
	}
	OK(philox_memory_free(device, announced));
	OK(philox_memory_free(device, other));
	OK(philox_stream_destroy(device, one));
	OK(philox_stream_destroy(device, two));
	head_free(&head);
}

/* The wide head is as long at work as the draws, the other in their midst. */
Test(device_cuda, launches_that_overlap_draw_the_message_or_poison,
     .timeout = 120)
{
	struct philox_device *device = open_gpu();

	overlap_heads(device, 1000, 40);
	overlap_heads(device, 2, 1000);
	philox_device_close(device);
}

/* --- with a GPU, in a capture --------------------------------------------- */

Test(device_cuda, a_refused_launch_leaves_the_capture_whole, .timeout = 120)
{
	struct philox_device *device = open_gpu();
	struct fill_args args = {.count = 64, .rows = 1};
	struct kernel_call call = {
		KERNEL_bits_u32, &args, sizeof(args), 16, NULL, 0};
	struct capture_info info;
	philox_stream stream;
	philox_native_graph empty, graph;
	philox_native_exec nothing, exec;
	device_node node;
	size_t nodes;

	OK(philox_memory_alloc(device, 256, &args.out));
	OK(philox_stream_create(device, 0, &stream));
	OK(philox_stream_begin_capture(device, stream, PHILOX_CAPTURE_GLOBAL));
	OK(philox_stream_end_capture(device, stream, &empty));
	OK(philox_native_graph_instantiate(device, empty, &nothing));

	OK(philox_stream_begin_capture(device, stream, PHILOX_CAPTURE_GLOBAL));
	cr_assert_eq(philox_native_exec_launch(device, stream, nothing),
		     PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	OK(device_capture_info(device, stream, &info));
	OK(device_graph_add_kernel(device, info.graph, NULL, 0, &call, &node));
	/* twice: the second time it is a dependency already */
	OK(device_capture_depend(device, stream, node));
	OK(device_capture_depend(device, stream, node));
	OK(device_launch(device, stream, &call));
	OK(philox_stream_end_capture(device, stream, &graph));
	OK(philox_native_graph_node_count(device, graph, &nodes));
	cr_assert_eq(nodes, 2);
	OK(philox_native_graph_instantiate(device, graph, &exec));
	OK(device_exec_set_kernel(device, exec, node, &call));
	OK(philox_native_exec_launch(device, stream, exec));
	OK(philox_stream_synchronize(device, stream));
	cr_assert_eq(cudaGetLastError(), cudaSuccess, "an error was left");

	OK(philox_native_exec_destroy(device, exec));
	OK(philox_native_exec_destroy(device, nothing));
	OK(philox_native_graph_destroy(device, graph));
	OK(philox_native_graph_destroy(device, empty));
	OK(philox_stream_destroy(device, stream));
	OK(philox_memory_free(device, args.out));
	philox_device_close(device);
}
