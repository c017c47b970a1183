/*
 * philox/mesh.h - ranks: many processes, one random program
 *
 * A rank is a place in a mesh of named axes: data, tensor, sequence, pipeline,
 * expert, or whatever a program calls them. A context that has a mesh knows its
 * place in it:
 *
 *   struct philox_mesh mesh = PHILOX_INIT(struct philox_mesh);
 *
 *   mesh.n_axes = 2;
 *   mesh.axes[0] = (struct philox_axis){.name = "data", .n_ranks = 4};
 *   mesh.axes[1] = (struct philox_axis){.name = "tensor", .n_ranks = 2};
 *   philox_mesh_from_environment(&mesh);      of mpirun or torchrun
 *   philox_context_set_mesh(context, &mesh);
 *
 * Numbers depend on who draws them only where a region asks for it. A region is
 * shared along every axis unless it says that it differs along it:
 *
 *  - Shared: all ranks have the numbers of one tensor. Each draws the span of
 *    its shard (philox_shard_spans()): a data rank the rows of its samples, a
 *    tensor rank its columns or heads. Ranks that hold copies draw the same
 *    numbers. So N ranks train to the bits of one process.
 *  - Different: each coordinate has numbers of its own, for noise that a rank
 *    makes for itself. Names and coordinates of those axes are folded into the
 *    region's seed, axis by axis in the order of the bytes of their names:
 *
 *      seed = fold(generator seed, PHILOX_FOLD_REGION, FNV-1a(region))
 *      for each axis along which the region differs:
 *              seed = philox_axis_seed(seed, FNV-1a(axis), coordinate)
 *
 *    where coordinate 0 folds nothing.
 *
 * So without a mesh, on rank 0, and along axes of one rank all numbers are
 * those of a single process. No number depends on the size of a mesh, on the
 * order of its axes or on the number of ranks. Neither time nor memory to set a
 * rank up grow with the world. In captured graphs nothing is added.
 *
 * Two keys (seeds of operators, philox/region.h) that ought to differ are equal
 * by chance only. Take each step of a derivation for a random function of 64
 * bits to 64 bits, and n keys of operators in m regions that differ along a
 * axes, of one generator. Two of these keys are equal with a probability of at
 * most
 *
 *   (n (n - 1) + (a + 1) m (m - 1)) / 2^65
 *
 * with each coordinate's region and key counted as one of its own. 16,384 ranks
 * that all make noise in 96 regions of 20 operators: below 3 in 10^5.
 *
 * Tables of rows (philox/rows.h) are shared along all axes: row r of a table
 * has the same numbers on every rank, as tensor ranks that sample one token
 * need. Ranks that serve requests of their own use different rows of one table,
 * or tables of different names.
 *
 * philox speaks to no network: MPI, NCCL or sockets do. Where ranks have to be
 * compared (philox_context_agree()) it takes a callback. A context with a mesh
 * is saved by all ranks as a set of texts (philox_context_save_rank()), which
 * another mesh can load.
 */
#ifndef PHILOX_MESH_H
#define PHILOX_MESH_H

#include <stddef.h>
#include <stdint.h>
#include <philox/context.h>
#include <philox/status.h>
#include <philox/fill.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PHILOX_MESH_AXES = 8 };

enum philox_axis_flags {
	/* Each coordinate has regions of its own: the stages of a pipeline, the
	 * places of experts. Ranks that differ along such an axis need not have
	 * the same regions to agree (philox_context_agree()), only the same
	 * generators; numbers do not depend on this. */
	PHILOX_AXIS_STAGES = 1
};

/* One axis of a mesh, and where on it this rank is. */
struct philox_axis {
	const char *name;    /* not empty, unlike those of the other axes */
	uint32_t n_ranks;    /* along it, at least 1 */
	uint32_t coordinate; /* of this rank, below n_ranks */
	uint32_t flags;      /* enum philox_axis_flags */
	uint32_t reserved;   /* 0 */
};

/*
 * A mesh as one of its ranks sees it. Begin with PHILOX_INIT(). The axes' names
 * are the caller's. An axis that is not there counts as one of a single rank,
 * and no axes as the mesh of a single process.
 */
