#!/bin/sh
# make gpu: the report of a whole run on the simulated GPU; with tools that are
# not philox, that rows which hang, fail or are cut off leave the others alone;
# and the probe, which is built here and needs a GPU to answer.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

unset OUT ROWS MINUTES LIMIT PHILOX_TOOL PHILOX_PYTHON PHILOX_PEERS
simulated=$BUILD/tests/simulated/philox
probe=$BUILD/tests/gpu-probe
assumptions=tests/simulated/assumptions.txt

# --- tools that are not philox ------------------------------------------------

# What it was called with stands in $WORK/calls
cat >"$WORK/philox" <<END_OF_TOOL
#!/bin/sh
echo "\$*" >>"$WORK/calls"
case \$1 in
info) cat "$WORK/info"; exit ;;
bench) cat "$WORK/figures" ;;
esac
if [ -e "$WORK/hangs-\$1" ]; then
	sleep 60
fi
echo "\$1 has run"
[ ! -e "$WORK/fails-\$1" ] || exit 3
END_OF_TOOL
chmod +x "$WORK/philox"
echo 'cuda:0    GPU of a test' >"$WORK/info"

cat >"$WORK/figures" <<'END_OF_FIGURES'
{"name":"machine","value":null,"unit":null,"peer":null,"peer_value":null,"ratio":null}
{"name":"fill/normal/f32/1GiB","value":2000,"unit":"GB/s","peer":"memset","peer_value":4000,"ratio":0.5}
{"name":"fill/normal/f32/256MiB","value":1500,"unit":"GB/s","peer":"memset","peer_value":3000,"ratio":0.5}
{"name":"fill/normal/f32/256MiB","value":1500,"unit":"GB/s","peer":"torch","peer_value":null,"ratio":null,"note":"no | torch"}
{"name":"fill/bits/u32/1GiB","value":3.14159,"unit":"GB/s","peer":"memset","peer_value":4000,"ratio":0.000785}
{"name":"replay/1/call","value":1234.5,"unit":"ns","peer":"bare","peer_value":617.25,"ratio":2}
{"name":"replay/1/nodes","value":7,"unit":null,"peer":null,"peer_value":null,"ratio":null}
{"name":"fill/cut/off
END_OF_FIGURES
cat >"$WORK/tables" <<'END_OF_TABLES'
| GB/s | 256MiB | 1GiB | memset, 256MiB | memset, 1GiB |
|---|---|---|---|---|
| normal f32 | 1,500 | 2,000 | 3,000 (0.5) | 4,000 (0.5) |
| bits u32 |  | 3.14 |  | 4,000 (0.000785) |

| what | philox | compared with | ratio |
|---|---|---|---|
| replay/1/call | 1.23 us | bare: 617 ns | 2 |
| replay/1/nodes | 7 |  |  |

- torch: no | torch
END_OF_TABLES

# gpu ENVIRONMENT...: a run with that tool into a fresh folder, $WORK/out, which
# sees no real GPU; its status
gpu()
{
	rm -rf "$WORK/out"
	again "$@"
}

again()
{
	env CUDA_VISIBLE_DEVICES= PHILOX_TOOL="$WORK/philox" OUT="$WORK/out" \
		"$@" tests/gpu.sh >"$WORK/told" 2>&1
	status=$?
	rm -f "$WORK"/hangs-* "$WORK"/fails-*
	cat "$WORK/told"
	return $status
}

# section NAME: prints that of the report
section()
{
	awk -v name="$1" '/^## / { on = $2 == name } on' "$WORK/out/report.md"
}

# outcome NAME TEXT: the row's, in its section, in the last table and told
outcome()
{
	section "$1"
	section "$1" | grep -qE "^\*\*$2" || return 1
}

four='ROWS=selftest train matrix bench-*'

passes()
{
	gpu "$four" && outcome selftest 'passed\*\*, [0-9]+ s$' &&
		section selftest | grep -qx '    selftest has run' &&
		section train | grep -qxF 'the training step, four ways: `philox train --device cuda`' &&
		grep -qF '| `philox train --device cuda` | passed, ' "$WORK/out/report.md" &&
		grep -qx '== train' "$WORK/out/log.txt" &&
		grep -qx '| GPU | GPU of a test |' "$WORK/out/report.md" &&
		grep -qx '12 passed, 0 failed, 0 skipped' "$WORK/told"
}

# In the order of what tells most
in_order()
{
	gpu CC=false && grep '^## ' "$WORK/out/report.md" | tr -d '\n' |
		grep -F '## selftest## words## probe## train## loop## weights## runner## cublas## python## matrix## schedules## memcheck## racecheck## initcheck## synccheck## bench-fill## bench-replay## bench-rows## bench-quantize## bench-states## bench-values## bench-loops## bench-pool## bench-runner## criterion## All rows'
}

one_hangs()
{
	touch "$WORK/hangs-train"
	! gpu "$four" LIMIT=2 && outcome train 'failed\*\*, stopped after [2-9] s$' &&
		outcome matrix passed && outcome bench-states passed &&
		grep -qx '11 passed, 1 failed, 0 skipped' "$WORK/told"
}

one_fails()
{
	touch "$WORK/fails-matrix"
	! gpu "$four" && outcome matrix 'failed\*\*, status 3 after' &&
		section matrix | grep -qx '    matrix has run' &&
		outcome bench-states passed &&
		grep -q '^FAILED  matrix: status 3' "$WORK/told"
}

# Killed in the middle of a row: what came before is there, and that it was cut
cut_off()
{
	rm -rf "$WORK/out"
	touch "$WORK/hangs-matrix"
	env PHILOX_TOOL="$WORK/philox" OUT="$WORK/out" "$four" LIMIT=5 \
		TMPDIR="$WORK" tests/gpu.sh >"$WORK/told" 2>&1 &
	for _ in $(seq 100); do
		[ ! -e "$WORK/out/report.md" ] || ! grep -q '^## matrix' \
			"$WORK/out/report.md" || break
		sleep 0.1
	done
	kill -KILL $!
	wait $!
	rm -f "$WORK/hangs-matrix"
	outcome selftest passed && outcome train passed && section matrix &&
		! section matrix | grep -F '**'
}

time_is_over()
{
	! gpu "$four" MINUTES=0 &&
		outcome train 'skipped\*\*, the 0 minutes are over$' &&
		grep -qx '0 passed, 0 failed, 12 skipped' "$WORK/told"
}

# A second run adds its rows to those of the first
adds()
{
	gpu ROWS=train && again ROWS='mat*' && outcome train passed &&
		outcome matrix passed &&
		[ "$(grep -c '^# philox on a GPU' "$WORK/out/report.md")" = 2 ]
}

no_such_row()
{
	! gpu ROWS=nothing && grep -q '^FAILED  ROWS: no row fits nothing' "$WORK/told"
}

# numbers NAME: only whole numbers
wrong_number()
{
	gpu "$1=soon"
	[ $? -eq 2 ] && grep -q 'are whole numbers' "$WORK/told" &&
		! [ -e "$WORK/out" ]
}

# What is missing is said by name, and has not failed
by_name()
{
	gpu CC=false ROWS='criterion memcheck probe cublas train' BUILD="$WORK" \
		PATH="/usr/bin:/bin" CUDA_HOME="$WORK" &&
		outcome probe 'skipped\*\*, it is not built: make gpu builds it$' &&
		outcome cublas 'skipped\*\*, it is not built: make gpu builds it$' &&
		outcome criterion 'skipped\*\*, Criterion \(libcriterion-dev\) is not here$' &&
		outcome memcheck 'skipped\*\*, compute-sanitizer is not here$'
}

sanitizers='ROWS=memcheck racecheck initcheck synccheck'

sanitizes()
{
	mkdir -p "$WORK/bin"
	cat >"$WORK/bin/compute-sanitizer" <<END_OF_SANITIZER
#!/bin/sh
echo "sanitizer \$*" >>"$WORK/calls"
[ ! -e "$WORK/fails-\$2" ] || exit 9
END_OF_SANITIZER
	chmod +x "$WORK/bin/compute-sanitizer"
	: >"$WORK/calls"
	gpu "$sanitizers" PATH="$WORK/bin:$PATH" || return 1
	runs='selftest'
	for tool in memcheck racecheck initcheck synccheck; do
		grep -q "^sanitizer --tool $tool .* $WORK/philox $runs --device cuda\$" \
			"$WORK/calls" && outcome $tool passed || return 1
		runs='train --runner --steps 3'
	done
	touch "$WORK/fails-racecheck"
	! gpu "$sanitizers" PATH="$WORK/bin:$PATH" &&
		outcome racecheck 'failed\*\*, status 9' &&
		outcome synccheck passed
}

tables()
{
	gpu ROWS=bench-fill && section bench-fill >"$WORK/section" &&
		sed -n '/^| GB/,/^- torch/p' "$WORK/section" |
		diff "$WORK/tables" - &&
		[ "$(wc -l <"$WORK/out/bench.json")" = 8 ]
}

# Bounds that were calculated by hand: 16 bytes x 132 x 1.98 GHz are 4181.76 GB
# in a clock of an H200's multiprocessors, which issue 128 instructions in it
cat >"$WORK/sizes" <<'END_OF_SIZES'
# issue alu fma imad wide half f64 xu lsu uniform other
9.9.9 sm_90 bits_u32 40 16x4/- 16x4/- 1000,0,0,0,0,0,0,0,0,0,0
10.0.1 sm_90 normal_f32 48 16x4/- 16x4/- 150,52,70,19,19,0,0,2,1,5,0
10.0.1 sm_80 normal_f32 48 16x4/- 16x4/- 900,52,70,19,19,0,0,2,1,5,0
10.0.1 sm_90 bits_u32 40 16x4/- 16x4/- 50,22,0,22,19,0,0,0,1,4,0
10.0.1 sm_90 uniform_f32 40 16x4/- 16x4/- 58,30,4,21,19,0,0,0,1,1,0 900,90,4,21,19,0,0,0,1,1,0
10.0.1 sm_90 round_bf16 40 16x2/16x4 16x2/16x4 100,22,0,22,19,0,0,0,3,4,0
10.0.1 sm_90 kernel_rows_uniform_f32 40 16x1/- 16x1/- 128,30,4,22,20,0,0,0,1,1,0
10.0.1 sm_90 kernel_sample_f32 40 -/16x1 -/16x1 256,40,0,38,19,0,0,0,1,1,0
END_OF_SIZES
cat >"$WORK/measured" <<'END_OF_FIGURES'
{"name":"machine","value":null,"device":"cuda:0","description":"NVIDIA H200, compute capability 9.0, 139.8 GiB"}
{"name":"fill/normal/f32/1GiB","value":2000,"unit":"GB/s","peer":"memset","peer_value":4000,"ratio":0.5}
{"name":"fill/normal/f32/256MiB","value":1500,"unit":"GB/s","peer":"memset","peer_value":3000,"ratio":0.5}
{"name":"fill/bits/u32/1GiB","value":4900,"unit":"GB/s","peer":null,"peer_value":null,"ratio":null}
{"name":"fill/uniform/f32/1GiB","value":4000,"unit":"GB/s","peer":null,"peer_value":null,"ratio":null}
{"name":"fill/rounding/bf16/1GiB","value":1200,"unit":"GB/s","peer":null,"peer_value":null,"ratio":null}
{"name":"fill/gumbel/f32/1GiB","value":1200,"unit":"GB/s","peer":null,"peer_value":null,"ratio":null}
{"name":"rows/draw/4096x1000","value":10000,"unit":"ns","peer":null,"peer_value":null,"ratio":null}
{"name":"rows/draw/4096x1","value":10000,"unit":"ns","peer":null,"peer_value":null,"ratio":null}
{"name":"rows/token/64x128256","value":10000,"unit":"ns","peer":null,"peer_value":null,"ratio":null}
{"name":"rows/token/1x128256","value":10000,"unit":"ns","peer":null,"peer_value":null,"ratio":null}
END_OF_FIGURES
cat >"$WORK/bounded" <<'END_OF_TABLES'
| GB/s | 256MiB | 1GiB | bound, 1GiB | memset, 256MiB | memset, 1GiB |
|---|---|---|---|---|---|
| normal f32 | 1,500 | 2,000 | 3,568 issue (0.56) | 3,000 (0.5) | 4,000 (0.5) |
| bits u32 |  | 4,900 | 4,800 memory (1.02) |  |  |
| uniform f32 |  | 4,000 | 4,800 memory (0.83) |  |  |
| rounding bf16 |  | 1,200 | 1,600 memory (0.75) |  |  |
| gumbel f32 |  | 1,200 |  |  |  |

| what | philox | compared with | ratio | bound |
|---|---|---|---|---|
| rows/draw/4096x1000 | 10 us |  |  | 4,182 GB/s issue (0.39) |
| rows/draw/4096x1 | 10 us |  |  |  |
| rows/token/64x128256 | 10 us |  |  | 2,091 GB/s issue (1.57) |
| rows/token/1x128256 | 10 us |  |  |  |

- bounds: by calculation, of H200, from the code that nvcc 10.0.1 makes (tests/ptx); in brackets what was measured, as a fraction
- past its bound, so that a count or a figure of the GPU is wrong: rows/token/64x128256 1.57, bits/u32/1GiB 1.02
- furthest below 0.8 of their bounds: rows/draw/4096x1000 0.39, normal/f32/1GiB 0.56, rounding/bf16/1GiB 0.75
END_OF_TABLES

# bench_tables VERSION [FILE]: by those sizes
bench_tables()
{
	python3 tests/gpu/bench_tables.py "${2:-$WORK/measured}" "$1" "$WORK/sizes"
}

bounds()
{
	bench_tables 10.0.1 >"$WORK/seen" && diff "$WORK/bounded" "$WORK/seen"
}

# The newest counts, which are not those that come last in the alphabet
bounds_of_another_nvcc()
{
	bench_tables 10.7.7 >"$WORK/seen" && cat "$WORK/seen" &&
		grep -v '^- nvcc' "$WORK/seen" | diff "$WORK/bounded" - &&
		grep -x -- '- nvcc 10.7.7 is not in tests/ptx/sizes.txt: bounds are by the counts of 10.0.1' "$WORK/seen"
}

# What has a bound in caches is not bounded by the memory: 22 + 19 turns of 64
bounds_in_caches()
{
	sed 's/1GiB/1MiB/; /256MiB/d' "$WORK/measured" >"$WORK/small"
	bench_tables 10.0.1 "$WORK/small" >"$WORK/seen" && cat "$WORK/seen" &&
		grep -F '| bits u32 | 4,900 | 6,528 IMAD (0.75) |' "$WORK/seen"
}

no_bounds()
{
	sed 's/NVIDIA H200/NVIDIA H200 NVL/' "$WORK/measured" >"$WORK/other"
	bench_tables 10.0.1 "$WORK/other" >"$WORK/seen" && cat "$WORK/seen" &&
		grep -x -- '- no bounds: NVIDIA H200 NVL is not in tests/ptx/gpus.txt' \
			"$WORK/seen" && ! grep '| bound' "$WORK/seen" &&
		sed 's/cuda:0/host/' "$WORK/measured" >"$WORK/other" &&
		bench_tables 10.0.1 "$WORK/other" >"$WORK/seen" &&
		! grep bound "$WORK/seen"
}

# By the counts of this tree, whatever they are
bounds_in_the_report()
{
	mv "$WORK/figures" "$WORK/kept"
	cp "$WORK/measured" "$WORK/figures"
	gpu ROWS=bench-fill
	status=$?
	mv "$WORK/kept" "$WORK/figures"
	[ $status -eq 0 ] && section bench-fill >"$WORK/section" &&
		grep -E '^\| normal f32 \| 1,500 \| 2,000 \| [0-9,]+ [A-Za-z0-9]+ \([0-9.]+\) \|' "$WORK/section" &&
		grep -E '^- bounds: by calculation, of H200, from the code that nvcc [0-9.]+ makes' "$WORK/section"
}

# Without figures, or without Python, what was printed stands there
no_tables()
{
	echo 'no device' >"$WORK/figures"
	touch "$WORK/fails-bench"
	! gpu ROWS=bench-fill && section bench-fill | grep -qx '    no device' &&
		echo '{"name":"a","value":1}' >"$WORK/figures" &&
		gpu ROWS=bench-fill PHILOX_PYTHON=none &&
		section bench-fill | grep -qx '    {"name":"a","value":1}'
}

no_gpu()
{
	echo 'cuda      none: no NVIDIA driver was found' >"$WORK/info"
	gpu
	[ $? -eq 77 ] && grep -q 'there is no GPU here' "$WORK/told" &&
		grep -q 'no NVIDIA driver' "$WORK/told" && ! [ -e "$WORK/out" ]
}

refuses_without_toolkit()
{
	! make gpu CUDA=0 BUILD="$WORK/none" >"$WORK/told" 2>&1 &&
		grep -F 'make gpu needs the CUDA toolkit' "$WORK/told" &&
		! [ -e "$WORK/none" ]
}

check "a run has a section and a line for each row" passes
check "rows run in the order of what tells most" in_order
check "a row that hangs is stopped, and the others run" one_hangs
check "a row that fails says how, and the others run" one_fails
check "a run that is cut off leaves what it has" cut_off
check "rows for which no time is left say so" time_is_over
check "another run adds to the report" adds
check "a pattern that fits no row is refused" no_such_row
check "a LIMIT that is no number is refused" wrong_number LIMIT
check "MINUTES that are no number are refused" wrong_number MINUTES
check "what is missing is said by name" by_name
check "compute-sanitizer's four tools run, and count" sanitizes
check "figures become tables" tables
check "bounds stand beside figures of a GPU" bounds
check "a version of nvcc without counts is told" bounds_of_another_nvcc
check "arrays that caches may hold have no bound by memory" bounds_in_caches
check "a GPU without figures of its own is told by name" no_bounds
check "the report has bounds by the counts of this tree" bounds_in_the_report
check "figures that are none are shown as they are" no_tables
check "without a GPU nothing runs" no_gpu
check "a build without CUDA refuses" refuses_without_toolkit

# --- the probe and the simulated GPU ------------------------------------------

if [ "$CUDA" = 0 ]; then
	skip "the probe and a run on the simulated GPU" "a build without CUDA"
	finish
fi

# The driver shows no GPU to it, even if there is one
says_none()
{
	CUDA_VISIBLE_DEVICES='' "$probe" "$@" >"$WORK/out.txt" 2>"$WORK/told"
	[ $? -eq 77 ] && cat "$WORK/told" &&
		grep -q '^gpu-probe: there is no GPU: cudaGetDeviceCount: .' \
			"$WORK/told" && ! [ -s "$WORK/out.txt" ]
}

no_such_key()
{
	"$probe" exec-memory nothing >"$WORK/told" 2>&1
	[ $? -eq 2 ] && grep -q "begins with 'nothing'" "$WORK/told"
}

# Every key is there once, and says what is assumed
lists()
{
	"$probe" --list >"$WORK/list" && cat "$WORK/list" &&
		! cut -f 1 "$WORK/list" | sort | uniq -d | grep . &&
		! grep -vE '^[a-z0-9-]+	[^|	]+$' "$WORK/list" &&
		for key in set-parameters-in-flight-1 \
			set-parameters-in-flight-64 \
			set-parameters-in-flight-2040 line-or-star-1000 \
			one-exec-at-a-time-one-stream \
			map-memory-in-capture-relaxed-in-other-global; do
			grep -q "^$key	" "$WORK/list" || return 1
		done
}

# What the simulated GPU assumes without being sure, a real one is asked
asks_what_nobody_knows()
{
	"$probe" --list >"$WORK/list" &&
		awk -F ' [|] ' '!/^#/ && $3 ~ /nobody knows|disputed/ {
			print $1
		}' "$assumptions" >"$WORK/keys" && [ -s "$WORK/keys" ] &&
		while read -r key; do
			grep -q "^$key" "$WORK/list" && continue
			echo "no question: $key"
			return 1
		done <"$WORK/keys"
}

