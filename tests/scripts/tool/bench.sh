#!/bin/sh
# philox bench: the form of its output, peers that are missing or broken, and
# how it refuses bad options. Never how fast anything is.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=$BUILD/philox
nowhere="PHILOX_PEERS=$WORK/none"

# bench ENVIRONMENT ARGUMENT...: rows in $WORK/out, and no other output
bench()
{
	environment=$1
	shift
	# shellcheck disable=SC2086
	env $environment "$philox" bench "$@" >"$WORK/out" 2>"$WORK/err" ||
		return 1
	cat "$WORK/err"
	[ ! -s "$WORK/err" ]
}

# rows EXPRESSION: a Python expression of `rows`, all but the machine's, is true
rows()
{
	python3 - "$WORK/out" "$1" <<'END'
import json, sys

lines = [json.loads(line) for line in open(sys.argv[1])]
members = {"name", "value", "unit", "peer", "peer_value", "ratio"}
machine, rows = lines[0], lines[1:]
assert machine["name"] == "machine", machine
for member in "device processor version build PHILOX_SIMD threads".split():
    assert member in machine, member
for row in lines:
    assert members <= set(row), row
    assert set(row) - members <= {"note"} or row is machine, row
for row in rows:
    if row["peer_value"] is None:
        assert row["ratio"] is None, row
        assert not row["peer"] or row["note"], row
    else:
        # what one takes more than another may be less on a busy machine
        if row["name"] != "ranks/digest/ticket":
            assert row["value"] > 0 or row["peer"] == "aim", row
            assert row["peer_value"] > 0, row
        assert row["ratio"] == row["value"] / row["peer_value"], row

def have(name, peer):
    return [r for r in rows if r["name"] == name and r["peer"] == peer]

def peers(name):
    return [r["peer"] for r in rows if r["name"] == name]

for row in rows:
    print(row["name"], row["peer"], row["ratio"], row.get("note"))
assert eval("(" + sys.argv[2] + ")"), sys.argv[2]
END
}

# every_fill: a row for each fill, next to its limits
every_fill()
{
	bench "$nowhere" --only fill --quick --json && rows '
	all(have(f"fill/{fill}/64KiB", "memset")[0]["ratio"]
		for fill in ["bits/u32", "bits/u64"] +
			[f"integers/{x}" for x in ("u32", "u64", "i32", "i64")] +
			[f"{x}/{y}" for x in ("uniform", "normal", "log-normal",
				"exponential", "gumbel", "bernoulli")
			for y in ("f32", "f64", "bf16", "f16")]) and
	all(have(f"fill/dropout/{dtype}/64KiB", limit)[0]["ratio"]
		for dtype in ("f32", "f64", "bf16")
		for limit in ("copy", "scale")) and
	have("fill/dropout/f16/64KiB", "copy")[0]["ratio"] and
	have("fill/rounding/bf16/64KiB", "scale")[0]["ratio"] and
	len({row["name"] for row in rows}) >= 35'
}

missing_peers()
{
	bench "$nowhere" --only fill --quick --json && rows '
	peers("fill/normal/f32/64KiB") == ["memset", "curand_host",
		"random123_gcc", "random123_clang", "torch"] and
	all((row["peer_value"] is None) ==
		(row["peer"] not in ("memset", "copy", "scale"))
		for row in rows) and
	all("none" in row["note"] for row in rows
		if row["peer"] in ("curand_host", "random123_gcc")) and
	"none/pytorch.py" in have("fill/normal/f32/64KiB", "torch")[0]["note"]'
}

missing_in_text()
{
	bench "$nowhere" --only fill/normal --quick &&
		grep -qE '^fill/normal/f32/64KiB +[0-9.]+ GB/s  curand_host missing: .' \
			"$WORK/out" &&
		grep -qE 'f32/64KiB +[0-9.]+ GB/s  memset [0-9.]+, ratio [0-9.]+$' \
			"$WORK/out" && ! grep -q ' $' "$WORK/out"
}

