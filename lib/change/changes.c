/*
 * lib/change/changes.c - biases and penalties of a sample, checked and converted
 */
#include <inttypes.h>
#include "lib/change/changes.h"
#include "lib/dist/dist.h"
#include "lib/fill/fill.h"

#define BIAS_SIZE_FIRST OPTIONS_FIRST(struct philox_bias_desc, reserved)
OPTIONS_NO_PADDING(struct philox_bias_desc, reserved);
#define PENALTY_SIZE_FIRST OPTIONS_FIRST(struct philox_penalty_desc, reserved)
OPTIONS_NO_PADDING(struct philox_penalty_desc, reserved);

/* --- checks --------------------------------------------------------------- */

static enum philox_status check_bias(const struct philox_bias_desc *bias,
				     uint64_t n)
{
	enum philox_status status;

	if (!bias)
		return PHILOX_OK;
	status = options_check_size("bias", bias, bias->size, BIAS_SIZE_FIRST,
				    sizeof(*bias));
	if (status == PHILOX_OK)
		status = options_check_reserved("bias", bias->reserved);
	if (status == PHILOX_OK && !bias->count)
		status = status_set(PHILOX_ERROR_INVALID, "bias: count is 0");
	if (status == PHILOX_OK && n)
		status = fill_check_array("bias", "ids", bias->ids,
					  PHILOX_DTYPE_I32);
	if (status == PHILOX_OK && n)
		status = fill_check_array("bias", "biases", bias->biases,
					  PHILOX_DTYPE_F32);
	return status;
}

/* A penalty of all entries, or of each. */
static enum philox_status check_penalty(uint64_t n, const char *name,
					double value, double least,
					const char *array_name,
					const float *array)
{
	const double most = 3.4028234663852886e38; /* of f32 */

	if (array)
		return n ? fill_check_array("penalties", array_name, array,
					    PHILOX_DTYPE_F32)
			 : PHILOX_OK;
	if (value >= least && value <= most)
		return PHILOX_OK;
	return status_set(PHILOX_ERROR_INVALID,
			  "penalties: %s is %g, not %sfinite in f32", name,
			  value, least < 0 ? "" : "0 or more and ");
}

static enum philox_status check_values(const struct philox_penalty_desc *p,
				       uint64_t n)
{
	const double least = -3.4028234663852886e38;
	enum philox_status status =
		check_penalty(n, "repetition", p->repetition, 0, "repetitions",
			      p->repetitions);

	if (status == PHILOX_OK)
		status = check_penalty(n, "frequency", p->frequency, least,
				       "frequencies", p->frequencies);
	if (status == PHILOX_OK)
		status = check_penalty(n, "presence", p->presence, least,
				       "presences", p->presences);
	return status;
}

static enum philox_status check_drafts(const struct philox_penalty_desc *p,
				       uint64_t n)
{
	if (!p->drafts && !p->n_drafts)
		return PHILOX_OK;
	if (!p->n_drafts)
		return status_set(PHILOX_ERROR_INVALID,
				  "penalties: n_drafts is 0, but drafts is not "
				  "NULL");
	return n ? fill_check_array("penalties", "drafts", p->drafts,
				    PHILOX_DTYPE_I32)
		 : PHILOX_OK;
}

/* Of a history that is good by itself. */
static enum philox_status check_fits(const struct philox_history *history,
				     const struct philox_sample_desc *sample,
				     uint64_t rows)
{
	if (history->rows < rows)
		return status_set(PHILOX_ERROR_INVALID,
				  "history: rows is %" PRIu32
				  ", fewer than the %" PRIu64 " of the sample",
				  history->rows, rows);
	if (history->vocab < sample->first + sample->vocab)
		return status_set(
			PHILOX_ERROR_INVALID,
			"history: vocab is %" PRIu32
			", below first + vocab of the sample, %" PRIu32,
			history->vocab, sample->first + sample->vocab);
	return PHILOX_OK;
}

static enum philox_status check_penalties(
	const struct philox_sample_desc *sample, uint64_t n, uint64_t rows)
{
	const struct philox_penalty_desc *p = sample->penalties;
	enum philox_status status;

	if (!p)
		return PHILOX_OK;
	status = options_check_size("penalties", p, p->size, PENALTY_SIZE_FIRST,
				    sizeof(*p));
	if (status == PHILOX_OK)
		status = options_check_reserved("penalties", p->reserved);
	if (status == PHILOX_OK)
		status = history_check(p->history, n);
	if (status == PHILOX_OK)
		status = check_fits(p->history, sample, rows);
	if (status == PHILOX_OK)
		status = check_values(p, n);
	return status == PHILOX_OK ? check_drafts(p, n) : status;
}

enum philox_status changes_check(const struct philox_sample_desc *sample,
				 uint64_t n, uint64_t rows)
{
	enum philox_status status = check_bias(sample->bias, n);

	return status == PHILOX_OK ? check_penalties(sample, n, rows) : status;
}

/* --- conversion ----------------------------------------------------------- */

static void set_penalties(struct sample_change *change,
			  const struct philox_penalty_desc *p)
{
	history_set(&change->history, p->history);
	change->repetitions = p->repetitions;
	change->frequencies = p->frequencies;
	change->presences = p->presences;
	change->repetition = p->repetitions ? 0.0f : (float)p->repetition;
	change->frequency = p->frequencies ? 0.0f : (float)p->frequency;
	change->presence = p->presences ? 0.0f : (float)p->presence;
	change->drafts = p->drafts;
	change->n_drafts = p->n_drafts;
}

void changes_set(struct sample_change *change,
		 const struct philox_sample_desc *sample)
{
	if (sample->bias) {
		change->ids = sample->bias->ids;
		change->biases = sample->bias->biases;
		change->n_biases = sample->bias->count;
	}
	if (sample->penalties)
		set_penalties(change, sample->penalties);
}

void changes_add_arrays(struct rows_arrays *arrays,
			const struct sample_change *change, uint64_t n,
			uint64_t rows)
{
	rows_arrays_read(arrays, "bias: ids", change->ids, n * change->n_biases,
			 sizeof(*change->ids));
	rows_arrays_read(arrays, "bias: biases", change->biases,
			 n * change->n_biases, sizeof(*change->biases));
	rows_arrays_read(arrays, "penalties: repetitions", change->repetitions,
			 n, sizeof(*change->repetitions));
	rows_arrays_read(arrays, "penalties: frequencies", change->frequencies,
			 n, sizeof(*change->frequencies));
	rows_arrays_read(arrays, "penalties: presences", change->presences, n,
			 sizeof(*change->presences));
	rows_arrays_read(arrays, "penalties: drafts", change->drafts,
			 n * change->n_drafts, sizeof(*change->drafts));
	history_add_arrays(arrays, &change->history, rows, (int)change->notes);
}
