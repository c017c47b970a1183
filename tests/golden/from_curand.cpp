/*
 * tests/golden/from_curand.cpp - golden values made with cuRAND
 *
 *   from_curand curand_device >tests/golden/curand_device.txt
 *
 * and so on for curand_host, nvfuser, pytorch, and program, which is a program
 * of PyTorch's ops that follow one another: tests/golden/make.sh. The host
 * generator is cuRAND's own, the others are those of
 * tests/support/oracles/libraries.cpp. A digest is FNV-1a over the bytes of all
 * elements.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>
#include <curand.h>
#include "tests/support/oracles/libraries.h"

static void fail(const char *what)
{
	fprintf(stderr, "from_curand: %s\n", what);
	exit(1);
}

/* --- cases ---------------------------------------------------------------- */

static std::vector<layout_case> cases;

static layout_case &add(const char *layout, const char *dist, const char *dtype)
{
	layout_case c = {};

	strcpy(c.layout, layout);
	strcpy(c.dist, dist);
	strcpy(c.dtype, dtype);
	c.seed = 0x0123456789abcdef;
	c.offset = 4096;
	c.elements = 40003;
	c.high = c.std = c.rate = 1;
	cases.push_back(c);
	return cases.back();
}

/* The largest difference seen, rounded up. */
static const double NEAR_F32 = 3e-6, NEAR_F64 = 8e-15;

/*
 * Rare words, at element 0: a uniform number of 1/2, one of 1 for an angle, and
 * one of 1, found by trying all offsets.
 */
static void add_edges(const char *layout, const char *dist, const char *dtype,
		      double p)
{
	for (uint64_t offset : {119081356, 161398720, 163460676}) {
		auto &c = add(layout, dist, dtype);

		c.sms = strcmp(layout, "pytorch") ? 0 : 2;
		c.threads_per_sm = c.sms ? 1024 : 0;
		c.offset = offset;
		c.p = p;
		c.elements = strcmp(dist, "exponential") ? 4 : 1;
		c.near = strcmp(dist, "normal") ? 0 : NEAR_F32;
	}
}

static void add_curand_device(void)
{
	static const char *const kinds[][2] = {{"bits", "u32"},
					       {"uniform", "f32"},
					       {"uniform", "f64"},
					       {"normal", "f32"},
					       {"normal", "f64"}};
	static const uint32_t threads[] = {0, 1, 1000, 65536};

	for (auto &kind : kinds)
		for (uint32_t t : threads) {
			auto &c = add("curand_device", kind[0], kind[1]);

			c.threads = t;
			c.elements = t == 65536 ? 600001 : 40003;
			if (!strcmp(kind[0], "normal"))
				c.near = !strcmp(kind[1], "f64") ? NEAR_F64
								 : NEAR_F32;
		}
	cases[0].seed = 0;
	cases[0].offset = 0;
	add_edges("curand_device", "uniform", "f32", 0);
	add_edges("curand_device", "normal", "f32", 0);
}

static void add_curand_host(void)
{
	static const char *const kinds[][2] = {{"bits", "u32"},
					       {"uniform", "f32"},
					       {"uniform", "f64"},
					       {"normal", "f32"},
					       {"normal", "f64"}};
	static const uint64_t offsets[] = {0, 4, 262144, 262148, 1000000};

	for (auto &kind : kinds)
		for (uint64_t offset : offsets) {
			auto &c = add("curand_host", kind[0], kind[1]);

			c.offset = offset;
			c.elements = 600000;
			if (!strcmp(kind[0], "normal"))
				c.near = !strcmp(kind[1], "f64") ? NEAR_F64
								 : NEAR_F32;
		}
	cases.back().mean = -2.5;
	cases.back().std = 3;
	cases.back().near *= 3;
}

static layout_case &add_pytorch(const char *dist, const char *dtype)
{
	auto &c = add("pytorch", dist, dtype);

	/* 2048 threads; the last round of the grid is not full */
	c.sms = 2;
	c.threads_per_sm = 1024;
	return c;
}

static const char *const reals[] = {"f32", "f64", "bf16", "f16"};

/* The error allowed in a normal or exponential number of a dtype. */
static double near(const char *dtype, double scale)
{
	if (!strcmp(dtype, "f64"))
		return NEAR_F64 * scale;
	/* or one more unit in the last place: bf16 has 8 bits, f16 11 */
	if (!strcmp(dtype, "bf16"))
		return 0.0625 * scale;
	return (!strcmp(dtype, "f16") ? 0.008 : NEAR_F32) * scale;
}