struct philox_mesh {
	size_t size;       /* sizeof(this struct) */
	uint32_t n_axes;   /* 0 .. PHILOX_MESH_AXES */
	uint32_t reserved; /* 0 */
	struct philox_axis axes[PHILOX_MESH_AXES];
};

/*
 * Check a mesh.
 *
 *   mesh  the mesh
 *
 * A mesh has at most 8 axes, each with a name that no other axis has, at least
 * one rank along it and a coordinate below their number. The world, the product
 * of these numbers, has at most 2^32 ranks.
 *
 * Returns PHILOX_OK, or an error.
 * Errors:
 *   PHILOX_ERROR_INVALID  it breaks one of these rules; the message names the
 *                         axis
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_check(const struct philox_mesh *mesh);

/*
 * Write how many ranks a mesh has: the product of those along its axes.
 *
 *   mesh   the mesh
 *   world  written
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  the mesh is NULL, or what philox_mesh_check() refuses
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_world_size(
	const struct philox_mesh *mesh, uint64_t *world);

/*
 * Write which rank of its mesh this one is, counted from 0.
 *
 *   mesh  the mesh
 *   rank  written
 *
 * The last axis varies fastest: rank = (... (c0 s1 + c1) s2 + c2 ...), with
 * coordinates c and numbers of ranks s along the axes.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  the mesh is NULL, or what philox_mesh_check() refuses
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_rank(const struct philox_mesh *mesh,
					       uint64_t *rank);

/*
 * Set the coordinates of a mesh, whatever they were, to those of a rank.
 *
 *   mesh   the mesh; all but its coordinates stays
 *   rank   below world; philox_mesh_rank() has the formula
 *   world  the mesh's number of ranks
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  what philox_mesh_check() refuses; world is not the
 *                         product of the ranks along the axes; rank is not
 *                         below it
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_set_rank(struct philox_mesh *mesh,
						   uint64_t rank,
						   uint64_t world);

/*
 * Set the coordinates of a mesh to those of the rank that a launcher has
 * started.
 *
 *   mesh  the mesh; all but its coordinates stays
 *
 * Rank and world are the first of these pairs of which a variable is set:
 *
 *     RANK                  WORLD_SIZE            torchrun
 *     OMPI_COMM_WORLD_RANK  OMPI_COMM_WORLD_SIZE  Open MPI's mpirun
 *     PMI_RANK              PMI_SIZE              MPICH's, Intel's
 *     SLURM_PROCID          SLURM_STEP_NUM_TASKS  srun
 *
 * Without any of them it is rank 0 of 1. SLURM_PROCID alone counts as not set:
 * the script of a batch job has it, too, which is one process.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  as philox_mesh_set_rank(); a variable is not a
 *                         decimal number below 2^64, or its pair is not set,
 *                         even if a later pair is; the message names the
 *                         variable
 * During capture: legal.
 * Threads: any, while no other thread changes the environment.
 */
PHILOX_API enum philox_status philox_mesh_from_environment(
	struct philox_mesh *mesh);

/*
 * Give a context its place in a mesh.
 *
 *   context  the context, before its first pass, since passes draw the numbers
 *            of a place
 *   mesh     copied, names included
 *
 * Another mesh may replace it until the first pass of a region begins. A pass
 * counts whether it is eager, captured or reserved (philox_context_reserve()),
 * and however it ends; one that fails to begin does not. Regions may be there
 * already: those that differ get the numbers of the place, as if they were
 * made afterwards. A text that was loaded is of a place, and counts as a pass,
 * with regions or without. Generators and tables of rows may be used before,
 * since no place changes them.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_INVALID  what philox_mesh_check() refuses; a region differs
 *                         along an axis that the mesh lacks, unless the mesh
 *                         has no axes; the message names the region
 *   PHILOX_ERROR_STATE    a pass has begun, even if its region was destroyed
 *                         since; the message names the region. Or a text was
 *                         loaded
 *   PHILOX_ERROR_BUSY     philox_context_agree() is under way
 *   PHILOX_ERROR_MEMORY
 * During capture: legal, until a pass of the context is in the capture.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_context_set_mesh(
	struct philox_context *context, const struct philox_mesh *mesh);

/*
 * Write the mesh of a context, with no axes if it has none.
 *
 *   context  the context
 *   mesh     written; the names belong to the context and live until another
 *            mesh is set
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL, or the `size` of *mesh is wrong
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_context_get_mesh(
	struct philox_context *context, struct philox_mesh *mesh);

/* --- parts of tensors ----------------------------------------------------- */

