#!/bin/sh
# philox/kernel.h gives the same bits with every compiler and with all options.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

cat >"$WORK/numbers.c" <<'END'
#include <philox/kernel.h>
#include <stdio.h>

static uint64_t hash = 14695981039346656037ULL;

static void add(uint32_t bits)
{
	hash = (hash ^ bits) * 1099511628211ULL;
}

static void add_f32(float x)
{
	add(philox_f32_bits(x));
}

static void add_f64(double x)
{
	add((uint32_t)philox_f64_bits(x));
	add((uint32_t)(philox_f64_bits(x) >> 32));
}

/* Adds to a product, which options would like to fuse. */
static float blend(float x, uint32_t w, float y)
{
	return philox_dropout_f32(x, w, philox_threshold(0.25), 1.1f) + y;
}

static void add_functions_f32(uint32_t w, uint32_t bits)
{
	/* any bits but those of a NaN; powers e^-128 to e^128 */
	float any = philox_f32_from_bits(bits & 0xff7fffffu);
	float power = (float)(int)bits * 5.96046448e-08f;
	float sine, cosine, one_exp = philox_minus_ln1m_f32(w);

	philox_sin_cos(w, &sine, &cosine);
	add_f32(sine);
	add_f32(cosine);
	add_f32(philox_multiply(sine, cosine) + philox_root(one_exp));
	add_f32(philox_ln_f32(one_exp) + one_exp);
	add_f32(philox_minus_2_ln(w) + one_exp);
	add_f32(philox_exp_f32(any));
	add_f32(philox_exp_f32(power));
	add(philox_f32_to_f16(philox_f32_from_bits(bits)));
	add(philox_f32_to_f16(power));
	add_f32(philox_f16_to_f32((uint16_t)bits));
}

static void add_functions_f64(uint64_t a, uint64_t bits)
{
	double any = philox_f64_from_bits(bits & 0xffefffffffffffffu);
	double power = (double)(int64_t)bits * 1.1102230246251565e-16;
	double sine, cosine, one_exp = philox_minus_ln1m_f64(a);

	philox_sin_cos_f64(a, &sine, &cosine);
	add_f64(sine);
	add_f64(cosine);
	add_f64(philox_multiply_f64(sine, cosine) + philox_root_f64(one_exp));
	add_f64(philox_ln_f64(one_exp) + one_exp);
	add_f64(philox_minus_2_ln_f64(a) + one_exp);
	add_f64(philox_exp_f64(any));
	add_f64(philox_exp_f64(power));
}

static void add_draws(struct philox_state state, uint64_t e)
{
	/* nearly a half is drawn again */
	struct philox_interval some =
		philox_interval_u32(0xfffffff0u, 0x7ffffff5u);
	struct philox_interval more =
		philox_interval_u64(7, 0x8000000000000100u);

	add_f32(philox_log_normal_at(state, e, 0.5f, 2.0f));
	add_f32(philox_exponential4(state, e).v[1] +
		philox_gumbel_at(state, e));
	add_f32(philox_bernoulli4(state, e, philox_threshold(0.25)).v[2]);
	add_f64(philox_log_normal_f64_at(state, e, 0.5, 2.0));
	add_f64(philox_exponential2(state, e).v[1] +
		philox_gumbel_f64_at(state, e));
	add(philox_uniform_f16_at(state, e));
	add(philox_round_bf16_at(state, e, philox_normal_at(state, e)));
	add(philox_integer_at(state, e, some));
	add(philox_integers4(state, e, some).w[3]);
	add_f64((double)philox_integers2(state, e, more).w[0]);
	for (uint32_t format = 0; format < 5; format++) {
		const struct philox_rounding how = {
			format, (uint32_t)(e & 1), 8, (uint32_t)(e & 2)};
		/* some are denormal, or become so */
		const float z = philox_normal_at(state, e);
		const float x = philox_multiply(z, 8e-38f);
		const float t = philox_nvfp4_tensor_scale(
			philox_multiply(z < 0 ? -z : z, 3e-34f));

		add(philox_round_at(state, e, z, how));
		add(philox_round_at(state, e, x, how));
		add(philox_nvfp4_scale(x < 0 ? philox_minus(x) : x, t));
		add_f32(philox_scaled_down(x, t));
	}
}

