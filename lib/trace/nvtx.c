/*
 * lib/trace/nvtx.c - ranges for NVIDIA's profilers
 *
 * A range may end on another thread than it began on, and ranges overlap, so
 * they are of the kind that has an id. It is kept in the lane of the slice. Their
 * names have no numbers, so that a profiler adds up those that are alike; the
 * number of a ticket or launch is the payload.
 */
#include "lib/trace/trace.h"

#ifdef PHILOX_NVTX

#include <pthread.h>
#include <stdio.h>
#include <nvtx3/nvToolsExt.h>

static nvtxDomainHandle_t domain;

static void create_domain(void)
{
	domain = nvtxDomainCreateA("philox");
}

/* Without a tool there is no domain. */
int nvtx_wanted(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, create_domain);
	return domain != NULL;
}

static void begin_range(const struct timeline_item *item)
{
	static const uint32_t colours[] = {0xff2a78d6, 0xffeb6834, 0xff4a3aa7,
					   0xff1baf7a, 0xff888888};
	nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.colorType = NVTX_COLOR_ARGB,
		.color = colours[item->kind],
		.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
		.messageType = NVTX_MESSAGE_TYPE_ASCII};
	char message[1024];
	size_t length = 0;

	if (item->kind <= TIMELINE_BACKWARD) {
		length = written_name(item->lane->row->name, message, 512);
		message[length++] = ' ';
	}
	snprintf(message + length, sizeof(message) - length, "%s%s%s",
		 item->mode == TIMELINE_CAPTURED ? "captured " : "",
		 item->label->name, item->label->note);
	attributes.payload.ullValue = item->label->number;
	attributes.message.ascii = message;
	item->lane->range = nvtxDomainRangeStartEx(domain, &attributes);
}

void nvtx_take(const struct timeline_item *item)
{
	if (item->what == TIMELINE_BEGIN)
		begin_range(item);
	else if (item->what == TIMELINE_END)
		nvtxDomainRangeEnd(domain, item->lane->range);
}

#else

int nvtx_wanted(void)
{
	return 0;
}

void nvtx_take(const struct timeline_item *item)
{
	(void)item;
}

#endif