# The machine's own line comes first and says which path was requested
says_path()
{
	bench "$nowhere PHILOX_SIMD=scalar" --only fill/bits/u32 --quick --json &&
		head -n 1 "$WORK/out" | grep -q '"PHILOX_SIMD":"scalar"' &&
		bench "$nowhere PHILOX_SIMD=scalar" --only fill/bits/u32 --quick &&
		grep -q '^processor .*PHILOX_SIMD scalar; 1 thread$' "$WORK/out"
}

threads_on_record()
{
	bench "$nowhere" --only fill/bits/u32 --threads 3 --size 4MiB --quick \
		--json && head -n 1 "$WORK/out" | grep -q '"threads":3'
}

chosen_rows()
{
	bench "$nowhere" --only fill/uniform/f32 --size 4KiB --size 1MiB \
		--size 3MiB --quick --json && rows '
	{row["name"] for row in rows} == {"fill/uniform/f32/4KiB",
		"fill/uniform/f32/1MiB", "fill/uniform/f32/3MiB"}'
}

one_size()
{
	bench "$nowhere" --only fill/bits/u64/2MiB --size 1MiB --size 2MiB \
		--quick --json &&
		rows '{row["name"] for row in rows} == {"fill/bits/u64/2MiB"}'
}

states()
{
	bench "$nowhere" --only states --quick --json && rows '
	all(have(f"states/{count}/{figure}", "bare")[0]["ratio"] and
		"GPU" in have(f"states/{count}/{figure}", "torch")[0]["note"]
		for count in (1, 8, 96) for figure in ("call", "replay")) and
	len(rows) == 12'
}

# Values cost time only; what they cost of the device does not depend on it
values_part()
{
	bench "$nowhere" --only values --quick --json && rows '
	len(rows) == 13 and have("values/set", None)[0]["value"] > 0 and
	all(have(f"values/{n}/{figure}", "without")[0]["ratio"] > 0
		for n in (1, 8, 64) for figure in ("call", "replay")) and
	all(have(f"values/{n}/device-calls", "without")[0]["value"] == 3 and
		have(f"values/{n}/{figure}", "without")[0]["ratio"] == 1
		for n in (1, 8, 64) for figure in ("device-calls", "nodes"))' &&
		bench "$nowhere" --only values/8/n --quick --json &&
		rows '[row["name"] for row in rows] == ["values/8/nodes"]'
}

# A launch of a loop is one of the same graph, however often its body runs
loops_part()
{
	bench "$nowhere" --only loops --quick --json && rows '
	len(rows) == 16 and
	all(have(f"loops/{n}/{figure}", "without")[0]["ratio"] > 0
		for n in (1, 16, 256) for figure in ("call", "replay")) and
	all(have(f"loops/{n}/{figure}", "of 1")[0]["ratio"] > 0
		for n in (16, 256) for figure in ("call", "replay")) and
	all(have(f"loops/{n}/device-calls", "without")[0]["ratio"] == 1
		for n in (1, 16, 256)) and
	len({have(f"loops/{n}/nodes", "without")[0]["value"]
		for n in (1, 16, 256)}) == 1' &&
		bench "$nowhere" --only loops/16/c --quick --json &&
		rows 'peers("loops/16/call") == ["without", "of 1"] and
			len(rows) == 2'
}