static void add_pytorch_reals(const char *dtype)
{
	static const double bounds[][2] = {{0, 1}, {-1, 1}, {0.1, 0.7}};

	for (auto &bound : bounds) {
		auto &c = add_pytorch("uniform", dtype);

		c.low = bound[0];
		c.high = bound[1];
	}
	for (double p : {0.0, 0.1, 0.5, 1.0})
		add_pytorch("bernoulli", dtype).p = p;
	add_pytorch("normal", dtype).near = near(dtype, 1);
	auto &normal = add_pytorch("normal", dtype);
	normal.mean = 10;
	normal.std = 0.25;
	normal.near = near(dtype, 1);
	auto &log_normal = add_pytorch("log_normal", dtype);
	log_normal.std = 0.25;
	log_normal.near = near(dtype, 1);
	auto &exponential = add_pytorch("exponential", dtype);
	exponential.rate = 0.5;
	exponential.near = near(dtype, 4);
	/* vectors of every size */
	for (uint64_t n : {40000, 40004, 40002, 40003, 1000, 8, 1})
		for (double p : {0.1, 0.5}) {
			auto &c = add_pytorch("dropout", dtype);

			c.elements = n;
			c.p = p;
		}
	add_pytorch("dropout", dtype).p = 0;
	add_pytorch("dropout", dtype).p = 1;
}

static void add_pytorch_edges(void)
{
	for (const char *dtype : {"f32", "f16"})
		add_edges("pytorch", "uniform", dtype, 0);
	add_edges("pytorch", "normal", "f32", 0);
	for (const char *dtype : {"f32", "f64"})
		for (double p : {0.0, 0.5, 1.0})
			add_edges("pytorch", "dropout", dtype, p);
	for (double p : {0.5, 1.0})
		add_edges("pytorch", "bernoulli", "f32", p);
	/* the last of the three alone: the logarithm of 1 is made up */
	add_edges("pytorch", "exponential", "f32", 0);
	cases.erase(cases.end() - 3, cases.end() - 1);
}

static void add_pytorch_all(void)
{
	static const uint64_t ranges[][2] = {
		{0, 9},
		{5, 5},
		{100, (1 << 28) + 98},
		{100, (1 << 28) + 99},
		{0, UINT32_MAX},
	};

	for (uint64_t n : {1, 255, 256, 257, 40003})
		add_pytorch("bits", "u32").elements = n;
	add_pytorch("bits", "u64");
	for (auto &range : ranges)
		for (const char *dtype : {"u32", "u64"}) {
			auto &c = add_pytorch("integer", dtype);

			c.from = range[0];
			c.to = range[1];
		}
	auto &wide = add_pytorch("integer", "u64");
	wide.from = 7;
	wide.to = (uint64_t)1 << 60;
	for (const char *dtype : reals)
		add_pytorch_reals(dtype);
	/* older versions: no vectors of 8 */
	auto &old = add_pytorch("dropout", "bf16");
	old.vector = 4;
	old.elements = 40000;
	old.p = 0.1;
	/* 1 / (1 - p) in f32 and in f64 differ here */
	add_pytorch("dropout", "f32").p = 0.15;
	add_pytorch_edges();
	/* an H200, and an A100 */
	for (uint32_t sms : {132, 108})
		for (const char *dist : {"uniform", "dropout"}) {
			auto &c = add_pytorch(dist, "f32");

			c.sms = sms;
			c.threads_per_sm = 2048;
			c.elements = 1200000;
			c.p = 0.1;
		}
}

/* Each op begins where the previous one left the generator. */
static void add_program(void)
{
	for (int step = 0; step < 2; step++) {
		add_pytorch("uniform", "f32").elements = 5000;
		add_pytorch("dropout", "f32").p = 0.1;
		auto &half = add_pytorch("dropout", "bf16");
		half.p = 0.25;
		half.elements = 1 << 15;
		add_pytorch("uniform", "f64").low = -1;
		auto &token = add_pytorch("integer", "i64");
		token.to = 50256;
		token.elements = 1024;
		add_pytorch("bernoulli", "f16").p = 0.5;
	}
	for (auto &c : cases) {
		c.seed = 42;
		c.follows = 1;
	}
	cases[0].follows = 0;
	cases[0].offset = 0;
}

static void add_nvfuser_edges(void)
{
	add_edges("nvfuser", "uniform", "f32", 0);
	add_edges("nvfuser", "uniform", "bf16", 0);
	add_edges("nvfuser", "normal", "f32", 0);
	for (double p : {0.0, 0.5})
		add_edges("nvfuser", "dropout", "f32", p);
}

static void add_nvfuser(void)
{
	static const double bounds[][2] = {{0, 1}, {-1, 1}, {0.1, 0.7}};

	for (const char *dtype : reals) {
		for (auto &bound : bounds) {
			auto &c = add("nvfuser", "uniform", dtype);

			c.low = bound[0];
			c.high = bound[1];
		}
		add("nvfuser", "normal", dtype).near = near(dtype, 1);
		auto &c = add("nvfuser", "normal", dtype);
		c.mean = 10;
		c.std = 0.25;
		c.near = near(dtype, 1);
	}
	for (double p : {0.0, 0.1, 0.15, 0.5, 1.0})
		add("nvfuser", "dropout", "f32").p = p;
	add_nvfuser_edges();
}

/* --- the host generator --------------------------------------------------- */