/*
 * The numbers of a region that is shared along the axes of a mesh belong to the
 * elements of whole tensors. A rank that holds a part of one
 * draws the spans (philox/fill.h) of that part. Here a part is described as
 * frameworks do it: the tensor's dimensions, and for each the way in which it
 * is cut:
 *
 *   [batch, sequence, hidden]: samples over data, columns over tensor ranks
 *
 *   struct philox_shard_desc shard = PHILOX_INIT(struct philox_shard_desc);
 *
 *   shard.n_dims = 3;
 *   shard.dims[0].extent = batch;
 *   shard.dims[0].cut = PHILOX_CUT_BLOCK;
 *   shard.dims[0].parts = data;
 *   shard.dims[0].part = at;
 *   shard.dims[1].extent = sequence;
 *   shard.dims[2].extent = hidden;
 *   shard.dims[2].cut = PHILOX_CUT_BLOCK;
 *   shard.dims[2].parts = tensor;
 *   shard.dims[2].part = c;
 *   philox_shard_spans(&shard, 0, 1, &span, &n_spans);
 *
 * Dimensions are in the order of the whole tensor's memory, the slowest first:
 * element (i0, i1, i2 ...) is element ((i0 n1 + i1) n2 + i2) ... of it. Whether
 * a dimension is batch, heads or sequence does not matter, and any number of
 * them may be cut.
 *
 * Part c of p parts of a dimension of n indices has, by kind of cut:
 *
 *   WHOLE    all n
 *   BLOCK    first + 0 .. count - 1, count = n / p, and one more for the n % p
 *            first parts: first = c (n / p) + min(c, n % p)
 *   CEIL     first = min(c k, n), up to min((c + 1) k, n) - 1, k = ceil(n / p):
 *            as torch.chunk() and DTensor cut
 *   BOUNDS   bounds[c] .. bounds[c + 1] - 1, given by the caller
 *   STRIDED  blocks of b indices dealt out in turn, b = `block` (0 means 1):
 *            those i with (i / b) % p = c
 *   ZIGZAG   of 2 p chunks, cut as BLOCK cuts 2 p parts, the chunks c and
 *            2 p - 1 - c, in this order: causal ring attention, as Megatron-LM
 *            and ring-flash-attention cut sequences that 2 p divides
 *
 * The parts of a cut hold each index exactly once, and each part has its
 * indices in rising order. A part may be empty. A dimension that two axes cut
 * into blocks, one within the other, is cut by BOUNDS. If the product of their
 * numbers of ranks divides it, also by BLOCK into that many parts.
 */

enum { PHILOX_SHARD_DIMS = 8 };

enum philox_shard_cut {
	PHILOX_CUT_WHOLE = 0,
	PHILOX_CUT_BLOCK = 1,
	PHILOX_CUT_CEIL = 2,
	PHILOX_CUT_BOUNDS = 3,
	PHILOX_CUT_STRIDED = 4,
	PHILOX_CUT_ZIGZAG = 5
};

/* One dimension of a tensor, and how it is cut. */
struct philox_shard_dim {
	uint64_t extent;   /* indices, of the whole tensor; may be 0 */
	uint32_t cut;      /* enum philox_shard_cut; WHOLE ignores the rest */
	uint32_t parts;    /* at least 1: ranks along an axis */
	uint32_t part;     /* below parts: the coordinate along it */
	uint32_t reserved; /* 0 */
	uint64_t block;    /* STRIDED: indices in a row; 0 means 1 */
	const uint64_t *bounds; /* BOUNDS: parts + 1 of them, not falling, from
				   0 to extent; read during the call only */
};

/* A tensor, and the part of it that a rank holds. Begin with PHILOX_INIT(). */
struct philox_shard_desc {
	size_t size;       /* sizeof(this struct) */
	uint32_t n_dims;   /* 1 .. PHILOX_SHARD_DIMS */
	uint32_t reserved; /* 0 */
	struct philox_shard_dim dims[PHILOX_SHARD_DIMS]; /* the first n_dims */
};

