/*
 * tests/probe/memory.c - allocating and mapping memory during a capture
 *
 * philox takes memory for cells while it captures, in relaxed mode. Would
 * mapping memory (cuMemMap() and its like) do that without?
 */
#include "tests/probe/probe.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include "lib/device/cuda/compat.h"

/* --- three ways to get memory --------------------------------------------- */

static cudaError_t take_malloc(void)
{
	void *memory;

	return cudaMalloc(&memory, 1 << 20);
}

static cudaError_t take_host(void)
{
	void *memory;

	return cudaHostAlloc(&memory, 1 << 16, cudaHostAllocMapped);
}

/* The driver's functions that map, as in cuda.h. */
#define MAP_LIST(X)                                                         \
	X(cuMemGetAllocationGranularity,                                    \
	  (size_t *, const CUmemAllocationProp *,                           \
	   CUmemAllocationGranularity_flags))                               \
	X(cuMemAddressReserve,                                              \
	  (CUdeviceptr *, size_t, size_t, CUdeviceptr, unsigned long long)) \
	X(cuMemCreate, (CUmemGenericAllocationHandle *, size_t,             \
			const CUmemAllocationProp *, unsigned long long))   \
	X(cuMemMap, (CUdeviceptr, size_t, size_t,                           \
		     CUmemGenericAllocationHandle, unsigned long long))     \
	X(cuMemSetAccess,                                                   \
	  (CUdeviceptr, size_t, const CUmemAccessDesc *, size_t))

static struct {
#define MAP_MEMBER(name, arguments) CUresult(*name##_) arguments;
	MAP_LIST(MAP_MEMBER)
} driver;

static void find_driver(void)
{
#define MAP_FIND(name, arguments) \
	MUST(compat_driver_function(#name, (void **)&driver.name##_));
	MAP_LIST(MAP_FIND)
}

static CUresult map_at(CUdeviceptr address, size_t size,
		       const CUmemAllocationProp *prop)
{
	const CUmemAccessDesc access = {prop->location,
					CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUresult result = driver.cuMemCreate_(&handle, size, prop, 0);

	if (result == CUDA_SUCCESS)
		result = driver.cuMemMap_(address, size, 0, handle, 0);
	if (result == CUDA_SUCCESS)
		result = driver.cuMemSetAccess_(address, size, &access, 1);
	return result;
}

static cudaError_t take_map(void)
{
	const CUmemAllocationProp prop = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
	};
	CUdeviceptr address;
	size_t size;
	CUresult result = driver.cuMemGetAllocationGranularity_(
		&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);

	if (result == CUDA_SUCCESS)
		result = driver.cuMemAddressReserve_(&address, size, 0, 0, 0);
	if (result == CUDA_SUCCESS)
		result = map_at(address, size, &prop);
	return (cudaError_t)result;
}

static const struct {
	const char *name;
	cudaError_t (*take)(void);
} ways[] = {
	{"cudaMalloc", take_malloc},
	{"cudaHostAlloc", take_host},
	{"cuMemMap", take_map},
};
enum { MAP_WAY = sizeof(ways) / sizeof(ways[0]) - 1 };

/* --- during a capture ----------------------------------------------------- */

/* Which capture there is, and what the thread that allocates does about it. */
enum situation {
	MODE = 3,      /* the capture's mode */
	OTHERS = 4,    /* it is another thread's */
	EXCHANGED = 8, /* the thread is in relaxed mode while it allocates */
	HARMLESS =
		16, /* assumed: it is allowed, and leaves the capture whole */
};

struct taking {
	int way, exchanged;
	cudaError_t error;
};

static void take(void *pointer)
{
	enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	struct taking *taking = pointer;

	MUST(cudaSetDevice(0)); /* a new thread has none */
	if (taking->exchanged)
		MUST(cudaThreadExchangeStreamCaptureMode(&mode));
	taking->error = ways[taking->way].take();
	cudaGetLastError();
	if (taking->exchanged)
		MUST(cudaThreadExchangeStreamCaptureMode(&mode));
}

/* Adds what one way did to the text; 1 if it was allowed and did no harm. */
static int take_during(int situation, int way, char *text, size_t size)
{
	struct taking taking = {way, situation & EXCHANGED, cudaSuccess};
	cudaStream_t stream = probe_stream();
	size_t length = strlen(text);
	const char *after;

	MUST(cudaStreamBeginCapture(
		stream, (enum cudaStreamCaptureMode)(situation & MODE)));
	if (situation & OTHERS)
		probe_beside(take, &taking);
	else
		take(&taking);
	after = probe_capture_end(stream);
	snprintf(text + length, size - length, "%s%s: %s, capture %s",
		 length ? "; " : "", ways[way].name,
		 cudaGetErrorName(taking.error), after);
	return taking.error == cudaSuccess && strcmp(after, "whole") == 0;
}

/* What philox does itself must be as assumed. */
static void ask_allocate(int situation)
{
	char text[512] = "";
	int allowed = 0;

	MUST(cudaFree(NULL));
	for (int way = 0; way < MAP_WAY; way++)
		allowed += take_during(situation, way, text, sizeof(text));
	answer(allowed == (situation & HARMLESS ? MAP_WAY : 0) ? PASS : DIFFERS,
	       "%s", text);
}

static void ask_map(int situation)
{
	char text[512] = "";

	MUST(cudaFree(NULL));
	find_driver();
	take_during(situation, MAP_WAY, text, sizeof(text));
	answer(INFO, "%s", text);
}

#define ALLOWED "cudaMalloc and cudaHostAlloc do no harm"
#define REFUSED "cudaMalloc and cudaHostAlloc are refused"
#define UNKNOWN "nobody knows: nothing rests on it yet"

enum {
	GLOBAL = cudaStreamCaptureModeGlobal,
	LOCAL = cudaStreamCaptureModeThreadLocal,
	RELAXED = cudaStreamCaptureModeRelaxed
};

#define QUESTIONS(name, assumed, situation)                                \
	{"unsafe-calls-" name, assumed, ask_allocate, situation},          \
	{                                                                  \
		"map-memory-in-capture-" name, UNKNOWN, ask_map, situation \
	}

const struct question memory_questions[] = {
	QUESTIONS("own-global", REFUSED, GLOBAL),
	QUESTIONS("own-thread-local", REFUSED, LOCAL),
	QUESTIONS("own-relaxed", ALLOWED, RELAXED | HARMLESS),
	QUESTIONS("relaxed-in-own-global", ALLOWED,
		  GLOBAL | EXCHANGED | HARMLESS),
	QUESTIONS("relaxed-in-own-thread-local", ALLOWED,
		  LOCAL | EXCHANGED | HARMLESS),
	QUESTIONS("other-global", REFUSED, OTHERS | GLOBAL),
	QUESTIONS("other-thread-local", ALLOWED, OTHERS | LOCAL | HARMLESS),
	QUESTIONS("relaxed-in-other-global", ALLOWED,
		  OTHERS | GLOBAL | EXCHANGED | HARMLESS),
	QUESTIONS("relaxed-in-other-thread-local", ALLOWED,
		  OTHERS | LOCAL | EXCHANGED | HARMLESS),
	{NULL, NULL, NULL, 0},
};
