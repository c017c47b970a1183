/*
 * examples/nvrtc.c - a kernel of your own, compiled at run time
 *
 * philox_kernel_source() gives the headers as a string, so no file of philox is
 * needed where the program runs. Compiling needs no GPU; where there is one the
 * kernel is launched, captured, and replayed with fresh numbers.
 *
 *   cc nvrtc.c $(pkg-config --cflags --libs philox) -lnvrtc -lcuda
 */
#include <cuda.h>
#include <nvrtc.h>
#include <string.h>
#include "try.h"

enum { N = 1000 };

/* x[i] += std * a normal number: noise for each element */
static const char kernel[] =
	"#include <philox/kernel.h>\n"
	"extern \"C\" __global__ void add_noise(struct philox_rng rng,\n"
	"                                     float std, unsigned n, float *x)\n"
	"{\n"
	"	struct philox_state state = philox_resolve(rng);\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"\n"
	"	if (i < n)\n"
	"		x[i] = philox_multiply_add(\n"
	"			philox_normal_at(state, i), std, x[i]);\n"
	"}\n";

#define CU(call)                                                            \
	do {                                                                \
		CUresult error_ = (call);                                   \
		if (error_ != CUDA_SUCCESS) {                               \
			fprintf(stderr, "%s:%d: CUDA error %d\n", __FILE__, \
				__LINE__, (int)error_);                     \
			exit(1);                                            \
		}                                                           \
	} while (0)

static void nvrtc(nvrtcResult result, nvrtcProgram program)
{
	static char log[10000];

	if (result == NVRTC_SUCCESS)
		return;
	nvrtcGetProgramLog(program, log);
	fprintf(stderr, "%s\n%s", nvrtcGetErrorString(result), log);
	exit(1);
}

/* The kernel as PTX, which the caller frees. */
static char *compile(size_t *size)
{
	const char *header = philox_kernel_source();
	const char *name = "philox/kernel.h";
	const char *options[] = {"--gpu-architecture=compute_80"};
	nvrtcProgram program;
	char *ptx;

	nvrtc(nvrtcCreateProgram(&program, kernel, "add_noise.cu", 1, &header,
				 &name),
	      NULL);
	nvrtc(nvrtcCompileProgram(program, 1, options), program);
	nvrtc(nvrtcGetPTXSize(program, size), program);
	ptx = malloc(*size);
	if (!ptx)
		exit(1);
	nvrtc(nvrtcGetPTX(program, ptx), program);
	nvrtcDestroyProgram(&program);
	return ptx;
}

static void capture_and_replay(struct philox_device *device, const char *ptx)
{
	const char *op = "noise";
	static float first[N], second[N];
	struct philox_use use = {{0, 0}, 0, 0};
	struct philox_context *context;
	struct philox_region *layer;
	struct philox_ticket placeholder;
	struct philox_graph *graph;
	struct philox_pass pass;
	struct philox_rng rng;
	philox_stream stream;
	CUdevice gpu;
	CUcontext current;
	CUmodule module;
	CUfunction add_noise;
	float std = 0.1f;
	unsigned n = N;
	void *x, *args[] = {&rng, &std, &n, &x};

	CU(cuInit(0));
	CU(cuDeviceGet(&gpu, 0));
	CU(cuDevicePrimaryCtxRetain(&current, gpu)); /* the one philox uses */
	CU(cuCtxSetCurrent(current));
	CU(cuModuleLoadData(&module, ptx));
	CU(cuModuleGetFunction(&add_noise, module, "add_noise"));
	TRY(philox_context_create(device, &context));
	TRY(philox_region_create_named(context, "layer", &op, 1, &layer));
	TRY(philox_stream_create(device, 0, &stream));
	TRY(philox_memory_alloc(device, sizeof(first), &x));

	TRY(philox_capture_begin(context, stream));
	TRY(philox_memory_set(device, x, 0, sizeof(first), stream));
	TRY(philox_forward_begin(layer, stream, 0, &pass));
	TRY(philox_pass_rng(&pass, 0, 0, &rng));
	CU(cuLaunchKernel(add_noise, (N + 255) / 256, 1, 1, 256, 1, 1, 0,
			  (CUstream)stream, args, NULL));
	TRY(philox_forward_commit(&pass, &placeholder));
	TRY(philox_capture_end(context, stream, &graph));

	TRY(philox_graph_launch(graph, stream, &use, 1));
	TRY(philox_memory_copy(device, first, x, sizeof(first), stream));
	TRY(philox_graph_launch(graph, stream, &use, 1));
	TRY(philox_memory_copy(device, second, x, sizeof(second), stream));
	TRY(philox_stream_synchronize(device, stream));
	puts(memcmp(first, second, sizeof(first))
		     ? "two launches, two tensors of fresh noise"
		     : "the same noise twice");

	philox_context_destroy(context);
	TRY(philox_memory_free(device, x));
	TRY(philox_stream_destroy(device, stream));
	CU(cuModuleUnload(module));
	CU(cuDevicePrimaryCtxRelease(gpu));
}

int main(void)
{
	struct philox_device *device;
	size_t size;
	char *ptx = compile(&size);

	printf("compiled: %zu bytes of PTX\n", size);
	if (philox_device_open("cuda", &device) == PHILOX_OK) {
		capture_and_replay(device, ptx);
		TRY(philox_device_close(device));
	} else {
		printf("not launched: %s\n", philox_error_message());
	}
	free(ptx);
	return 0;
}