/* Of intervals of each kind, as often made anew; and quotients by one number. */
static void add_truncated(struct philox_state state, uint64_t e)
{
	static const double ends[8][2] = {{-2, 2},     {-1e300, 1e300},
					  {-5, 1e-3},  {0, 1},
					  {38, 1e3},   {-9, -8},
					  {1, 1.0001}, {-1e-9, 1e-9}};
	const double *end = ends[e / 8 % 8];
	const struct philox_truncated d = philox_truncated_of(
		e % 3 * 0.25, 1.5, end[0], end[1]);
	const float x = philox_normal_at(state, e), y = philox_normal_at(state, 3);

	add_f64(d.below.low + d.mass);
	add_f64(philox_truncated_z(&d, philox_word64_at(state, e)) + d.rest);
	add_f32(philox_truncated_at(state, e, &d));
	add(philox_truncated_bf16_at(state, e, &d));
	add(philox_truncated_f16_at(state, e, &d));
	add_f32(philox_quotient(x, y));
	add_f32(philox_quotient(1.0f, y));
	add_f32(philox_quotient(x + 1.0f, y));
}

static void add_pair(uint32_t w0, uint32_t w1)
{
	float x, y;

	philox_normal_pair(w0, w1, &x, &y);
	add_f32(x);
	add_f32(y);
}

static void add_pair_f64(uint64_t w0, uint64_t w1)
{
	double x, y;

	philox_normal_pair_f64(w0, w1, &x, &y);
	add_f64(x);
	add_f64(y);
}

/* Where a radius is 0, or a Gumbel number is: 0 times -1, and -ln(1). */
static void add_zeros(void)
{
	const uint64_t one = 0xa1d2a7274c432000u; /* 2^64 (1 - 1/e) */
	const struct philox_state state = {42, 8};

	for (uint32_t i = 0; i < 128; i++)
		for (uint32_t quarter = 0; quarter < 4; quarter++) {
			add_pair(0xffffff80u + i, quarter << 30 | i << 20);
			add_pair_f64(~(uint64_t)(127 - i),
				     (uint64_t)quarter << 62 |
					     (uint64_t)i << 50);
		}
	for (uint32_t i = 0; i < 1024; i++) {
		add_f32(philox_gumbel_of(state, i,
					 (uint32_t)(one >> 32) - 512 + i));
		/* words that are small, and the first that are not */
		add_f32(philox_exponential_of(state, i, i / 2));
		add_f32(philox_gumbel_of(state, i, i / 2));
		add_f64(philox_gumbel_f64(one + ((uint64_t)i << 11) -
					  ((uint64_t)512 << 11)));
	}
}

int main(void)
{
	struct philox_state state = {philox_op_seed(42, 3, 1), 8};

	for (uint32_t i = 0; i < 200000; i++) {
		struct philox_words words = philox_draw4(state, i);
		const uint32_t *w = words.w;
		/* every other radius is one of the tail */
		uint32_t tail = i % 2 ? w[0] : w[0] >> w[2] % 32;
		uint64_t w64 = (uint64_t)w[1] << 32 | w[0];
		float x, y;

		philox_normal_pair(tail, w[1], &x, &y);
		add_f32(x);
		add_f32(y);
		add(philox_f32_to_bf16(x));
		add_f32(x + philox_uniform_f32(w[3]));
		add(philox_uniform_bf16(w[2]));
		add_f32((float)philox_uniform_f64(w64));
		/* any bits: infinities, NaN, denormals */
		add_f32(philox_dropout_f32(philox_f32_from_bits(w[2]), w[3],
					   philox_threshold(0.25),
					   philox_dropout_scale(0.25)));
		add_f32(blend(x, w[3], y));
		add_functions_f32(tail, w[3]);
		add_functions_f32(~tail, w[1]);
		add_functions_f64(w64 >> 11 >> w[2] % 53, w64);
		add_functions_f64(w64 >> 11, w64 ^ w[3]);
		if (i % 8 == 0)
			add_draws(state, i);
		if (i % 8 == 1)
			add_truncated(state, i);
	}
	add_zeros();
	printf("%016llx\n", (unsigned long long)hash);
	return 0;
}
END
cp "$WORK/numbers.c" "$WORK/numbers.cpp"
cp "$WORK/numbers.c" "$WORK/numbers.cu"