/*
 * Write the spans of a shard.
 *
 *   shard     the shard
 *   from      number of the first span to write; may be past the last one
 *   capacity  how many spans fit into spans[]
 *   spans     written, in the order of the shard's own array; may be NULL if
 *             capacity is 0
 *   n_spans   written: how many spans the shard has in all; 0 for an empty one
 *
 * The shard's own array is contiguous, in the order of the dimensions, each
 * with the indices of its part. The spans follow one another in it, so that
 * span k begins where the spans before it end:
 *
 *   offset 0; for each span: fill out + offset with it;
 *   offset += span.rows * span.count
 *
 * A span has one index of a dimension, or several of the part that follow each
 * other, with all that the part has of the dimensions after it. There are as
 * few of such spans as possible. For each index that the part has of the
 * dimensions before the last cut one there is at most one span, or two if this
 * one has a shorter block or chunk at its end. There is a single span if no
 * other dimension is cut, and this one by BLOCK, CEIL or BOUNDS, or by STRIDED
 * with an extent that parts x block divides. Spans that begin and end anywhere
 * would be fewer only for two kinds of parts: those that have blocks or chunks
 * of two lengths, and those that have the first and the last index of a
 * dimension but not all of them.
 *
 * Any span takes the same time to find, so they may be asked for one by one.
 * Only the bounds of BOUNDS are all checked in each call. The call needs no
 * memory.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID   the message names dimension and field
 *   PHILOX_ERROR_OVERFLOW  the tensor has more than 2^64 - 1 elements
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_shard_spans(
	const struct philox_shard_desc *shard, uint64_t from, size_t capacity,
	struct philox_span *spans, uint64_t *n_spans);

/*
 * Write how many indices of a dimension the part has.
 *
 *   shard   the shard
 *   dim     the dimension, below shard->n_dims
 *   extent  written
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  in any dimension; the message names dimension and
 *                         field
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_shard_extent(
	const struct philox_shard_desc *shard, uint32_t dim, uint64_t *extent);

/*
 * Write which index of the whole tensor an index of the part is.
 *
 *   shard  the shard
 *   dim    the dimension, below shard->n_dims
 *   i      index in the part, below philox_shard_extent()
 *   index  written
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  in any dimension; the message names dimension and
 *                         field
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_shard_index(
	const struct philox_shard_desc *shard, uint32_t dim, uint64_t i,
	uint64_t *index);

/* --- agreement of ranks --------------------------------------------------- */

/*
 * A rank that is one call ahead, that was seeded otherwise or that lacks a
 * region draws wrong numbers without any error. So ranks compare themselves
 * from time to time:
 *
 *   if (step % 100 == 0)
 *           status = philox_context_agree(context, gather, communicator);
 *
 * What ought to agree (Note [Agreement] in lib/ranks/ranks.h): two ranks whose
 * coordinates differ along one axis only must have
 *
 *  - the same generators: how many, which of them differ between ranks
 *    (PHILOX_GENERATOR_DIFFERS, philox/context.h), and seeds and offsets of the
 *    others,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same regions, with the same
 *    operators, generator, flags and axes along which they differ, and of each
 *    region that is shared along the axis the state and serial of its next
 *    forward, and its tickets with their states and open passes,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same tables of rows, with the
 *    same size and generator. The states of rows, which only the device knows,
 *    are not compared,
 *  - unless the axis has PHILOX_AXIS_STAGES: the same data (philox/data.h),
 *    with the same generator, order and position.
 *
 * What must agree between any two ranks follows, axis by axis. Destroyed
 * regions, the order in which things were made, how many tickets a region has
 * room for, saved contexts, graphs, pools and devices need not agree.
 *
 * Compare ranks at the same place of their programs, while no other thread
 * begins or ends passes, or launches. Nothing is written into journals or
 * traces.
 */

/*
 * What a rank shows to the others: along[i] is for axis i of the context's
 * mesh. Two ranks that differ along this axis only have the same along[i] if
 * and only if what must agree between them does, except by chance, one in 2^64.
 * It has no padding: its bytes may be compared and sent. Begin with
 * PHILOX_INIT().
 */
struct philox_rank_digest {
	uint64_t size; /* sizeof(this struct) */
	uint64_t rank; /* of the context's mesh */
	uint64_t mesh; /* of the axes' names, numbers of ranks and flags: equal
			  on all ranks */
	uint64_t along[PHILOX_MESH_AXES]; /* 0 for axes that are not there */
};

