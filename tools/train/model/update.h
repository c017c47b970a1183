/*
 * tools/train/model/update.h - the update of the weights: AdamW, in f32, or with
 * weights of 16 bits and moments of 8
 *
 * With --weights bf16 there are no weights but these, and all that a step keeps
 * is rounded stochastically, by the exact rule (philox/round.h):
 *
 *   weights          bf16
 *   first moments    E4M3, with an MX scale for each 32 of a set
 *   second moments   E5M2, the same: they are squares, and need its range
 *
 * The state of a set of n parameters lies where the moments of f32 lie: bf16
 * weights, codes and scales of first moments in the memory of the first ones,
 * codes and scales of second moments in that of the second ones. Products are of
 * f32, so `parameters` has what the weights are in f32.
 */
#ifndef TOOLS_TRAIN_MODEL_UPDATE_H
#define TOOLS_TRAIN_MODEL_UPDATE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <philox/kernel.h>

/* --- in f32 --------------------------------------------------------------- */

/* The training's progress: device memory, so that a graph can count. */
struct train_clock {
	uint64_t step;       /* steps done */
	double power[2];     /* beta^(step + 1) */
	float correction[2]; /* 1 / (1 - power), AdamW's */
};

#define TRAIN_BETA1 0.9f
#define TRAIN_BETA2 0.98f

PHILOX_FN struct train_clock train_clock_start(void)
{
	struct train_clock clock = {0, {TRAIN_BETA1, TRAIN_BETA2}, {0, 0}};

	for (int i = 0; i < 2; i++)
		clock.correction[i] = (float)(1 / (1 - clock.power[i]));
	return clock;
}

struct train_rates {
	float rate, decay;
};

/* A weight and its moments. */
struct train_weight {
	float x, m, v;
};

/* AdamW: Loshchilov and Hutter, "Decoupled weight decay regularization" */
PHILOX_FN struct train_weight train_next(struct train_weight w, float g,
					 const struct train_clock *clock,
					 struct train_rates rates)
{
	float m = TRAIN_BETA1 * w.m + (1 - TRAIN_BETA1) * g;
	float v = TRAIN_BETA2 * w.v + (1 - TRAIN_BETA2) * g * g;
	float step = m * clock->correction[0] /
		     (sqrtf(v * clock->correction[1]) + 1e-8f);
	struct train_weight next;

	next.x = w.x - rates.rate * (step + rates.decay * w.x);
	next.m = m;
	next.v = v;
	return next;
}

struct train_adamw {
	float *parameters;
	const float *gradient;
	float *first, *second; /* moments */
	const struct train_clock *clock;
	struct train_rates rates;
	const struct train_rates *rates_at; /* NULL: as above */
};

PHILOX_FN void train_adamw(const struct train_adamw *a, size_t i)
{
	const struct train_rates rates = a->rates_at ? *a->rates_at : a->rates;
	const struct train_weight w = {a->parameters[i], a->first[i],
				       a->second[i]};
	const struct train_weight next =
		train_next(w, a->gradient[i], a->clock, rates);

	a->parameters[i] = next.x;
	a->first[i] = next.m;
	a->second[i] = next.v;
}

/* --- in 16 and 8 bits ------------------------------------------------------ */

#define TRAIN_BLOCK PHILOX_MX_BLOCK

/* What is rounded: the operators of a set's region. */
enum { TRAIN_WEIGHT, TRAIN_FIRST, TRAIN_SECOND, TRAIN_ROUNDINGS };

/* A set's state, in its memory. */
struct train_state {
	uint16_t *weights;
	uint8_t *codes[TRAIN_ROUNDINGS]; /* of moments */
	uint8_t *scales[TRAIN_ROUNDINGS];
};

PHILOX_FN struct train_state train_state_of(float *first, float *second,
					    size_t n)
{
	struct train_state state;

	state.weights = (uint16_t *)first;
	state.codes[TRAIN_WEIGHT] = state.scales[TRAIN_WEIGHT] = 0;
	state.codes[TRAIN_FIRST] = (uint8_t *)(state.weights + n);
	state.scales[TRAIN_FIRST] = state.codes[TRAIN_FIRST] + n;
	state.codes[TRAIN_SECOND] = (uint8_t *)second;
	state.scales[TRAIN_SECOND] = state.codes[TRAIN_SECOND] + n;
	return state;
}

PHILOX_FN struct philox_rounding train_rounding(int what)
{
	struct philox_rounding how;

	how.format = what == TRAIN_WEIGHT  ? PHILOX_FORMAT_BF16
		     : what == TRAIN_FIRST ? PHILOX_FORMAT_E4M3
					   : PHILOX_FORMAT_E5M2;
	how.rule = PHILOX_ROUND_EXACT;
	how.bits = what == TRAIN_WEIGHT ? 16 : 8;
	how.saturate = what != TRAIN_WEIGHT;
	return how;
}