# Linked without the options: -ffast-math would change the processor's mode.
# hash COMPILER SOURCE OPTION...
hash()
{
	compiler=$1
	source=$2
	shift 2
	"$compiler" "$@" -Iinclude -c -o "$WORK/numbers.o" "$WORK/$source" &&
		"$compiler" -o "$WORK/numbers" "$WORK/numbers.o" -lm &&
		"$WORK/numbers"
}

# agrees COMPILER SOURCE OPTION...: the hash is that of the first one
agrees()
{
	got=$(hash "$@") || return 1
	echo "$got, not $reference"
	[ "$got" = "$reference" ]
}

reference=$(hash "$CC" numbers.c -std=c11 -O0)
check "the reference is compiled" test -n "$reference"

native=-march=native
# Once, where $CC is one of the two
compilers='gcc clang'
case $(readlink -f "$(command -v "$CC")") in
*gcc* | *clang*) ;;
*) compilers="$CC gcc clang" ;;
esac
for compiler in $compilers; do
	if ! command -v "$compiler" >"$WORK/which"; then
		skip "$compiler agrees" "not here"
		continue
	fi
	for options in '-O0' '-std=c11 -O2' "-std=gnu11 -O3 $native" \
		"-O3 $native -ffp-contract=fast" '-O2 -mfpmath=sse -mavx' \
		'-O3 -ffast-math' "-O3 -ffast-math $native" \
		'-O2 -funsafe-math-optimizations'; do
		# shellcheck disable=SC2086
		check "$compiler $options agrees" \
			agrees "$compiler" numbers.c $options
	done
done
for compiler in g++ clang++; do
	if ! command -v $compiler >"$WORK/which"; then
		skip "$compiler agrees" "not here"
		continue
	fi
	for standard in c++11 c++17 gnu++20; do
		check "$compiler -std=$standard agrees" agrees $compiler \
			numbers.cpp -std=$standard -O2 -Wall -Wextra -Werror \
			-pedantic
	done
done

# --- other machines, emulated by qemu-user ------------------------------------

# agrees_on MACHINE OPTION...: linked statically, so that no library is needed
agrees_on()
{
	machine=$1
	shift
	"$machine-linux-gnu-gcc" "$@" -Iinclude -c -o "$WORK/numbers.o" \
		"$WORK/numbers.c" &&
		"$machine-linux-gnu-gcc" -static -o "$WORK/numbers" \
			"$WORK/numbers.o" -lm || return 1
	got=$("qemu-$machine" "$WORK/numbers") || return 1
	echo "$got, not $reference"
	[ "$got" = "$reference" ]
}

for machine in aarch64 s390x; do
	if ! command -v "$machine-linux-gnu-gcc" >"$WORK/which" ||
		! command -v "qemu-$machine" >"$WORK/which"; then
		skip "$machine agrees" "no $machine-linux-gnu-gcc, or no qemu-$machine"
		continue
	fi
	for options in '-O0' '-std=c11 -O2' '-O3 -ffp-contract=fast' \
		'-O3 -ffast-math'; do
		# shellcheck disable=SC2086
		check "$machine $options agrees" agrees_on $machine $options
	done
done

# --- philox/kernel.h as a string ----------------------------------------------

# Writes the string to its own folder, without any other header
cat >"$WORK/print.c" <<'END'
#include <philox/interop.h>
#include <stdio.h>
int main(void)
{
	return fputs(philox_kernel_source(), stdout) < 0;
}
END