/*
 * Write the digest of a context as it is.
 *
 *   context  the context
 *   digest   written; do not compare digests of different versions of the
 *            library
 *
 * It costs time in proportion to the context's regions, operators and tickets
 * (`philox bench --only ranks` measures it), allocates no memory and does not
 * wait for the device.
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID  an argument is NULL, or the `size` of *digest is
 *                         wrong
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_context_rank_digest(
	struct philox_context *context, struct philox_rank_digest *digest);

/*
 * Compare the digests of all ranks of a world.
 *
 *   mesh       that of one of the ranks, any of them
 *   digests    in any order
 *   n_digests  the number of ranks of the mesh
 *
 * Returns PHILOX_OK if they agree, PHILOX_ERROR_MISMATCH if not, or an error.
 * Errors:
 *   PHILOX_ERROR_MISMATCH  they differ; the message names the axis and the
 *                          first ranks that differ along it, or the first rank
 *                          of another mesh
 *   PHILOX_ERROR_INVALID   n_digests is not the number of ranks; a rank comes
 *                          twice, or is not below that number
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_compare(
	const struct philox_mesh *mesh,
	const struct philox_rank_digest *digests, size_t n_digests);

/*
 * Write what ought to agree between ranks as a text.
 *
 *   context  the context; passes may be open
 *   text     written: lines in the manner of saved contexts (Note [Text of a
 *            rank] in lib/ranks/ranks.h), ending with a NUL; the caller frees
 *            it with free()
 *   bytes    written: the text's size without the NUL; may be NULL
 *
 * Returns PHILOX_OK, or an error; then nothing is written.
 * Errors:
 *   PHILOX_ERROR_INVALID
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_context_rank_describe(
	struct philox_context *context, char **text, size_t *bytes);

/*
 * Say in words what differs first between ranks.
 *
 *   texts    of philox_context_rank_describe(), of ranks of one mesh, in any
 *            order
 *   bytes    their sizes, without NULs
 *   n_texts  a few ranks of a world are enough: those that are there are
 *            compared
 *
 * Returns PHILOX_OK if nothing differs, PHILOX_ERROR_MISMATCH if something
 * does, or an error.
 * Errors:
 *   PHILOX_ERROR_MISMATCH     the message names the axes, the generator,
 *                             region, operator, ticket or table, two values,
 *                             and the ranks that have each; or the texts,
 *                             counted from 0, if their meshes differ
 *   PHILOX_ERROR_INVALID      a text is NULL, damaged, or of a rank that came
 *                             before; the message names it
 *   PHILOX_ERROR_UNSUPPORTED  a text is of a newer version; the message names
 *                             it
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_explain(const char *const *texts,
						  const size_t *bytes,
						  size_t n_texts);

/*
 * Compare the contexts of all ranks of a mesh; all ranks get the same answer.
 *
 *   context  the context; every rank of its mesh makes this call
 *   gather   an allgather among exactly these ranks, see below
 *   user     the first argument of gather
 *
 * `gather` is an allgather among as many ranks as philox_mesh_world_size()
 * says:
 *
 *   enum philox_status gather(void *user, const void *mine, size_t bytes,
 *                             void *all);
 *
 * Each rank gives `bytes` bytes at `mine`, as many on all ranks. On all of them
 * all bytes arrive at `all`, those of one rank after those of another, in the
 * same order every time. It returns PHILOX_OK, or an error that
 * philox_context_agree() returns, and whose name is in the message: of a
 * transport that failed PHILOX_ERROR_DEVICE. PHILOX_ERROR_MISMATCH would say
 * that the ranks differ.
 *
 * All ranks call it equally often, whatever they lack: once, with sizeof(struct
 * philox_rank_digest), if they agree, and at most eight times otherwise. Sums
 * of parts lead them to one thing that differs, and only the texts of that are
 * sent. A rank that has no memory for its text tells the others; then all
 * return PHILOX_ERROR_MISMATCH and name axis and ranks. They do so, too, if a
 * rank announces a text of more than 16 MiB, or of more than its part of 1 GiB,
 * which all ranks share: no memory is taken for such a one.
 *
 * Without a mesh, or in a world of one rank, `gather` is not called. It has to
 * fail on all ranks or on none: a rank on which it fails does not call it
 * again, and others might wait for it. The same is true of a rank of a world of
 * more than 128 that has no memory for their digests, and of wrong arguments.
 * No lock is held in `gather`, which may use the context, but not give it
 * another mesh.
 *
 * Returns PHILOX_OK if all agree, PHILOX_ERROR_MISMATCH if not, or an error.
 * Errors:
 *   PHILOX_ERROR_MISMATCH  as philox_mesh_explain(), with its message
 *   PHILOX_ERROR_INVALID   two ranks have the same coordinates: on all ranks
 *   PHILOX_ERROR_MEMORY
 *   PHILOX_ERROR_DEVICE    `gather` says that its transport failed; any other
 *                          error that it returns is returned as well
 * During capture: legal if `gather` is.
 * Threads: any, at any time; `gather` is called on this thread.
 */
