/*
 * lib/sample/sample.h - samples, checked and converted
 *
 * For calls with a struct philox_sample_desc that draw by other rules, or in
 * other steps.
 */
#ifndef LIB_SAMPLE_SAMPLE_H
#define LIB_SAMPLE_SAMPLE_H

#include "lib/rows/rows.h"

/* sample_check_size() gives ERROR_INVALID for NULL, a size or `reserved`. */
enum philox_status sample_check_size(const struct philox_sample_desc *sample);

/*
 * sample_check_inputs() checks what a sample of n entries reads, from a table of
 * `rows`; ERROR_INVALID or ERROR_OVERFLOW with a text that names the field.
 */
enum philox_status sample_check_inputs(const struct philox_sample_desc *sample,
				       uint64_t n, uint64_t rows);

/* sample_check() checks also what it writes. */
enum philox_status sample_check(const struct philox_sample_desc *sample,
				uint64_t n, uint64_t rows);

/* sample_set_args() converts a sample that is checked; its source is set. */
void sample_set_args(struct sample_args *args,
		     const struct philox_sample_desc *sample);

/* What messages call the arrays that a sample reads. */
struct sample_names {
	const char *logits, *temperatures, *allowed, *top_ks, *top_ps, *min_ps;
};

#define SAMPLE_NAMES(what)                                                \
	{                                                                 \
		what ": logits", what ": temperatures", what ": allowed", \
			what ": top_ks", what ": top_ps", what ": min_ps" \
	}

/* sample_add_inputs() adds those of n entries. */
void sample_add_inputs(struct rows_arrays *arrays,
		       const struct sample_names *names,
		       const struct sample_args *args, enum philox_dtype dtype,
		       uint64_t n);

/* sample_add_arrays() adds all arrays of a sample, and of its source. */
void sample_add_arrays(struct rows_arrays *arrays,
		       const struct sample_args *args, enum philox_dtype dtype);

#endif