static void generate(curandGenerator_t generator, const layout_case &c,
		     void *out)
{
	curandStatus_t status;
	bool wide = !strcmp(c.dtype, "f64");

	if (!strcmp(c.dist, "bits"))
		status = curandGenerate(generator, (unsigned *)out, c.elements);
	else if (!strcmp(c.dist, "uniform") && wide)
		status = curandGenerateUniformDouble(generator, (double *)out,
						     c.elements);
	else if (!strcmp(c.dist, "uniform"))
		status = curandGenerateUniform(generator, (float *)out,
					       c.elements);
	else if (wide)
		status = curandGenerateNormalDouble(generator, (double *)out,
						    c.elements, c.mean, c.std);
	else
		status = curandGenerateNormal(generator, (float *)out,
					      c.elements, (float)c.mean,
					      (float)c.std);
	if (status)
		fail("the host generator does not generate");
}

static void host_generator(const layout_case &c, void *out, uint64_t *advance)
{
	curandGenerator_t generator;

	if (curandCreateGeneratorHost(&generator,
				      CURAND_RNG_PSEUDO_PHILOX4_32_10) ||
	    curandSetPseudoRandomGeneratorSeed(generator, c.seed) ||
	    curandSetGeneratorOffset(generator, c.offset))
		fail("there is no host generator");
	generate(generator, c, out);
	curandDestroyGenerator(generator);
	*advance = c.elements;
}

/* --- the table ------------------------------------------------------------ */

static size_t size_of(const layout_case &c)
{
	if (strstr(c.dtype, "64"))
		return 8;
	return strstr(c.dtype, "16") ? 2 : 4;
}

/* Around the corners of each layout. */
static std::set<uint64_t> elements_of(const layout_case &c)
{
	uint64_t threads = c.threads ? c.threads : 65536;
	std::set<uint64_t> all;

	if (c.sms)
		threads = (uint64_t)c.sms * (c.threads_per_sm / 256) * 256;
	for (uint64_t corner : {(uint64_t)1, (uint64_t)3, threads, 2 * threads,
				4 * threads, 8 * threads, c.elements})
		for (uint64_t e = corner - 1; e != corner + 1; e++)
			if (e < c.elements)
				all.insert(e);
	return all;
}

static uint64_t digest(const std::vector<unsigned char> &bytes)
{
	uint64_t hash = 14695981039346656037u;

	for (unsigned char byte : bytes)
		hash = (hash ^ byte) * 1099511628211u;
	return hash;
}

static void print_arguments(const layout_case &c)
{
	printf("case layout=%s dist=%s dtype=%s seed=%llu offset=%llu "
	       "elements=%llu",
	       c.layout, c.dist, c.dtype, (unsigned long long)c.seed,
	       (unsigned long long)c.offset, (unsigned long long)c.elements);
	if (c.sms)
		printf(" sms=%u threads_per_sm=%u", c.sms, c.threads_per_sm);
	if (c.threads)
		printf(" threads=%u", c.threads);
	if (c.vector)
		printf(" vector=%u", c.vector);
	if (c.low != 0 || c.high != 1)
		printf(" low=%.17g high=%.17g", c.low, c.high);
	if (c.mean != 0 || c.std != 1)
		printf(" mean=%.17g std=%.17g", c.mean, c.std);
	if (c.p != 0)
		printf(" p=%.17g", c.p);
	if (c.rate != 1)
		printf(" rate=%.17g", c.rate);
	if (!strcmp(c.dist, "integer"))
		printf(" from=%llu to=%llu", (unsigned long long)c.from,
		       (unsigned long long)c.to);
	if (c.near != 0)
		printf(" near=%g", c.near);
	printf("\n");
}

static void print_case(layout_case &c)
{
	std::vector<unsigned char> out(c.elements * size_of(c));
	static uint64_t end;
	uint64_t advance;

	if (c.follows)
		c.offset = end;
	if (!strcmp(c.layout, "curand_host"))
		host_generator(c, out.data(), &advance);
	else if (!oracle_layout(&c, out.data(), &advance))
		fail("an unknown case");
	end = c.offset + advance;
	print_arguments(c);
	printf("advance %llu\n", (unsigned long long)advance);
	if (c.near == 0)
		printf("digest %016llx\n", (unsigned long long)digest(out));
	for (uint64_t element : elements_of(c)) {
		printf("%llu ", (unsigned long long)element);
		for (size_t i = size_of(c); i-- > 0;)
			printf("%02x", out[element * size_of(c) + i]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	std::string layout = argc == 2 ? argv[1] : "";
	int version;

	if (layout == "curand_device")
		add_curand_device();
	else if (layout == "curand_host")
		add_curand_host();
	else if (layout == "pytorch")
		add_pytorch_all();
	else if (layout == "program")
		add_program();
	else if (layout == "nvfuser")
		add_nvfuser();
	else
		fail("name a layout");
	curandGetVersion(&version);
	printf("# %s by tests/golden/from_curand.cpp, with cuRAND %d.\n"
	       "# case: what was drawn; advance: by how much the generator "
	       "moved on;\n"
	       "# digest: FNV-1a of all elements' bytes; then: element, bits of "
	       "its value\n",
	       layout.c_str(), version);
	for (auto &c : cases)
		print_case(c);
	return 0;
}