prints()
{
	mkdir -p "$WORK/string/philox" &&
		"$CC" -Iinclude -o "$WORK/print" "$WORK/print.c" -L"$BUILD" \
			-lphilox -Wl,-rpath,"$(cd "$BUILD" && pwd)" &&
		"$WORK/print" >"$WORK/string/philox/kernel.h"
}

# string_agrees COMPILER SOURCE OPTION...: compiled from the string alone
string_agrees()
{
	compiler=$1
	source=$2
	shift 2
	"$compiler" "$@" -Wall -Wextra -Wpedantic -Werror -I"$WORK/string" \
		-c -o "$WORK/numbers.o" "$WORK/$source" &&
		"$compiler" -o "$WORK/numbers" "$WORK/numbers.o" -lm &&
		[ "$("$WORK/numbers")" = "$reference" ]
}

check "the string is there" prints
check "$CC agrees when it compiles the string" \
	string_agrees "$CC" numbers.c -std=c11 -O2
check "$CXX agrees when it compiles the string" \
	string_agrees "$CXX" numbers.cpp -std=c++11 -O2

# --- the CUDA toolkit ---------------------------------------------------------

nvcc=$CUDA_HOME/bin/nvcc

cat >"$WORK/kernel.cu" <<'END'
#include <philox/kernel.h>
extern "C" __global__ void draw(struct philox_rng rng, float *out)
{
	struct philox_state state = philox_resolve(rng);
	struct philox_words words = philox_draw4(state, threadIdx.x);
	float x, y;

	philox_normal_pair(words.w[0], words.w[1], &x, &y);
	out[2 * threadIdx.x] = x;
	out[2 * threadIdx.x + 1] = philox_dropout_f32(y, words.w[2],
						      philox_threshold(0.5), 2);
	out[threadIdx.x] += philox_normal_at(state, threadIdx.x);
	out[threadIdx.x] += philox_normal4(state, threadIdx.x).v[3];
}
extern "C" __global__ void draws(struct philox_rng rng,
				 struct philox_interval range, float *out,
				 double *wide, uint64_t *whole)
{
	struct philox_state state = philox_resolve(rng);
	uint64_t e = threadIdx.x;

	out[e] = philox_log_normal_at(state, e, 0.5f, 2.0f);
	out[e] += philox_exponential_at(state, e);
	out[e] += philox_gumbel4(state, e).v[2];
	out[e] += philox_bernoulli_at(state, e, 1u << 31);
	wide[e] = philox_log_normal2(state, e, 0.5, 2).v[1];
	wide[e] += philox_exponential_f64_at(state, e);
	wide[e] += philox_gumbel2(state, e).v[0];
	wide[e] += philox_uniform_f64_at(state, e);
	whole[e] = philox_integer64_at(state, e, range);
	whole[e] += philox_integers2(state, e, range).w[1];
	whole[e] += philox_integers4(state, e, range).w[3];
	whole[e] += philox_round_f16_at(state, e, out[e]);
	whole[e] += philox_uniform_bf16_at(state, e);
}
extern "C" __global__ void functions(const uint32_t *w, float *out)
{
	uint32_t i = threadIdx.x;
	float x = philox_ln_f32(philox_minus_ln1m_f32(w[i]));

	x = philox_root(philox_exp_f32(x) - x);
	out[i] = philox_f16_to_f32(philox_f32_to_f16(x));
}
extern "C" __global__ void functions_f64(const uint64_t *a, double *out)
{
	uint32_t i = threadIdx.x;
	double sine, cosine, x = philox_ln_f64(philox_minus_ln1m_f64(a[i]));
	double radius = philox_root_f64(philox_minus_2_ln_f64(a[i]));

	philox_sin_cos_f64(a[i], &sine, &cosine);
	out[i] = philox_multiply_f64(radius, sine) + cosine;
	out[i] += philox_exp_f64(x);
}
END

