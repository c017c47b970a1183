/*
 * examples/ranks/report.h - what rank 0 prints, and collects for it
 */
#ifndef RANKS_REPORT_H
#define RANKS_REPORT_H

#include "schedule.h"

/* All ranks call these together. */
void report_begin(const struct model *model);
void report_loss(const struct schedule *schedule, uint64_t step);
void report_noise(const struct model *model, const float noise[NOISE]);
void report_graphs(const struct model *model);
void report_parameters(struct model *model);

#endif
