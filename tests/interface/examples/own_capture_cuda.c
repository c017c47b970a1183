/*
 * examples/own_capture_cuda.c - a capture of your own with CUDA's calls, adopted
 *
 * See own_capture.c. Handles of philox on a cuda device are CUDA's own, so both
 * kinds of calls can be mixed. Builds with CUDA 12 and 13, whose query of a
 * capture has other arguments.
 */
#include <cuda_runtime_api.h>
#include <string.h>
#include "try.h"

enum { N = 1000, HALF = N / 2 };

#define CUDA(call)                                                         \
	do {                                                               \
		cudaError_t error_ = (call);                               \
		if (error_ != cudaSuccess) {                               \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, \
				cudaGetErrorString(error_));               \
			exit(1);                                           \
		}                                                          \
	} while (0)

static uint64_t capture_id(cudaStream_t stream)
{
	enum cudaStreamCaptureStatus status;
	unsigned long long id;

#if CUDART_VERSION >= 13000
	CUDA(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL,
				      NULL));
#else
	CUDA(cudaStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL,
					 NULL));
#endif
	return id;
}

int main(void)
{
	const char *op = "noise";
	static float first[N], second[N];
	struct philox_use use = {{0, 0}, 0, 0};
	struct philox_device *device;
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_graph *graph;
	struct philox_ticket placeholder;
	struct philox_pass pass, branch;
	cudaGraph_t native;
	cudaGraphExec_t exec;
	cudaEvent_t fork, join;
	cudaStream_t main_stream, side;
	uint64_t id;
	float *out;

	if (philox_device_open("cuda", &device) != PHILOX_OK) {
		puts(philox_error_message());
		return 77; /* there is no GPU: nothing was tried */
	}
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	CUDA(cudaStreamCreateWithFlags(&main_stream, cudaStreamNonBlocking));
	CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	CUDA(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	CUDA(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	CUDA(cudaMalloc((void **)&out, sizeof(first)));

	CUDA(cudaStreamBeginCapture(main_stream,
				    cudaStreamCaptureModeThreadLocal));
	id = capture_id(main_stream);
	TRY(philox_forward_begin(layer, main_stream, 0, &pass));
	CUDA(cudaEventRecord(fork, main_stream));
	CUDA(cudaStreamWaitEvent(side, fork, 0));
	TRY(philox_pass_on(&pass, side, &branch)); /* the same numbers there */
	TRY(philox_normal(&pass, 0, PHILOX_F32, philox_elements(0, HALF), 0, 1,
			  out));
	TRY(philox_normal(&branch, 0, PHILOX_F32, philox_elements(HALF, HALF),
			  0, 1, out + HALF));
	CUDA(cudaEventRecord(join, side));
	CUDA(cudaStreamWaitEvent(main_stream, join, 0));
	TRY(philox_forward_commit(&pass, &placeholder));
	CUDA(cudaStreamEndCapture(main_stream, &native));
	CUDA(cudaGraphInstantiateWithFlags(&exec, native, 0));
	TRY(philox_graph_adopt(context, id, native, exec, &graph));

	TRY(philox_graph_launch(graph, main_stream, &use, 1));
	CUDA(cudaMemcpyAsync(first, out, sizeof(first), cudaMemcpyDefault,
			     main_stream));
	TRY(philox_graph_launch(graph, main_stream, &use, 1));
	CUDA(cudaMemcpyAsync(second, out, sizeof(second), cudaMemcpyDefault,
			     main_stream));
	CUDA(cudaStreamSynchronize(main_stream));
	if (!memcmp(first, second, sizeof(first)))
		return 1;
	puts("two launches, two tensors of fresh numbers");

	TRY(philox_graph_destroy(graph)); /* ends the adoption */
	CUDA(cudaGraphExecDestroy(exec));
	CUDA(cudaGraphDestroy(native));
	philox_context_destroy(context);
	CUDA(cudaFree(out));
	CUDA(cudaEventDestroy(join));
	CUDA(cudaEventDestroy(fork));
	CUDA(cudaStreamDestroy(side));
	CUDA(cudaStreamDestroy(main_stream));
	TRY(philox_device_close(device));
	return 0;
}