PHILOX_API enum philox_status philox_context_agree(
	struct philox_context *context,
	enum philox_status (*gather)(void *, const void *, size_t, void *),
	void *user);

/* --- saving and loading all ranks ----------------------------------------- */

/*
 * The ranks of a mesh save a text each, and one of them then writes a manifest
 * that names the set:
 *
 *   status = philox_context_save_rank(context, "run/step-1000");
 *   failed = largest(status);      of all ranks, by an allreduce of your own
 *   if (!failed && rank == 0)
 *           status = philox_mesh_seal(&mesh, "run/step-1000");
 *   failed = largest(status);      now every rank knows
 *   ... later, on this mesh or on another one ...
 *   philox_context_load_ranks(context, "run/step-1000");       every rank
 *
 * The texts are PATH.0, PATH.1 and so on, by rank; the manifest is PATH itself.
 * It is written last and says of every text how it ends. So a set that was not
 * written to its end is refused, and so is a text that was replaced afterwards.
 *
 * An error is that of one rank: the others do not know of it. So all ranks
 * compare what they got, above by the largest status, which is PHILOX_OK only
 * if all have that. If a rank could not save, nobody seals. An older set is
 * removed when all know that the new one is sealed. A rank that cannot load has
 * changed nothing, but others may have loaded: compare before you go on.
 *
 * Give each set a path of its own, and remove the old ones afterwards. At a
 * path that is used again, the text of a rank whose save failed may be that of
 * an earlier step. philox_mesh_seal() finds most of these, but not all. Each
 * file is replaced whole or not at all, as philox_context_save() says. The form
 * of a manifest is described in Note [Set of texts] in lib/ranks/ranks.h.
 *
 * A set can be loaded by another mesh: fewer tensor ranks, more data ranks,
 * regions on other stages (Note [Another mesh] in lib/ranks/ranks.h). So can
 * the text that a single process has saved (philox/save.h), with or without a
 * mesh of one rank: give its path instead of a manifest's. An axis that a mesh
 * lacks counts as one of a single rank. So an axis with another name is one
 * that has gone and one that has come. The context says which regions a rank
 * has; for each of them:
 *
 *  - The same mesh (axes of the same names and lengths), and the rank's own
 *    text has the region: as philox_context_load(). If it is in other texts
 *    only, it has moved here, and the rules below hold.
 *  - Shared along all axes: all texts that have the region must agree about it,
 *    and the run continues bit for bit, tickets included.
 *  - It differs along some axes, and each of them has its old length: the
 *    texts of the same coordinates along these axes must agree, and the run
 *    goes on bit for bit, tickets included.
 *  - It differs along an axis of another length than before: coordinates that
 *    were there before go on with their own states. New ones start fresh, after
 *    the highest offset and serial that any coordinate has issued, so that no
 *    numbers repeat, which the log says (PHILOX_LOG_INFO, "fresh"). What lost
 *    coordinates had issued is kept for that in later texts. Tickets cannot be
 *    divided: if any text has some pending, that is PHILOX_ERROR_MISMATCH.
 *
 * Texts and context must agree along which axes a region differs, of those axes
 * that both meshes have. So a process that had no mesh continues as rank 0 of
 * any. Operators, generator and flags must be the same, as for
 * philox_context_load().
 *
 * Names that this context does not have, alive or destroyed in any of the
 * texts, are destroyed ones after the load. If they are made again, they
 * continue after the highest offset and serial that any text knows. On the same
 * mesh these are the names of the own text.
 *
 * Generators must agree in all texts. So must tables of rows, row by row, and
 * data, with their positions, in all texts that have them:
 * PHILOX_ERROR_MISMATCH names the first table and row, or the data. On the same
 * mesh each rank has the generators, tables and data of its own text, and they
 * are compared only if other texts are read.
 *
 * A generator that differs between ranks goes on with each rank's own state on
 * the same mesh. On another mesh all ranks have the highest offset of all
 * texts: no rank draws numbers again, but ranks that were apart are together
 * then. Its seed has to be the same in all texts. The texts say which
 * generators differ, and those of the context keep their flags, as with
 * philox_context_load().
 *
 * `philox merge` writes the set that a whole world of another mesh would have,
 * from the set of one.
 */

