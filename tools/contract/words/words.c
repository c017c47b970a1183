/*
 * tools/contract/words/words.c - checks that functions of one word have the
 * known values
 *
 * The values of some words, or of all with --all-words, have known sums. These
 * were made on a CPU, from values that were equal to those of doc/law.md. On a
 * GPU a kernel makes the values and adds them up. If a sum is not the known one,
 * the first word is found whose value is not that of the CPU.
 */
#include <inttypes.h>
#include <stdio.h>
#include "tools/contract/contract.h"
#include "tools/contract/words/words.h"

/* The small words, and others far apart. */
static const struct word_range some[] = {
	{0, 1024, 1}, {0, 1 << 18, 0x9e3779b1}, {0, 0, 0}};
static const struct word_range all[] = {{0, UINT64_C(1) << 32, 1}, {0, 0, 0}};

/* Words of one kernel: some GPUs end a kernel that takes seconds. */
enum { PIECE = 1 << 28 };

/* --- one function --------------------------------------------------------- */

enum function {
#define WORD_NUMBER(name, type, value) WORD_##name,
	WORD_FUNCTIONS(WORD_NUMBER)
};

struct word_function {
	const char *name;
	uint64_t (*sum)(struct word_range range);
	uint64_t some, all; /* the known sums */
};