rows_part()
{
	bench "$nowhere" --only rows --quick --json && rows '
	have("rows/draw/4096x1", "fill")[0]["ratio"] and
	all(have(f"rows/token/{n}x1000", "greedy")[0]["ratio"] and
		have(f"rows/token/{n}x1000", "greedy+bits")[0]["ratio"] and
		"pytorch.py" in have(f"rows/token/{n}x1000", "torch")[0]["note"]
		for n in (1, 8, 64)) and
	all(have(f"rows/greedy/{n}x1000", "maximum")[0]["ratio"]
		for n in (1, 64)) and
	all(have(f"rows/filtered/{n}x1000", "token")[0]["ratio"] and
		have(f"rows/filtered/{n}x1000", "top-p")[0]["ratio"]
		for n in (1, 64)) and
	all(have(f"rows/logprobs/{n}x1000", "token")[0]["ratio"] and
		have(f"rows/logprobs/{n}x1000", "its own")[0]["ratio"]
		for n in (1, 64)) and
	all(have(f"rows/penalised/{n}x1000", "token")[0]["ratio"] and
		"pytorch.py" in
			have(f"rows/penalised/{n}x1000", "torch")[0]["note"]
		for n in (1, 64)) and
	have("rows/accepted/5x1000", "tokens")[0]["ratio"] and
	have("rows/accepted/5x1000", "point")[0]["ratio"] and
	len(rows) == 31' &&
		bench "$nowhere" --only rows/draw/4096x1 --quick --json &&
		rows 'all(row["peer"] == "fill" for row in rows) and rows'
}

# Blocks, checkpoints, memory and calls; without mimalloc its rows say so
pool_part()
{
	bench "$nowhere" --only pool --quick --json && rows '
	all(have(f"pool/pair/{n}/net", "glibc")[0]["ratio"] and
		"none/libmimalloc.so:" in
			have(f"pool/pair/{n}/net", "mimalloc")[0]["note"] and
		have(f"pool/pair/{n}/whole", "capture queries")[0]["ratio"] > 1
		for n in (100, 10000)) and
	have("pool/pair/10000/net", "of 100")[0]["ratio"] and
	all(have(f"pool/{what}/{n}", f"of {n // 10}" if n > 1000 else "of 10")
		for what in ("checkpoint", "restore")
		for n in (1000, 10000, 100000)) and
	all(have(f"pool/{what}/10", None)
		for what in ("checkpoint", "restore"))' && pool_counts
}

# What does not depend on time: a pair asks for the capture and nothing else,
# the memory of a checkpoint, of a training, of captures, and calls of launches
pool_counts()
{
	rows '
	all(have(f"pool/pair/{n}/calls", "capture queries")[0]["ratio"] == 1 and
		have(f"pool/pair/{n}/calls", "capture queries")[0]["value"] == 2
		for n in (100, 10000)) and
	all("malloc" in row["note"] if row["value"] is None
		else 0 < row["value"] <= 64 for row in rows
		if row["name"].startswith("pool/checkpoint-bytes/")) and
	1 <= have("pool/training/expandable", "live")[0]["ratio"] <= 1.15 and
	1 <= have("pool/training/plain", "live")[0]["ratio"] and
	all(1 <= have(f"pool/captures/{kind}", "largest")[0]["ratio"] <= 1.05
		and have(f"pool/captures/{kind}", "pools apart")[0]["ratio"] < 1
		for kind in ("expandable", "plain")) and
	[have(f"pool/launch/{how}", "no pool")[0]["value"]
		for how in ("alone", "shared", "strict")] == [4, 4, 3] and
	all(row["peer_value"] == 3 for row in rows if row["peer"] == "no pool")'
}

pool_rows_chosen()
{
	bench "$nowhere" --only pool/launch/s --quick --json && rows '
	[row["name"] for row in rows] ==
		["pool/launch/shared", "pool/launch/strict"]' &&
		bench "$nowhere" --only pool/checkpoint-bytes/1 --quick \
			--json && rows '
	[row["name"] for row in rows] == [f"pool/checkpoint-bytes/{n}"
		for n in (1000, 10000, 100000)]'
}