PHILOX_FN float train_moment(const struct train_state *state, int what,
			     size_t i)
{
	const uint8_t scale = state->scales[what][i / TRAIN_BLOCK];

	return philox_format_to_f32(train_rounding(what).format,
				    state->codes[what][i]) *
	       philox_mx_scale_to_f32(scale);
}

/* Rounds n numbers, of which the first is element `first` of a set. */
PHILOX_FN void train_round(struct philox_rng rng, int what, size_t first,
			   size_t n, const float *x, uint32_t *codes)
{
	const struct philox_state state = philox_resolve(rng);
	const struct philox_rounding how = train_rounding(what);
	const uint32_t in_word = 32 / how.bits, in_block = 4 * in_word;
	struct philox_words words = {{0, 0, 0, 0}};

	for (size_t i = 0; i < n; i++) {
		const uint32_t at = (uint32_t)(i % in_block);
		uint32_t field;

		if (!at)
			words = philox_draw4(state, (first + i) / in_block);
		field = words.w[at / in_word] >> at % in_word * how.bits &
			((1u << how.bits) - 1);
		codes[i] = philox_round_of(state, first + i,
					   philox_or_poison(state, x[i]), field,
					   how);
	}
}

/* Stores a block of moments, by the scale that cuts none of them off. */
PHILOX_FN void train_store(const struct train_state *state,
			   struct philox_rng rng, int what, size_t first,
			   size_t n, const float *x)
{
	uint32_t codes[TRAIN_BLOCK], code;
	float scaled[TRAIN_BLOCK], largest = 0;

	for (size_t i = 0; i < n; i++)
		largest = fmaxf(largest, fabsf(x[i]));
	code = philox_mx_scale(train_rounding(what).format, 1, largest);
	state->scales[what][first / TRAIN_BLOCK] = (uint8_t)code;
	for (size_t i = 0; i < n; i++)
		scaled[i] =
			philox_scaled_down(x[i], philox_mx_scale_to_f32(code));
	train_round(rng, what, first, n, scaled, codes);
	for (size_t i = 0; i < n; i++)
		state->codes[what][first + i] = (uint8_t)codes[i];
}

/* The weights begin as what the parameters are in bf16. */
struct train_narrow {
	float *parameters;
	uint16_t *weights;
};

PHILOX_FN void train_narrow(const struct train_narrow *a, size_t i)
{
	const uint16_t weight = philox_f32_to_bf16(a->parameters[i]);

	a->weights[i] = weight;
	a->parameters[i] = philox_bf16_to_f32(weight);
}

/* As train_adamw, of a block of a set. */
struct train_adamw_block {
	struct train_adamw set; /* first, second: memory of its state */
	size_t n;               /* parameters of the set */
	struct philox_rng rngs[TRAIN_ROUNDINGS];
};

PHILOX_FN void train_adamw_block(const struct train_adamw_block *a,
				 size_t block)
{
	const struct train_adamw *set = &a->set;
	const struct train_rates rates =
		set->rates_at ? *set->rates_at : set->rates;
	const struct train_state state =
		train_state_of(set->first, set->second, a->n);
	const size_t first = block * TRAIN_BLOCK, left = a->n - first;
	const size_t n = left < TRAIN_BLOCK ? left : TRAIN_BLOCK;
	float x[TRAIN_BLOCK], m[TRAIN_BLOCK], v[TRAIN_BLOCK];
	uint32_t weights[TRAIN_BLOCK];

	for (size_t i = 0; i < n; i++) {
		const struct train_weight w = {
			philox_bf16_to_f32(state.weights[first + i]),
			train_moment(&state, TRAIN_FIRST, first + i),
			train_moment(&state, TRAIN_SECOND, first + i)};
		const struct train_weight next = train_next(
			w, set->gradient[first + i], set->clock, rates);

		x[i] = next.x;
		m[i] = next.m;
		v[i] = next.v;
	}
	train_round(a->rngs[TRAIN_WEIGHT], TRAIN_WEIGHT, first, n, x, weights);
	for (size_t i = 0; i < n; i++) {
		state.weights[first + i] = (uint16_t)weights[i];
		set->parameters[first + i] =
			philox_bf16_to_f32((uint16_t)weights[i]);
	}
	train_store(&state, a->rngs[TRAIN_FIRST], TRAIN_FIRST, first, n, m);
	train_store(&state, a->rngs[TRAIN_SECOND], TRAIN_SECOND, first, n, v);
}

#endif
