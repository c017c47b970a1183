/*
 * tools/inspect/pictures.h - pictures of a journal
 */
#ifndef TOOLS_INSPECT_PICTURES_H
#define TOOLS_INSPECT_PICTURES_H

#include <stdio.h>
#include "tools/common/written.h"

/*
 * trace_journal() writes a trace for ui.perfetto.dev and chrome://tracing to
 * the file `to`, which must not be `from`, the journal's. svg_journal() draws
 * the events from place `first` to place `last`, 0 for the end, on `out`; if
 * that is too long for one picture it is cut and a sentence says so.
 * Both return the exit status after saying what is wrong.
 */
int trace_journal(const struct written *journal, const char *from,
		  const char *to);
int svg_journal(const struct written *journal, const char *from, uint64_t first,
		uint64_t last, FILE *out);

#endif