# Hits, recordings, memory, a step; what does not depend on time is as it should
# be: calls of the device for a hit and for the release of an output, and memory
runner_part()
{
	bench "$nowhere" --only runner --quick --json && rows '
	all(have(f"runner/{family}/{n}/{figure}", "launch")[0]["ratio"] > 0
		for family, counts in (("inputs", (0, 1, 100, 10000)),
			("recordings", (1, 10, 100, 1000)),
			("copied", (1, 8, 128, 200)), ("values", (1, 8)),
			("outputs", (1, 8)))
		for n in counts for figure in ("call", "replay")) and
	have("runner/inputs/0/more", "aim")[0]["peer_value"] == 1000 and
	all(have(f"runner/{of}/each", "copy of 16 bytes")[0]["ratio"] != 0
		for of in ("inputs/100", "inputs/10000", "copied/128",
			"copied/200")) and
	all(have(f"runner/recordings/{n}/call", "of 1")[0]["ratio"] > 0
		for n in (10, 100, 1000)) and
	all(have(f"runner/record/{n}", "capture")[0]["ratio"] > 0
		for n in (0, 10, 100, 1000)) and
	all(have(f"runner/restore/{n}", "of 0")[0]["ratio"] > 0
		for n in (10, 100, 1000)) and
	have("runner/llama/step", "launches")[0]["ratio"] > 0 and
	have("runner/llama/share", None)[0]["value"] < 100 and
	have("runner/plans/10000/load", "aim")[0]["peer_value"] == 50 and
	have("runner/plans/10000/save", None)[0]["value"] > 0 and
	have("runner/verify/eager", None)[0]["value"] > 0 and
	have("runner/verify/replay", "eager")[0]["ratio"] > 0 and
	have("runner/verify/verified", "replay")[0]["ratio"] > 0 and
	have("runner/verify/verified", "aim")[0]["ratio"] > 0 and
	len(rows) == 96' && runner_counts
}

runner_counts()
{
	rows '
	all(row["ratio"] == 1 for row in rows
		if row["name"].endswith("/device-calls")
		and row["name"].split("/")[1] in ("inputs", "recordings", "values")) and
	all(have(f"runner/copied/{n}/device-calls", "launch")[0]["value"] ==
		4 + (n + 127) // 128 for n in (1, 8, 128, 200)) and
	all(have(f"runner/outputs/{n}/device-calls", "launch")[0]["value"] <=
		4 + 2 * n for n in (1, 8)) and
	all(row["value"] or "malloc" in row["note"] for row in rows
		if row["name"].startswith("runner/record-bytes/")) and
	all(have(f"runner/keys/6/{kind}", "aim")[0]["ratio"] <= 1 and
		have(f"runner/keys/6/{kind}", "largest")[0]["ratio"] >= 1
		for kind in ("expandable", "plain")) and
	1 <= have("runner/verify/memory", "copies")[0]["ratio"] <= 1.2'
}

runner_rows_chosen()
{
	bench "$nowhere" --only runner/llama/sh --quick --json &&
		rows '[row["name"] for row in rows] == ["runner/llama/share"]' &&
		bench "$nowhere" --only runner/values/8/d --quick --json &&
		rows '[row["name"] for row in rows] ==
			["runner/values/8/device-calls"]' &&
		bench "$nowhere" --only runner/inputs/100/e --quick --json &&
		rows '[row["name"] for row in rows] == ["runner/inputs/100/each"]' &&
		bench "$nowhere" --only runner/restore/1 --quick --json &&
		rows '[row["name"] for row in rows] ==
			[f"runner/restore/{n}" for n in (10, 100, 1000)]' &&
		bench "$nowhere" --only runner/verify/v --quick --json &&
		rows '[row["peer"] for row in rows] == ["replay", "aim"]'
}

measures()
{
	bench "$nowhere" --only fill/bits/u32 --size 64KiB --json &&
		rows 'have("fill/bits/u32/64KiB", "memset")[0]["ratio"]'
}

# Digests of ranks, of a large model
ranks_part()
{
	bench "$nowhere" --only ranks --quick --json && rows '
	[row["name"] for row in rows] == ["ranks/digest",
		"ranks/digest/region", "ranks/digest/ticket"] and
	all(have(f"ranks/digest{figure}", "context")[0]["ratio"] > 0
		for figure in ("", "/region"))' &&
		bench "$nowhere" --only ranks/digest/t --quick --json &&
		rows '[row["name"] for row in rows] == ["ranks/digest/ticket"]'
}

# Very many things: of each phase the cost of one, at four numbers of them
growth_part()
{
	bench "$nowhere" --growth --quick --json && rows '
	(lambda mine: len(mine) == 4 * len(set(name.rsplit("/", 1)[0]
		for name in mine)) and len(set(mine)) == len(mine) and
		all(any(name.startswith("growth/" + what) for name in mine)
		for what in ("regions/create/1000", "tickets/backward/125",
		"tables-of-rows/destroy/50", "graphs-of-a-pool/launch/25")))(
		[row["name"] for row in rows]) and
	all(row["value"] > 0 and row["unit"] == "ns" and row["peer"] == "list"
		for row in rows)' &&
		bench "$nowhere" --only growth/blocks/find/1 --quick --json &&
		rows '[row["name"] for row in rows] == [
		"growth/blocks/find/125", "growth/blocks/find/1000"]'
}