# Compiles a file at run time, with philox/kernel.h as a string if no option
# says where it is, and with no header of the C library in sight.
cat >"$WORK/nvrtc.c" <<'END'
#include <nvrtc.h>
#include <philox/interop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	if (!file || !text || !fread(text, 1, (1 << 20) - 1, file))
		exit(1);
	fclose(file);
	return text;
}

int main(int argc, char **argv)
{
	const char *options[16] = {"-arch=compute_80"};
	const char *text = philox_kernel_source(), *name = "philox/kernel.h";
	static char log[65536];
	nvrtcProgram program;
	nvrtcResult result;
	int headers = 1;

	for (int i = 2; i < argc; i++) {
		options[i - 1] = argv[i];
		if (strcmp(argv[i], "-Iinclude") == 0)
			headers = 0;
	}
	if (nvrtcCreateProgram(&program, read_all(argv[1]), "kernel.cu",
			       headers, &text, &name))
		return 1;
	result = nvrtcCompileProgram(program, argc - 1, options);
	if (nvrtcGetProgramLog(program, log) == 0)
		puts(log);
	nvrtcDestroyProgram(&program);
	return result != 0 || log[1] != 0;
}
END

nvrtc_builds()
{
	"$CC" -O1 -Iinclude -o "$WORK/nvrtc" "$WORK/nvrtc.c" \
		-I"$CUDA_HOME/include" "$BUILD/libphilox.a" \
		-L"$CUDA_HOME/lib64" -Wl,-rpath,"$CUDA_HOME/lib64" -lnvrtc \
		-lcudart_static -lrt -ldl -lpthread -lm
}

# nvrtc OPTION...
nvrtc()
{
	"$WORK/nvrtc" "$WORK/kernel.cu" "$@"
}

# nvrtc_with TEXT OPTION...: kernel.cu with a text before it
nvrtc_with()
{
	printf '%b\n' "$1" | cat - "$WORK/kernel.cu" >"$WORK/with.cu"
	shift
	"$WORK/nvrtc" "$WORK/with.cu" "$@"
}

own_types='typedef unsigned int uint32_t; typedef unsigned long long uint64_t;'
# As on a system where 64 bits are a long
own_stdint='typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long uint64_t;\n#define UINT64_MAX 0xffffffffffffffffUL'
standard='#include <cuda/std/cstdint>\nusing cuda::std::uint64_t;'
kernel='#include <philox/kernel.h>\n'