/*
 * Write the text of this rank's context to PATH.RANK.
 *
 *   context  the context; without a mesh it is rank 0
 *   path     of the manifest of the set
 *
 * Returns PHILOX_OK, or an error; then the file is as before.
 * Errors:
 *   PHILOX_ERROR_INVALID  the manifest cannot have this path: it is "", or ends
 *                         with a slash
 *   those of philox_context_save()
 * During capture: not legal.
 * Threads: as philox_context_save().
 */
PHILOX_API enum philox_status philox_context_save_rank(
	struct philox_context *context, const char *path);

/*
 * Check the texts of all ranks of a mesh and write the manifest of the set.
 *
 *   mesh  the mesh; its coordinates do not matter
 *   path  of the manifest
 *
 * One rank calls it, when all have saved.
 *
 * It also finds texts of different steps. In all texts that have it alive, a
 * region that is shared along all axes must have the same next forward, its
 * offset and serial. And a generator must have the same offset, unless it
 * differs between ranks (PHILOX_GENERATOR_DIFFERS), and data the same position.
 * Exceptions are ranks that an axis with PHILOX_AXIS_STAGES separates, and
 * generators of other seeds, with their regions. Regions that differ along an
 * axis, tickets and tables of rows are not compared. So two saves are taken for
 * one set if no shared region began a forward between them, and neither a
 * generator nor data moved: if there were only backwards between them, for
 * example, or samples drawn with rows of tables.
 *
 * Returns PHILOX_OK, or an error; then no manifest is written.
 * Errors: the message names the file, or both.
 *   PHILOX_ERROR_FILE      a text is not there
 *   PHILOX_ERROR_INVALID   philox_context_save_rank() does not take the path,
 *                          or a text is damaged
 *   PHILOX_ERROR_MISMATCH  a text is of another mesh or rank, or two are of
 *                          different steps
 *   PHILOX_ERROR_MEMORY
 * During capture: legal.
 * Threads: any, at any time.
 */
PHILOX_API enum philox_status philox_mesh_seal(const struct philox_mesh *mesh,
					       const char *path);

/*
 * Load what this rank's context needs from a set, as described above.
 *
 *   context  the context
 *   path     of the manifest, or of the text of a single process
 *
 * On the mesh that saved the set it reads one text beside the manifest. On
 * another one it reads all texts that say something new, one after the other.
 * The manifest tells which of them say the same, whatever the outputs of
 * runners are: where ranks hold copies it is one text of each stage. A text
 * that is not read is not checked, and may even be missing, as it was whole and
 * said the same when the set was sealed. `philox inspect` checks all of them.
 * Manifests of the first version do not tell, and all texts are read.
 *
 * Returns PHILOX_OK, or an error; then nothing has changed.
 * Errors:
 *   PHILOX_ERROR_FILE      a manifest or text is not there or cannot be read
 *   PHILOX_ERROR_INVALID   a file is damaged, or is not the text that the
 *                          manifest names; the message has its name
 *   PHILOX_ERROR_MISMATCH  a region cannot be loaded; the message names region,
 *                          axis and ranks
 *   those of philox_context_load_text(), which also says what happens to the
 *   context
 * During capture: not legal.
 * Threads: as philox_context_load().
 */
PHILOX_API enum philox_status philox_context_load_ranks(
	struct philox_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
