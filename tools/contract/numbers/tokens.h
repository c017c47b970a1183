/*
 * tools/contract/numbers/tokens.h - logits and lists for checks of tokens
 */
#ifndef TOOLS_CONTRACT_NUMBERS_TOKENS_H
#define TOOLS_CONTRACT_NUMBERS_TOKENS_H

#include "tools/contract/numbers/numbers.h"

enum {
	LOGIT_ROWS = 40,
	LOGITS = 7001, /* not a round number */
	MANY = 130     /* entries with at most a block each */
};

/*
 * tokens_make_logits() makes LOGIT_ROWS rows of random bits with exponents near
 * 0, in 32 or twice 16; some rows are odd. tokens_make_batch() makes a list of
 * MANY entries.
 */
void tokens_make_logits(uint32_t *logits, uint32_t random, uint32_t exponent);
void tokens_make_batch(struct contract *c, struct site *site,
		       struct philox_row_list *list);

/*
 * tokens_make_history() makes one of all rows and `vocab` tokens: SITE_ROWS x
 * vocab counts, and as many bits, in (vocab + 31) / 32 words a row.
 */
void tokens_make_history(struct contract *c, struct site *site, uint32_t vocab,
			 const uint32_t *counts, const uint32_t *seen,
			 struct philox_history *history);

/* tokens_put_logit() puts number i of a dtype's logits. */
void tokens_put_logit(void *to, uint32_t i, enum philox_dtype dtype, float x);

/* tokens_note() reads back the tokens and keys of a sample, and all rows. */
void tokens_note(struct contract *c, struct site *site,
		 const struct philox_sample_desc *sample);

#endif