# The guards are the same: the string is a header, state.h comes from the file
nvrtc_both()
{
	nvrtc_with '#include <philox/kernel.h>\n#include <philox/state.h>' \
		-I"$WORK/file" &&
		nvrtc_with '#include <philox/state.h>\n#include <philox/kernel.h>' \
			-I"$WORK/file"
}
mkdir -p "$WORK/file/philox"
cp include/philox/*.h "$WORK/file/philox"
rm "$WORK/file/philox/kernel.h"

# Every function of f32 once, without any arithmetic of our own
cat >"$WORK/flush.cu" <<'END'
#include <philox/kernel.h>
#include <philox/rows.h>
#include <philox/subset.h>
extern "C" __global__ void values(const uint32_t *w, const float *x,
				  const double *y, uint64_t t, float *out,
				  uint16_t *narrow)
{
	struct philox_state state = {w[0], w[1]};

	philox_normal_pair(w[2], w[3], &out[0], &out[1]);
	philox_sin_cos(w[4], &out[2], &out[3]);
	out[4] = philox_multiply(x[0], x[1]);
	out[5] = philox_multiply_add(x[2], x[3], x[4]);
	out[6] = philox_scaled(x[5], 0.5f);
	out[7] = philox_subtract(x[6], x[7]);
	out[8] = philox_minus(x[8]);
	out[9] = philox_lesser(x[9], x[10]);
	out[10] = philox_greater(x[11], x[12]);
	out[11] = philox_root(x[13]);
	out[12] = philox_f32_of(y[0]);
	out[13] = philox_f32_from_bits(philox_whole(x[14]));
	out[14] = philox_bf16_to_f32(narrow[0]);
	out[15] = philox_number_from_f16(narrow[1]);
	out[16] = philox_f16_to_f32(narrow[2]);
	narrow[3] = philox_number_to_bf16(x[15]);
	narrow[4] = philox_f32_to_bf16(x[16]);
	narrow[5] = philox_number_to_f16(x[17]);
	narrow[6] = philox_f32_to_f16(x[18]);
	out[17] = philox_ln_f32(x[19]);
	out[18] = philox_ln_core(x[20], x[21]);
	out[19] = philox_minus_2_ln(w[5]);
	out[20] = philox_minus_ln1m_f32(w[6]);
	out[21] = philox_exp_f32(x[22]);
	out[22] = philox_add(x[23], x[24]);
	out[23] = philox_signed(x[25], w[23]);
	out[24] = philox_uniform_f32(w[7]);
	out[25] = philox_uniform_8(w[8]);
	out[26] = philox_uniform_11(w[9]);
	narrow[7] = philox_uniform_bf16(w[10]);
	narrow[8] = philox_uniform_f16(w[11]);
	out[27] = philox_range_f32(x[26], x[27], x[28], x[29], x[30]);
	out[28] = philox_log_normal_f32(x[31], x[32], x[33]);
	out[29] = philox_exponential_of(state, w[12], w[13]);
	out[30] = philox_gumbel_of(state, w[12], w[13]);
	out[31] = philox_drop_f32(x[34], w[14], t);
	out[32] = philox_bernoulli_f32(w[15], t);
	out[33] = philox_dropout_f32(x[35], w[16], t, x[36]);
	out[34] = philox_dropout_scale(y[1]);
	narrow[9] = philox_round_bf16(x[37], w[17]);
	narrow[10] = philox_round_f16(x[38], w[18]);
	out[35] = philox_or_poison(state, x[39]);
	out[36] = philox_hidden_zero();
	out[37] = philox_f32_from_bits(philox_f32_bits(x[40]));
	out[38] = philox_radius(w[19]);
	out[39] = philox_inverse_root(x[41]);
	out[40] = philox_multiply_add_down(x[42], x[43], x[44]);
	out[41] = philox_multiply_add_clipped(x[52], x[53], x[54]);
	out[42] = philox_part(w[20] >> 10, 0.5f);
	out[43] = philox_exponential_small(w[21] & 255, w[22]);
	out[44] = philox_gumbel_of_exponential(x[45]);
	out[45] = philox_f32_from_bits(philox_sample_order(x[46], 0) >> 32);
	out[46] = philox_f32_of(philox_f64_of(x[47]));
	out[47] = philox_weight_ln(x[48]);
	out[48] = philox_f32_from_bits(philox_subset_key(state, 3, x[49]) >> 32);
	out[49] = philox_f32_from_bits(
		philox_subset_key_of(3, x[50], x[51]) >> 32);
}
extern "C" __global__ void draws(struct philox_rng rng, const float *x,
				 uint64_t t, struct philox_f32x4 *four,
				 float *one, uint16_t *narrow)
{
	struct philox_state state = philox_resolve(rng);
	uint64_t e = threadIdx.x;

	four[0] = philox_uniform4(state, e);
	four[1] = philox_normal4(state, e);
	four[2] = philox_log_normal4(state, e, x[0], x[1]);
	four[3] = philox_exponential4(state, e);
	four[4] = philox_gumbel4(state, e);
	four[5] = philox_bernoulli4(state, e, t);
	four[6] = philox_dropout4(state, e, four[7], t, x[2]);
	four[8] = philox_or_poison4(state, four[9]);
	four[10] = philox_exponential4_of(state, e, philox_draw4(state, e));
	four[11] = philox_gumbel4_of(state, e, philox_draw4(state, e));
	one[0] = philox_uniform_at(state, e);
	one[1] = philox_normal_at(state, e);
	one[2] = philox_log_normal_at(state, e, x[3], x[4]);
	one[3] = philox_exponential_at(state, e);
	one[4] = philox_gumbel_at(state, e);
	one[5] = philox_bernoulli_at(state, e, t);
	one[6] = philox_dropout_at(state, e, x[5], t, x[6]);
	narrow[0] = philox_uniform_bf16_at(state, e);
	narrow[1] = philox_uniform_f16_at(state, e);
	narrow[2] = philox_round_bf16_at(state, e, x[7]);
	narrow[3] = philox_round_f16_at(state, e, x[8]);
	one[7] = philox_sign_at(state, e);
}
extern "C" __global__ void roundings(const uint32_t *w, const float *x,
				     float *out, uint32_t *codes)
{
	struct philox_state state = {w[0], w[1]};
	struct philox_rounding how = {w[2], w[3], w[4], w[5]};
	struct philox_place place = philox_place_of(how.format, x[0]);

	codes[0] = place.code + place.rest + place.shift;
	codes[1] = philox_round_nan(how.format, x[1]);
	codes[2] = philox_round_is_beyond(how.format, x[2]);
	codes[3] = philox_round_of(state, w[6], x[3], w[7], how);
	codes[4] = philox_round_at(state, w[8], x[4], how);
	codes[5] = philox_round_nearest(how.format, x[5]);
	codes[6] = philox_nvfp4_scale(x[6], x[7]);
	codes[7] = philox_mx_scale(how.format, w[9], x[8]);
	out[0] = philox_format_to_f32(how.format, w[10]);
	out[1] = philox_quotient(x[9], x[10]);
	out[2] = philox_nvfp4_scale_to_f32(w[11], x[11]);
	out[3] = philox_mx_scale_to_f32(w[12]);
	out[4] = philox_scaled_down(x[12], x[13]);
	out[5] = philox_sign_f32(w[13]);
	out[6] = philox_nvfp4_tensor_scale(x[14]);
}
extern "C" __global__ void twos(struct philox_words words, const uint32_t *w,
				const struct philox_f32x2 *x,
				struct philox_f32x2 *two, uint32_t *sign,
				float *one, uint64_t packed)
{
	two[0] = philox_two(one[0]);
	two[1] = philox_two_add(x[0], x[1]);
	two[2] = philox_two_multiply(x[2], x[3]);
	two[3] = philox_two_fma(x[4], x[5], x[6]);
	two[4] = philox_two_fma_down(x[7], x[8], x[9]);
	two[5] = philox_mend_roots(x[10], x[11]);
	two[6] = philox_radius_square(w[0], w[1]);
	two[7] = philox_radii(w[2], w[3]);
	philox_turns(w + 4, two + 8, sign);
	philox_normal_pairs(words, one + 1);
	two[10] = philox_two_unpack(philox_two_pack(x[12]));
	one[5] = philox_two_first(packed);
	one[6] = philox_two_second(packed);
}
extern "C" __global__ void truncated(struct philox_truncated d,
				     struct philox_state state, float *one)
{
	one[0] = philox_truncated_at(state, threadIdx.x, &d);
	one[1] = philox_truncated_f32(&d, state.seed);
	one[2] = philox_odd_f32(d.low);
}
END
# none_is_left_out: flush.cu has every function that takes or gives an f32
none_is_left_out()
{
	cat include/philox/*.h | tr '\n' ' ' |
		grep -oE 'PHILOX_FN [^({]*\([^)]*\)' |
		grep -E '[^a-z_](float|philox_f32x[24])[^0-9]' |
		sed -E 's/^([^(]*[ *])(philox_[a-z0-9_]*)\(.*/\2/' | sort -u \
		>"$WORK/functions"
	[ "$(wc -l <"$WORK/functions")" -gt 40 ] || return 1
	while read -r function; do
		grep -q "[^a-z_]$function(" "$WORK/flush.cu" ||
			{ echo "$function"; return 1; }
	done <"$WORK/functions"
}