# What is asked has a row, so that an answer has a place
has_a_row_for_each()
{
	grep -v '^#' "$assumptions" | sed 's/ .*//' >"$WORK/keys" &&
		"$probe" --list | cut -f 1 | while read -r key; do
			while read -r row; do
				case $key in
				"$row" | "$row"-*) continue 2 ;;
				esac
			done <"$WORK/keys"
			echo "no row: $key"
		done >"$WORK/no-row" && cat "$WORK/no-row" &&
		[ -s "$WORK/keys" ] && [ ! -s "$WORK/no-row" ]
}

simulated_run()
{
	gpu PHILOX_TOOL="$simulated" && outcome selftest passed &&
		outcome words passed &&
		section selftest | grep -qE '^ +[1-9][0-9]* passed, 0 failed' &&
		outcome matrix passed && outcome schedules passed &&
		section train | grep -qE '^ +runs agree +yes' &&
		outcome train passed && outcome loop passed &&
		outcome weights passed &&
		outcome runner passed &&
		outcome cublas passed && section cublas |
		grep -qE '^ +libcublas.*: 6 steps recorded and replayed, the bits of eager ones$'
}

says_what_needs_a_gpu()
{
	for name in probe python memcheck racecheck initcheck synccheck bench-replay; do
		outcome $name 'skipped\*\*, needs a GPU, and this one is simulated$' ||
			return 1
	done
	[ "$(grep -c 'needs a GPU' "$WORK/told")" = 7 ]
}

