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
#include "lib/device/call.h"
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

/*
 * A head on the GPU with a full message and more cells than threads.
 */
struct head {
	struct philox_device *device;
	struct head_args *args;
	struct kernel_call call;
	struct head_report *report;
	struct philox_state *cells; /* on the device */
	uint32_t slots, n_cells;
};

static void head_make(struct head *head, struct philox_device *device,
		      uint32_t slots)
{
	uint32_t n = slots + 1500;
	struct head_cell *map = calloc(n, sizeof(*map));
	struct head_control control = {.cells = n};
	void *cells, *device_map, *device_control, *report, *device_report;
	size_t size = head_args_size(slots);

	cr_assert(map);
	OK(philox_memory_alloc(device, n * sizeof(*head->cells), &cells));
	OK(philox_memory_alloc(device, n * sizeof(*map), &device_map));
	OK(philox_memory_alloc(device, sizeof(control), &device_control));
	OK(device_mapped_alloc(device, sizeof(*head->report), &report,
			       &device_report));
	*head = (struct head){device, calloc(1, size), {0}, report,
			      cells,  slots,           n};
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
	OK(philox_memory_copy(device, device_map, map, n * sizeof(*map), NULL));
	OK(philox_memory_copy(device, device_control, &control, sizeof(control),
			      NULL));
	OK(philox_stream_synchronize(device, NULL));
	head->args->control = device_control;
	for (uint32_t i = 0; i < slots; i++)
		head->args->states[i] = (struct philox_state){i * 7919, 4 * i};
	head->call =
		(struct kernel_call){KERNEL_HEAD, head->args, size, n, NULL};
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
	OK(philox_memory_copy(head->device, cells, head->cells, size, NULL));
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

Test(device_cuda, heads_of_every_capacity_fill_or_poison_their_cells,
     .timeout = 120)
{
#define CAPACITY(capacity) capacity,
	static const uint32_t capacities[] = {HEAD_CAPACITY_LIST(CAPACITY)};
#undef CAPACITY
	struct philox_device *device = open_gpu();
	struct head head;

	for (size_t i = 0; i < sizeof(capacities) / sizeof(*capacities); i++) {
		head_make(&head, device, capacities[i]);
		head.args->sequence = 5;
		head_run(&head);
		head_check(&head, 0);
		cr_assert_eq(head.report->count, 0);
		for (uint64_t repeats = 1; repeats <= 2; repeats++) {
			head_run(&head);
			head_check(&head, 1);
			cr_assert_eq(head.report->count, repeats);
			cr_assert_eq(head.report->sequence, 5);
		}
		head.args->sequence = 9;
		head_run(&head);
		head_check(&head, 0);
		cr_assert_eq(head.report->count, 2);
		OK(device_mapped_free(device, head.report));
		free(head.args);
	}
	philox_device_close(device);
}

/* --- with a GPU, in a capture --------------------------------------------- */

Test(device_cuda, a_refused_launch_leaves_the_capture_whole, .timeout = 120)
{
	struct philox_device *device = open_gpu();
	struct fill_args args = {.count = 64, .rows = 1};
	struct kernel_call call = {KERNEL_bits_u32, &args, sizeof(args), 16,
				   NULL};
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
	OK(philox_native_instantiate(device, empty, &nothing));

	OK(philox_stream_begin_capture(device, stream, PHILOX_CAPTURE_GLOBAL));
	cr_assert_eq(philox_native_launch(device, nothing, stream),
		     PHILOX_ERROR_CAPTURE_UNSUPPORTED);
	OK(device_capture_info(device, stream, &info));
	OK(device_graph_add_kernel(device, info.graph, NULL, 0, &call, &node));
	/* twice: the second time it is a dependency already */
	OK(device_capture_depend(device, stream, node));
	OK(device_capture_depend(device, stream, node));
	OK(device_launch(device, stream, &call));
	OK(philox_stream_end_capture(device, stream, &graph));
	OK(philox_native_graph_nodes(device, graph, &nodes));
	cr_assert_eq(nodes, 2);
	OK(philox_native_instantiate(device, graph, &exec));
	OK(device_exec_set_kernel(device, exec, node, &call));
	OK(philox_native_launch(device, exec, stream));
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