# ptx SOURCE OPTION...: for the GPU of $for_arch
ptx()
{
	source=$1
	shift
	"$nvcc" -Iinclude -ptx -arch="$for_arch" "$@" -o "$WORK/kernel.ptx" \
		"$WORK/$source"
}
for_arch=compute_80

# keeps_denormals: the option flushes what it can (a kernel of our own shows
# it), and nothing of ours but the start of a root, which no denormal is given
keeps_denormals()
{
	echo '__global__ void f(float *x) { x[0] = x[1] + x[2] < x[3]; }' \
		>"$WORK/own.cu"
	ptx own.cu "$1" && grep -q '\.ftz' "$WORK/kernel.ptx" || return 1
	ptx flush.cu "$1" || return 1
	grep -vF 'rsqrt.approx.ftz.f32' "$WORK/kernel.ptx" |
		grep -E '\.ftz|approx|\.full' && return 1
	grep -q 'fma\.rn\.f32' "$WORK/kernel.ptx"
}

# rounds_once_in TYPE POWERS: no instruction of the type is approximate, except
# the one that philox_mend_roots() mends, and no product could be fused, except
# of a power of two
rounds_once_in()
{
	grep -E "\.$1" "$WORK/kernel.ptx" |
		grep -vF 'rsqrt.approx.ftz.f32' >"$WORK/lines"
	cat "$WORK/lines"
	grep -q "fma\.rn\..*$1" "$WORK/lines" &&
		grep -q "mul\.rn\.$1" "$WORK/lines" &&
		grep -q "sqrt\.rn\..*$1" "$WORK/lines" &&
		! grep -qE 'approx|\.full|div|rcp' "$WORK/lines" &&
		! grep -E "mul\.(ftz\.)?$1" "$WORK/lines" | grep -qvE "$2"
}

