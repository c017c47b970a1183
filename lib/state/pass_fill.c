/*
 * lib/state/pass_fill.c - fills by the name of their distribution
 */
#include <philox/fill.h>

static struct philox_fill of(enum philox_dist dist, enum philox_dtype dtype,
			     struct philox_span span, void *out)
{
	return (struct philox_fill){.size = sizeof(struct philox_fill),
				    .dist = dist,
				    .dtype = dtype,
				    .span = span,
				    .out = out};
}

enum philox_status philox_bits(const struct philox_pass *pass, uint32_t op,
			       enum philox_dtype dtype, struct philox_span span,
			       void *out)
{
	struct philox_fill fill = of(PHILOX_BITS, dtype, span, out);

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_uniform(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, double low,
				  double high, void *out)
{
	struct philox_fill fill = of(PHILOX_UNIFORM, dtype, span, out);

	fill.low = low;
	fill.high = high;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_normal(const struct philox_pass *pass, uint32_t op,
				 enum philox_dtype dtype,
				 struct philox_span span, double mean,
				 double std, void *out)
{
	struct philox_fill fill = of(PHILOX_NORMAL, dtype, span, out);

	fill.mean = mean;
	fill.std = std;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_log_normal(const struct philox_pass *pass,
				     uint32_t op, enum philox_dtype dtype,
				     struct philox_span span, double mean,
				     double std, void *out)
{
	struct philox_fill fill = of(PHILOX_LOG_NORMAL, dtype, span, out);

	fill.mean = mean;
	fill.std = std;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_exponential(const struct philox_pass *pass,
				      uint32_t op, enum philox_dtype dtype,
				      struct philox_span span, double rate,
				      void *out)
{
	struct philox_fill fill = of(PHILOX_EXPONENTIAL, dtype, span, out);

	fill.rate = rate;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_gumbel(const struct philox_pass *pass, uint32_t op,
				 enum philox_dtype dtype,
				 struct philox_span span, void *out)
{
	struct philox_fill fill = of(PHILOX_GUMBEL, dtype, span, out);

	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_integers(const struct philox_pass *pass, uint32_t op,
				   enum philox_dtype dtype,
				   struct philox_span span, uint64_t from,
				   uint64_t to, void *out)
{
	struct philox_fill fill = of(PHILOX_INTEGERS, dtype, span, out);

	fill.from = from;
	fill.to = to;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_bernoulli(const struct philox_pass *pass, uint32_t op,
				    enum philox_dtype dtype,
				    struct philox_span span, double p,
				    void *out)
{
	struct philox_fill fill = of(PHILOX_BERNOULLI, dtype, span, out);

	fill.p = p;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_dropout(const struct philox_pass *pass, uint32_t op,
				  enum philox_dtype dtype,
				  struct philox_span span, double p,
				  const void *in, void *out)
{
	struct philox_fill fill = of(PHILOX_DROPOUT, dtype, span, out);

	fill.p = p;
	fill.in = in;
	return philox_pass_fill(pass, op, 0, &fill);
}

enum philox_status philox_stochastic_round(const struct philox_pass *pass,
					   uint32_t op, enum philox_dtype dtype,
					   struct philox_span span,
					   const void *in, void *out)
{
	struct philox_fill fill = of(PHILOX_STOCHASTIC_ROUND, dtype, span, out);

	fill.in = in;
	return philox_pass_fill(pass, op, 0, &fill);
}