simulated_figures()
{
	outcome bench-fill passed && outcome bench-rows passed &&
		outcome bench-quantize passed &&
		outcome bench-states passed && outcome bench-pool passed &&
		outcome bench-values passed && outcome bench-loops passed &&
		outcome bench-runner passed &&
		section bench-pool | grep -qE '^\| pool/launch/shared \| 4 calls \|' &&
		section bench-fill | grep -qE '^\| uniform bf16 \| [0-9.]+ \|' &&
		section bench-states | grep -qE '^\| states/96/call \| [0-9.]+ [mun]s \|' &&
		grep -q '^Times are no measurements here' "$WORK/out/report.md"
}

# The driver shows no GPU to it, even if there is one
cublas_needs_a_gpu()
{
	CUDA_VISIBLE_DEVICES='' "$BUILD/tests/gpu-cublas" >"$WORK/told" 2>&1
	[ $? -eq 77 ] && cat "$WORK/told" &&
		grep -q '^gpu-cublas: cudaGetDeviceCount: .' "$WORK/told"
}

# A run of its own
cublas_is_left_out()
{
	! gpu PHILOX_TOOL="$simulated" PHILOX_CUBLAS=none ROWS=cublas &&
		outcome cublas 'skipped\*\*, gpu-cublas: no cuBLAS was found$'
}

has_the_note()
{
	grep -qx '### If setting parameters waits' "$WORK/out/report.md" &&
		section probe | grep -qE '^1\. A ring of messages' &&
		! section probe | grep -F '*/'
}

check "the probe says that there is no GPU" says_none
check "so does one question" says_none exec-memory
check "a key that does not exist is refused" no_such_key
check "each question has a key and an assumption" lists
check "what nobody knows is asked" asks_what_nobody_knows
check "what is asked has a row of the table" has_a_row_for_each
check "a whole run on the simulated GPU passes" simulated_run
check "rows that need a GPU say so by name" says_what_needs_a_gpu
check "figures are in tables" simulated_figures
check "the report says what would take the parameters' place" has_the_note
check "cuBLAS needs a GPU" cublas_needs_a_gpu
check "where there is no cuBLAS its row is left out by name" cublas_is_left_out
finish