# refuses TEXT ARGUMENT...: exit status 2, and only a message with TEXT
refuses()
{
	text=$1
	shift
	"$philox" bench "$@" >"$WORK/out" 2>"$WORK/err"
	got=$?
	echo "exit status $got, standard error:"
	cat "$WORK/err"
	[ $got -eq 2 ] && grep -qF -e "$text" "$WORK/err" && [ ! -s "$WORK/out" ]
}

no_such_row()
{
	"$philox" bench --only fill/cauchy --quick --json >"$WORK/out" \
		2>"$WORK/err"
	[ $? -eq 2 ] && cat "$WORK/err" && grep -qF -e \
		"--only 'fill/cauchy': no row begins like this" "$WORK/err"
}

check "options: growth beside another part" refuses \
	"--growth: --only names another part" --growth --only rows
check "options: growth of another device" refuses \
	"part growth is about the host device" --growth --device cuda
check "options: an unknown part" refuses "--only 'x': must be one of" --only x
check "options: rows of an unknown part" \
	refuses "--only 'x': must be one of" --only x/y
check "options: rows of a part without names for them" refuses \
	"--only 'ledger/1': part ledger has no rows to choose from" \
	--only ledger/1
check "options: rows that do not exist" no_such_row
for size in 0KiB -1KiB 64 64kb 64KiBs 1025GiB KiB '' ' 1KiB' \
	99999999999999999999KiB; do
	check "options: a size of '$size'" refuses \
		"--size '$size': must be from 1 to 1024 KiB, MiB or GiB" \
		--size "$size"
done
check "options: too many sizes" refuses \
	"--size '9KiB': there are already 8" --size 1KiB --size 2KiB \
	--size 3KiB --size 4KiB --size 5KiB --size 6KiB --size 7KiB \
	--size 8KiB --size 9KiB
for threads in 0 257 two; do
	check "options: $threads threads" refuses \
		"--threads '$threads': must be a whole number from 1 to 256" \
		--threads "$threads"
done
check "options: mistakes are mistakes with --quick, too" \
	refuses "unexpected argument 'now'" --quick now

for part in ledger replay schedules states values loops rows pool runner; do
	check "options: part $part has no sizes" refuses \
		"--size '1MiB': part $part has no sizes" \
		--only $part --size 1MiB
done
for part in ledger replay schedules values loops pool runner; do
	check "options: part $part has no threads" refuses \
		"--threads '0x2': part $part has no use for them" \
		--only $part --threads 0x2
done
for part in ledger replay schedules; do
	check "options: part $part cannot be quick" refuses \
		"--quick: part $part is not shortened" --quick --only $part
done
check "options: threads of a GPU" refuses \
	"--threads '2': needs --device host, not cuda:1" \
	--threads 2 --device cuda:1
