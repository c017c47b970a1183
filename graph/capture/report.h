/*
 * graph/capture/report.h - launches made without philox, and captures under way
 *
 * With the context's lock held.
 */
#ifndef GRAPH_CAPTURE_REPORT_H
#define GRAPH_CAPTURE_REPORT_H

#include "graph/capture/capture.h"

/* report_regions() writes the names of a capture's regions, ", " between. */
void report_regions(const struct capture *capture, char *text, size_t size);

/*
 * report_capture() adds a capture's new unannounced launches to a report and
 * posts them to the log.
 */
void report_capture(struct capture *capture, struct philox_report *report);

/*
 * report_quiet() tells why a context with this capture cannot be saved:
 * ERROR_BUSY while it is recorded, ERROR_UNANNOUNCED or ERROR_LIMIT for reports
 * that philox_check() has not told.
 */
enum philox_status report_quiet(const struct capture *capture);

#endif