rounds_once()
{
	ptx kernel.cu --use_fast_math || return 1
	rounds_once_in f32 '^$' &&
		rounds_once_in f64 '0dC000000000000000|0d3CA0000000000000'
}

if [ "$CUDA" = 0 ]; then
	for what in "nvcc agrees on the host" "nvcc --use_fast_math rounds once" \
		"nvcc --use_fast_math keeps denormals" "NVRTC compiles it"; do
		skip "$what" "no CUDA toolkit"
	done
	finish
fi
check "nvcc agrees on the host" agrees "$nvcc" numbers.cu -O2
check "nvcc --use_fast_math rounds once" rounds_once
check "every function of f32 is looked at" none_is_left_out
for option in --use_fast_math -ftz=true; do
	check "nvcc $option keeps denormals" keeps_denormals $option
done
if "$nvcc" --list-gpu-arch | grep -qx compute_100; then
	for_arch=compute_100
	check "nvcc keeps denormals of two numbers at a time" \
		keeps_denormals --use_fast_math
else
	skip "nvcc keeps denormals of two numbers at a time" \
		"no compute_100 in $nvcc"
fi
if [ ! -e "$CUDA_HOME/include/nvrtc.h" ]; then
	skip "NVRTC compiles it" "no nvrtc.h"
	finish
fi
check "a program with NVRTC builds" nvrtc_builds
for where in -Iinclude ""; do
	what=${where:+file}
	what=${what:-string}
	# shellcheck disable=SC2086
	{
		check "NVRTC compiles the $what" nvrtc $where -std=c++17
		check "NVRTC compiles the $what with fast math" \
			nvrtc $where --use_fast_math
		check "NVRTC compiles the $what beside types of your own" \
			nvrtc_with "$own_types" $where
		check "NVRTC compiles the $what beside a <stdint.h>" \
			nvrtc_with "$own_stdint" $where
	}
done
check "NVRTC compiles file and string together" nvrtc_both
cccl=$CUDA_HOME/include/cccl
if [ -e "$cccl/cuda/std/cstdint" ]; then
	for where in -Iinclude ""; do
		# shellcheck disable=SC2086
		{
			check "NVRTC compiles it after <cuda/std/cstdint>" \
				nvrtc_with "$standard" $where -I"$cccl"
			check "NVRTC compiles it before <cuda/std/cstdint>" \
				nvrtc_with "$kernel$standard" $where -I"$cccl"
		}
	done
else
	skip "NVRTC compiles it with <cuda/std/cstdint>" "no such header"
fi
finish