check "options: a size begins with a digit" refuses "--size '+1KiB': must" \
	--size +1KiB

check "the table says that a peer is missing" missing_in_text
if ! command -v python3 >"$WORK/which"; then
	skip "the JSON rows" "no python3"
	finish
fi
check "there is a row for every fill, and its limits" every_fill
check "a missing peer has rows that say so" missing_peers
check "the output names the requested path" says_path
check "the output names the number of threads" threads_on_record
check "rows are chosen by how names begin, sizes one by one" chosen_rows
check "a size is part of a name" one_size
check "replays of many states have rows" states
check "values have rows, and cost no call and no node" values_part
check "loops have rows, and their launches cost the same calls" loops_part
check "draws and tokens for rows have rows" rows_part
check "pools have rows" pool_part
check "and some of them" pool_rows_chosen
check "calls of a runner have rows, and hits cost the calls of a launch" \
	runner_part
check "and some of them, too" runner_rows_chosen
check "digests of ranks have rows, which can be chosen" ranks_part
check "very many things have rows, which can be chosen" growth_part
check "a measured row has the form of a quick one" measures

# --- our own peers ------------------------------------------------------------

# make_peer FILE TEXT: a peer for PHILOX_PEERS=$WORK/peers
make_peer()
{
	mkdir -p "$WORK/peers"
	echo "$2" >"$WORK/peer.c"
	"$CC" -shared -fPIC -o "$WORK/peers/$1" "$WORK/peer.c"
}

peer_folder()
{
	make_peer random123_gcc.so '
		#include <string.h>
		const char *random123_version(void) { return "ours"; }
		void random123_bits_u32(void *out, size_t size)
		{
			memset(out, 0, size);
		}' && make_peer random123_clang.so '
		const char *random123_version(void) { return 0; }' &&
		make_peer libcurand.so.10 'int nothing;' &&
		bench "PHILOX_PEERS=$WORK/peers" --only fill --quick --json &&
		rows '
	have("fill/bits/u32/64KiB", "random123_gcc")[0]["note"] == "ours" and
	have("fill/bits/u32/64KiB", "random123_gcc")[0]["ratio"] and
	have("fill/normal/f32/64KiB", "random123_gcc")[0]["ratio"] is None and
	"it fails with error -1" ==
		have("fill/normal/f32/64KiB", "random123_gcc")[0]["note"] and
	"another processor" in
		have("fill/bits/u32/64KiB", "random123_clang")[0]["note"] and
	"no function curand" in
		have("fill/bits/u32/64KiB", "curand_host")[0]["note"]'
}

# cuRAND's own interface, with an error at the second row; one fill warms up
broken_curand()
{
	make_peer libcurand.so.10 '
		#define OK(name) int name(void) { return 0; }
		OK(curandGetVersion) OK(curandCreateGenerator)
		OK(curandCreateGeneratorHost) OK(curandDestroyGenerator)
		OK(curandSetStream) OK(curandSetPseudoRandomGeneratorSeed)
		OK(curandSetGeneratorOrdering) OK(curandGenerateUniform)
		OK(curandGenerateUniformDouble) OK(curandGenerateNormal)
		OK(curandGenerateNormalDouble) OK(curandGenerateLogNormal)
		OK(curandGenerateLogNormalDouble)
		int curandGenerate(void) { static int n; return n++ > 1 ? 201 : 0; }' &&
		bench "PHILOX_PEERS=$WORK/peers" --only fill/bits --quick \
			--json && rows '
	have("fill/bits/u32/64KiB", "curand_host")[0]["ratio"] and
	have("fill/bits/u64/64KiB", "curand_host")[0]["note"] ==
		"it fails with error 201"'
}

