/*
 * tests/nvtx/tool.c - a profiler of a few lines, for
 * tests/scripts/devices/nvtx.sh
 *
 * A library that NVTX loads if NVTX_INJECTION64_PATH names it. It writes what
 * it is told into the file that NVTX_TOOL_LOG names: "create DOMAIN",
 * "start ID PAYLOAD MESSAGE" and "end ID".
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nvtx3/nvToolsExt.h>

static FILE *log_file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ranges;
static char ours; /* the address is the domain's handle */

static nvtxDomainHandle_t NVTX_API create(const char *name)
{
	fprintf(log_file, "create %s\n", name);
	return (nvtxDomainHandle_t)(void *)&ours;
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t domain,
				    const nvtxEventAttributes_t *attributes)
{
	uint64_t id;

	pthread_mutex_lock(&lock);
	id = ++ranges;
	if ((void *)domain != (void *)&ours ||
	    attributes->messageType != NVTX_MESSAGE_TYPE_ASCII ||
	    attributes->payloadType != NVTX_PAYLOAD_TYPE_UNSIGNED_INT64)
		fprintf(log_file, "wrong ");
	fprintf(log_file, "start %" PRIu64 " %" PRIu64 " %s\n", id,
		(uint64_t)attributes->payload.ullValue,
		attributes->message.ascii);
	pthread_mutex_unlock(&lock);
	return id;
}

static void NVTX_API end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	pthread_mutex_lock(&lock);
	fprintf(log_file, "%send %" PRIu64 "\n",
		(void *)domain == (void *)&ours ? "" : "wrong ", (uint64_t)id);
	pthread_mutex_unlock(&lock);
}

/* NVTX calls it by its name. */
int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);

int NVTX_API InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get)
{
	const NvtxExportTableCallbacks *callbacks = get(NVTX_ETID_CALLBACKS);
	const char *path = getenv("NVTX_TOOL_LOG");
	NvtxFunctionTable table;
	unsigned size;

	if (!callbacks || !path ||
	    !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table,
					       &size) ||
	    size <= NVTX_CBID_CORE2_DomainCreateA)
		return 0;
	log_file = fopen(path, "a");
	if (!log_file)
		return 0;
	setvbuf(log_file, NULL, _IOLBF, 0);
	*table[NVTX_CBID_CORE2_DomainCreateA] = (NvtxFunctionPointer)create;
	*table[NVTX_CBID_CORE2_DomainRangeStartEx] = (NvtxFunctionPointer)start;
	*table[NVTX_CBID_CORE2_DomainRangeEnd] = (NvtxFunctionPointer)end;
	return 1;
}