#define WORD_SUM(name, type, value)                                  \
	static uint64_t sum_##name(struct word_range range)          \
	{                                                            \
		uint64_t sum = 0;                                    \
                                                                     \
		for (uint64_t i = range.begin; i < range.end; i++) { \
			const uint32_t w = (uint32_t)i * range.step; \
                                                                     \
			sum += word_mix(w, WORD_BITS_##type(value)); \
		}                                                    \
		return sum;                                          \
	}
WORD_FUNCTIONS(WORD_SUM)

#define WORD_KNOWN(name, some, all) \
	[WORD_##name] = {#name, sum_##name, UINT64_C(some), UINT64_C(all)}

static const struct word_function functions[] = {
	WORD_KNOWN(uniform_f32, 0x2b78685cdf318004, 0xe465f639fcf7f537),
	WORD_KNOWN(uniform_bf16, 0x619094995ce18200, 0x134f9350ff7b7b07),
	WORD_KNOWN(uniform_f16, 0x951d24c3215e170d, 0xc2f9856af9a890aa),
	WORD_KNOWN(radius, 0x4b710cdc55dbc2e3, 0xa814c0b099a84454),
	WORD_KNOWN(sine, 0xe9f80763f9f5811c, 0x9d8446faf90e38a9),
	WORD_KNOWN(cosine, 0xa5872c21d275a8e9, 0xf29d9e4df0bff517),
	WORD_KNOWN(normals, 0x42ed278ba241327c, 0xfe1cf3ad88200b18),
	WORD_KNOWN(exponential, 0xabd6087fbb7b5e4e, 0xa3716bdb3094c9d5),
	WORD_KNOWN(gumbel, 0xb8c3cbb6e00066b0, 0x66351b7322c088e5),
	WORD_KNOWN(refined, 0x61a7f8a53a0f7a5a, 0x7b3b11e17b2da1fe),
	WORD_KNOWN(bernoulli, 0x5686af023b8e526b, 0xbeb88d75351c2f9b),
	WORD_KNOWN(dropout, 0xa19b4222d9d70897, 0x813fd4e88acdd498),
	WORD_KNOWN(round_bf16, 0xd355086fb42acbc2, 0xc303dffa83bc5ce0),
	WORD_KNOWN(round_f16, 0x789f4bd1e2e34af1, 0x3ce198c5957247c0),
	WORD_KNOWN(to_bf16, 0x27e11ee733e929a2, 0xc07110f30a1eb678),
	WORD_KNOWN(to_f16, 0xe77c7e9824ed11e4, 0xeb3cd5c59b660eee),
	WORD_KNOWN(exp, 0xe07931b38fa442b2, 0x6fb7bf22ac290bad),
	WORD_KNOWN(ln, 0xc57cfbcb9d45cdcc, 0xef628ec988b36527),
	WORD_KNOWN(weight_ln, 0x3dedfc80d0358d77, 0x98bfffa21b907c5b),
};

/* --- sums on the device --------------------------------------------------- */

struct adding {
	const struct word_function *function;
	philox_stream stream;
	void *sum;
	uint64_t words; /* that were added up */
};

#ifdef PHILOX_WITH_CUDA
static void put_sums(struct contract *c, const struct adding *a,
		     struct word_range range)
{
	const unsigned number = (unsigned)(a->function - functions);
	const uint64_t end = range.end;

	for (; range.begin < end; range.begin = range.end) {
		const uint64_t left = end - range.begin;
		const char *wrong;

		range.end = range.begin + (left < PIECE ? left : PIECE);
		wrong = word_cuda_sum(c->device, a->stream, number, range,
				      a->sum);
		EXPECT_TEXT(!wrong, "%s: a kernel is not launched: %s",
			    a->function->name, wrong);
	}
}
#endif

/* Of the device's values. */
static void add_up(struct contract *c, const struct adding *a,
		   struct word_range range, uint64_t *sum)
{
#ifdef PHILOX_WITH_CUDA
	if (!philox_device_is_host(c->device)) {
		EXPECT_OK(contract_set(c, a->sum, 0, sizeof(*sum), a->stream));
		EXPECT_PART(put_sums(c, a, range));
		EXPECT_OK(
			contract_read(c, a->stream, a->sum, sum, sizeof(*sum)));
		return;
	}
#endif
	(void)c;
	*sum = a->function->sum(range);
}

static void add_up_all(struct contract *c, struct adding *a,
		       const struct word_range *ranges, uint64_t *sum)
{
	uint64_t part = 0;

	for (*sum = 0; ranges->step; ranges++) {
		EXPECT_PART(add_up(c, a, *ranges, &part));
		*sum += part;
		a->words += ranges->end - ranges->begin;
	}
}

/* --- the first word that is wrong ----------------------------------------- */

/* Whether the device's sum is that of this CPU. */
static void compare(struct contract *c, const struct adding *a,
		    struct word_range range, int *same)
{
	uint64_t sum = 0;

	EXPECT_PART(add_up(c, a, range, &sum));
	*same = sum == a->function->sum(range);
}

/* Half of a range that differs differs, the first one if it does. */
static void find_word(struct contract *c, const struct adding *a,
		      struct word_range range)
{
	int same = 0;

	while (range.end - range.begin > 1) {
		struct word_range half = range;

		half.end = range.begin + (range.end - range.begin) / 2;
		EXPECT_PART(compare(c, a, half, &same));
		if (same)
			range.begin = half.end;
		else
			range.end = half.end;
	}
	EXPECT_TEXT(0, "%s of word %#" PRIx32 " is not as on this CPU",
		    a->function->name, (uint32_t)range.begin * range.step);
}

static void find_wrong(struct contract *c, const struct adding *a,
		       const struct word_range *ranges)
{
	int same = 0;

	for (; ranges->step; ranges++) {
		EXPECT_PART(compare(c, a, *ranges, &same));
		if (!same)
			EXPECT_PART(find_word(c, a, *ranges));
	}
}

/* --- the checks ----------------------------------------------------------- */

static void check_function(struct contract *c, enum function number)
{
	const struct word_function *function = &functions[number];
	const struct word_range *ranges = c->all_words ? all : some;
	struct adding adding = {.function = function};
	uint64_t known = c->all_words ? function->all : function->some;
	uint64_t sum = 0;

	EXPECT_OK(contract_stream(c, 0, &adding.stream));
	EXPECT_OK(contract_memory(c, sizeof(sum), &adding.sum));
	EXPECT_PART(add_up_all(c, &adding, ranges, &sum));
	if (sum != known && !philox_device_is_host(c->device))
		EXPECT_PART(find_wrong(c, &adding, ranges));
	EXPECT_TEXT(sum == known,
		    "%s: the sum is %016" PRIx64 ", not %016" PRIx64,
		    function->name, sum, known);
	snprintf(c->done, sizeof(c->done), "%" PRIu64 " of them", adding.words);
}

#define WORD_CHECK(name, type, value)                \
	static void check_##name(struct contract *c) \
	{                                            \
		check_function(c, WORD_##name);      \
	}
WORD_FUNCTIONS(WORD_CHECK)

const struct contract_check contract_words[] = {
#define WORD_ROW(function, type, value)                    \
	{.name = "makes the known " #function " of words", \
	 .run = check_##function},
	WORD_FUNCTIONS(WORD_ROW){.name = NULL}};