# An allocator that is called by mimalloc's names, and one that is not
other_mimalloc()
{
	make_peer libmimalloc.so.2 '
		#include <stdlib.h>
		int mi_version(void) { return 123; }
		void *mi_malloc(size_t size) { return malloc(size); }
		void mi_free(void *block) { free(block); }' &&
		bench "PHILOX_PEERS=$WORK/peers" --only pool/pair --quick \
			--json && rows '
	have("pool/pair/100/net", "mimalloc")[0]["note"] == "mimalloc 123" and
	have("pool/pair/100/net", "mimalloc")[0]["ratio"]' &&
		make_peer libmimalloc.so 'int mi_version(void) { return 1; }' &&
		bench "PHILOX_PEERS=$WORK/peers" --only pool/pair --quick \
			--json && rows '
	"no function mi_malloc" in
		have("pool/pair/100/net", "mimalloc")[0]["note"]'
}

# A torch of a few lines: no numbers and no GPU
mkdir -p "$WORK/fake/torch" "$WORK/script"
cp tools/bench/peers/pytorch.py "$WORK/script"
cat >"$WORK/fake/torch/__init__.py" <<'END'
import contextlib
import types

__version__ = "0.fake"
float32, float64, float16, bfloat16 = "f32 f64 f16 bf16".split()
int32, int64 = "i32 i64".split()


class Tensor:
    def __init__(self, count):
        self.count = count

    def numel(self):
        return self.count

    def random_(self, *values):
        pass

    log_normal_ = exponential_ = bernoulli_ = random_


def full(shape, value, dtype, device):
    return Tensor(shape[0])


def rand(count, out):
    assert count == out.numel() > 0


def set_num_threads(count):
    print("a line that is no answer")


randn = rand
device = lambda name: types.SimpleNamespace(type=name)
no_grad = contextlib.nullcontext
functional = types.SimpleNamespace(dropout=lambda x, p, training: None)
nn = types.SimpleNamespace(functional=functional)
END

# torch FOLDER ARGUMENT...: rows with the script and the torch of a folder
torch()
{
	environment="PHILOX_PEERS=$WORK/script PYTHONPATH=$WORK/$1"
	shift
	bench "$environment" "$@" --quick --json
}

torch_rows()
{
	torch fake --only fill && rows '
	all(have(f"fill/{dist}/{dtype}/64KiB", "torch")[0]["ratio"]
		for dist in ("uniform", "normal", "log-normal", "exponential",
			"bernoulli", "dropout")
		for dtype in ("f32", "f64", "f16", "bf16")) and
	all(have(f"fill/integers/{dtype}/64KiB", "torch")[0]["ratio"]
		for dtype in ("i32", "i64")) and
	all(row["note"] == "torch 0.fake" for row in rows
		if row["peer"] == "torch")'
}

# torch_breaks STATEMENT TEXT: a torch that does not load well, and the note
torch_breaks()
{
	mkdir -p "$WORK/broken"
	echo "$1" >"$WORK/broken/torch.py"
	torch broken --only fill/uniform && rows "
	all('$2' in row['note'] and row['ratio'] is None for row in rows
		if row['peer'] == 'torch')"
}

no_python()
{
	bench "PHILOX_PEERS=$WORK/script PHILOX_PYTHON=$WORK/none" \
		--only fill/uniform --quick --json && rows '
	all("no Python" in row["note"] for row in rows
		if row["peer"] == "torch")'
}

check "peers are looked for in PHILOX_PEERS, and may lack functions" peer_folder
check "a peer that fails later says so" broken_curand
check "mimalloc is found by the names of distributions" other_mimalloc
check "torch has rows, with its version" torch_rows
check "a torch that cannot be loaded is missing" \
	torch_breaks 'raise OSError("no such\\nlibrary")' 'no such library'
check "a torch without what is needed is missing" \
	torch_breaks 'float32 = 1' 'has no attribute'
check "a torch that ends the process is missing" \
	torch_breaks 'import os; os._exit(3)' 'Python has ended'
check "a Python that is not there is missing" no_python
finish
