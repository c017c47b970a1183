#!/bin/sh
# philox draw: the output for good options, and how it refuses bad ones.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

philox=${PHILOX_TOOL:-$BUILD/philox}

draw()
{
	"$philox" draw "$@"
}

# prints LINES ARGUMENT...: exactly these lines, and nothing on standard error
prints()
{
	echo "$1" | tr ' ' '\n' >"$WORK/expected"
	shift
	draw "$@" >"$WORK/out" 2>"$WORK/err" || return 1
	cat "$WORK/err"
	diff "$WORK/expected" "$WORK/out" && [ ! -s "$WORK/err" ]
}

# same OPTIONS OPTIONS: both print the same, and not nothing
same()
{
	# shellcheck disable=SC2086
	draw $1 >"$WORK/one" && draw $2 >"$WORK/two" &&
		cmp "$WORK/one" "$WORK/two" && [ -s "$WORK/one" ]
}

# differ OPTIONS OPTIONS
differ()
{
	# shellcheck disable=SC2086
	draw $1 >"$WORK/one" && draw $2 >"$WORK/two" &&
		! cmp -s "$WORK/one" "$WORK/two"
}

# refuses TEXT ARGUMENT...: exit status 2, TEXT in a message, nothing drawn
refuses()
{
	text=$1
	shift
	draw "$@" >"$WORK/out" 2>"$WORK/err"
	got=$?
	echo "exit status $got, standard error:"
	cat "$WORK/err"
	[ $got -eq 2 ] && grep -qF -e "$text" "$WORK/err" && [ ! -s "$WORK/out" ]
}

# agree FORMULA TYPE FROM TO: the formula, of each x in FROM, 4 bytes read as
# od's type, is TO
agree()
{
	# shellcheck disable=SC2086
	draw $3 --count 4000 --format raw | od -An -v -w4 -t"$2" >"$WORK/one"
	# shellcheck disable=SC2086
	draw $4 --count 4000 --format raw | od -An -v -w4 -tf4 >"$WORK/two"
	paste "$WORK/one" "$WORK/two" | awk '
		{
			x = $1; want = '"$1"'; off = want - $2; n++
			if (off * off > 1e-10 * (1 + want * want)) {
				print "element", NR - 1, "is", $2, "not", want
				bad = 1
			}
		}
		END { exit bad || n != 4000 }'
}

# of_words FORMULA ARGUMENTS: of v = (word + 1/2) 2^-32
of_words()
{
	agree "$(echo "$1" | sed 's/v/((x + 0.5) \/ 4294967296)/')" u4 \
		'--dist bits' "$2"
}

# of_normals FORMULA ARGUMENTS: of standard normal numbers
of_normals()
{
	agree "$1" f4 '--dist normal' "$2"
}

# lines N EXPRESSION ARGUMENT...: N lines, all of which match
lines()
{
	n=$1
	expression=$2
	shift 2
	draw "$@" >"$WORK/out" || return 1
	head -n 3 "$WORK/out"
	[ "$(wc -l <"$WORK/out")" -eq "$n" ] &&
		[ "$(grep -cE "$expression" "$WORK/out")" -eq "$n" ]
}

# raw DTYPE SIZE: raw output is the text's bits, little-endian
raw()
{
	draw --dist bits --dtype "$1" --count 5 --seed 7 --format raw |
		od -An -v -tx"$2" | tr -s ' ' '\n' | sed '/^$/d' >"$WORK/raw"
	draw --dist bits --dtype "$1" --count 5 --seed 7 >"$WORK/text"
	diff "$WORK/raw" "$WORK/text"
}

# bytes N ARGUMENT...: so many bytes of raw output
bytes()
{
	n=$1
	shift
	[ "$(draw "$@" --format raw | wc -c)" -eq "$n" ]
}

# The reader reads some and goes away: no message, status 0
closed_pipe()
{
	{
		draw --count 0 "$@" 2>"$WORK/err"
		echo $? >"$WORK/status"
	} | head -c 100000 >"$WORK/out"
	cat "$WORK/err"
	[ "$(cat "$WORK/status")" -eq 0 ] && [ ! -s "$WORK/err" ] &&
		[ "$(wc -c <"$WORK/out")" -eq 100000 ]
}

full_disk()
{
	draw --count 100 >/dev/full 2>"$WORK/err"
	[ $? -eq 1 ] && grep -q 'standard output' "$WORK/err"
}

known='6627e8d5 e169c58d bc57ac4c 9b00dbd8'
check "the known answer of Random123" prints "$known" --count 4
check "the known answer at the end of the counter" \
	prints "$(grep '^10 ffffffff 3fffffff ffffffff' \
		tests/numbers/known/kat_random123.txt | cut -d ' ' -f 10-)" \
	--seed 0x9876543210fedcba --offset 0xfffffffffffffffc \
	--first 0xfffffffffffffffc --count 4
check "64-bit draws join two words, the low one first" \
	prints 'e169c58d6627e8d5 9b00dbd8bc57ac4c' --dtype u64 --count 2
check "a uniform number is 24 bits of a word" \
	prints '0x1.989fap-2 0x1.c2d38ap-1 0x1.78af58p-1 0x1.3601b6p-1' \
	--dist uniform --count 4
check "a uniform bf16 is 8 bits of a word, widened" \
	prints '0x1.98p-2 0x1.c2p-1 0x1.78p-1 0x1.36p-1' \
	--dist uniform --dtype bf16 --count 4
check "bernoulli numbers are 1 below p" \
	prints '0x1p+0 0x0p+0 0x0p+0 0x0p+0' --dist bernoulli --count 4 --p 0.5
check "a uniform f16 is 11 bits of a word, widened" \
	prints '0x1.988p-2 0x1.c2cp-1 0x1.788p-1 0x1.36p-1' \
	--dist uniform --dtype f16 --count 4
check "a uniform f64 is 53 bits of two words" \
	prints '0x1.c2d38b1acc4fdp-1 0x1.3601b7b178af5p-1' \
	--dist uniform --dtype f64 --count 2
check "a uniform number has a range" \
	prints '0x1.313f4p-1 0x1.42d38ap+1 0x1.f15ebp+0 0x1.6c036cp+0' \
	--dist uniform --low -1 --high 0x1.8p1 --count 4
check "integers are digits by default" prints '8 6' \
	--dist integers --count 2
check "integers have a range" prints '3 1' \
	--dist integers --from -5 --to 4 --count 2
check "an order of 3 items" prints '1 0 2' \
	--dist permutation --n 3 --count 0
check "an order ends with the last item drawn" prints '1 0 2' \
	--dist permutation --count 3
check "a part of an order" prints '0 2' \
	--dist permutation --dtype i32 --n 3 --first 1 --count 2
check "integers of 32 bits take a word each" prints '13 18 17 16' \
	--dist integers --dtype u32 --from 10 --to 0x13 --count 4
check "integers of 32 bits have a sign" prints '-2 3 2 1' \
	--dist integers --dtype i32 --from -5 --to 4 --count 4
check "all integers of 64 bits" \
	prints '7019358705328580821 1945796762943335500' \
	--dist integers --from -9223372036854775808 \
	--to 9223372036854775807 --count 2
check "all integers of 64 bits without a sign" \
	prints '16242730742183356629 11169168799798111308' \
	--dist integers --dtype u64 --to 0xffffffffffffffff --count 2
check "exponential numbers are those of their words" \
	of_words '-log(1 - v)' '--dist exponential'
check "exponential numbers have a rate" \
	of_words '-log(1 - v) / 2.5' '--dist exponential --rate 2.5'
check "Gumbel numbers are those of their words" \
	of_words '-log(-log(1 - v))' '--dist gumbel'
check "normal numbers have a mean and a deviation" \
	of_normals '-3 + 0.5 * x' '--dist normal --mean -3 --std 0.5'
check "log-normal numbers are exponentials of normal ones" \
	of_normals 'exp(x)' '--dist log-normal'
check "log-normal numbers have a mean and a deviation" \
	of_normals 'exp(1 + 0.25 * x)' '--dist log-normal --mean 1 --std 0.25'
check "p of 0 gives zeros" prints '0x0p+0 0x0p+0 0x0p+0' \
	--dist bernoulli --count 3 --p 0
check "p of 1 gives ones" prints '0x1p+0 0x1p+0 0x1p+0' \
	--dist bernoulli --count 3 --p 1 --dtype bf16

# torch.rand(5000) after torch.manual_seed(42), on a GPU of 2 x 1024 threads
check "--layout pytorch draws PyTorch's numbers" \
	prints '0x1.39d5ep-1' --layout pytorch --seed 42 --dist uniform \
	--sms 2 --threads-per-sm 1024 --elements 5000 --count 1
check "--layout triton draws Triton's words" prints 'f8e4cca4' \
	--layout triton --first 1 --count 1
check "a layout without a tensor's end is drawn up to 2^64" \
	lines 2 '^[0-9a-f]{8}$' --layout triton --first 0xfffffffffffffff0 \
	--count 2
check "--layout default is the same as none" same '--layout default' ''
check "a layout without such numbers is refused" \
	refuses 'layout triton has no dist bernoulli' \
	--layout triton --dist bernoulli
check "a tensor of PyTorch needs an end" \
	refuses "--count '0': goes past the tensor's end with --layout pytorch" \
	--layout pytorch --first 4 --count 0
check "a tensor ends where the option says" \
	refuses "--count '0x0': goes past the tensor's end" \
	--layout triton --elements 5 --count 0x0
check "an unknown layout is refused" refuses 'layout' --layout other

check "sixteen words are the default" lines 16 '^[0-9a-f]{8}$'
check "f32 is the default of the other distributions" \
	same '--dist normal' '--dist normal --dtype f32'
check "normal numbers are hex floats" \
	lines 1000 '^-?0x1(\.[0-9a-f]{1,6})?p[-+][0-9]+$' --dist normal \
	--count 1000
check "normal bf16 numbers are hex floats of eight bits" \
	lines 1000 '^-?0x1(\.[0-9a-f]{1,2})?p[-+][0-9]+$' --dist normal \
	--dtype bf16 --count 1000
check "more than a chunk is drawn" lines 40000 '^[0-9a-f]{8}$' --count 40000
check "chunks are one stream" same '--first 20000 --count 1 --seed 5' \
	'--first 20000 --count 1 --seed 0x5 --device host:sync'

draw --count 20001 --seed 5 | tail -n 1 >"$WORK/tail"
draw --first 20000 --count 1 --seed 5 >"$WORK/direct"
check "an element does not depend on where drawing began" \
	diff "$WORK/tail" "$WORK/direct"
check "the seed has 64 bits" differ '--seed 0x100000000' '--seed 0'
check "numbers are decimal or hex" \
	same '--seed 18446744073709551615' '--seed 0xFFFFFFFFFFFFFFFF'
check "the offset moves the stream" differ '--offset 4' '--offset 0'
check "without an end it ends at element 2^64 - 1" \
	lines 3 '^[0-9a-f]{8}$' --first 0xfffffffffffffffd --count 0

check "an axis begins with the same word" same '--axis op --count 1' \
	'--axis offset --count 1'
check "an axis begins with the same word, that of the seed" \
	same '--axis op --count 1 --seed 9' '--axis seed --count 1 --seed 9'
check "elements are the default axis" same '--axis element --seed 3' '--seed 3'
check "it begins with the same word of an operator's calls" \
	same '--axis op --count 1' '--axis call --count 1'
check "the axis of offsets is one of forwards" \
	same '--axis offset --first 3' '--axis offset --offset 12'
check "the axis of seeds is one of seeds" \
	same '--axis seed --first 3' '--axis seed --seed 3'
check "the axis of operators differs from the others" \
	differ '--axis op --first 3' '--axis seed --first 3'
check "calls of an operator are no operators" \
	differ '--axis op --first 3' '--axis call --first 3'
check "an order's items go round" same \
	'--axis order --first 0x8000000000000003' '--axis order --first 3'
check "an axis is drawn past a chunk" \
	lines 40000 '^[0-9a-f]{8}$' --axis op --count 40000

check "raw u32 is the text, little-endian" raw u32 4
check "raw u64 is the text, little-endian" raw u64 8
check "raw f32 has 4 bytes each" bytes 160000 --dist normal --count 40000
check "raw bf16 has 2 bytes each" \
	bytes 80000 --dist uniform --dtype bf16 --count 40000
check "raw f16 has 2 bytes each" \
	bytes 80000 --dist gumbel --dtype f16 --count 40000
check "raw f64 has 8 bytes each" \
	bytes 320000 --dist normal --dtype f64 --count 40000
check "raw i32 has 4 bytes each" \
	bytes 160000 --dist integers --dtype i32 --count 40000
check "raw i64 has 8 bytes each" bytes 320000 --dist integers --count 40000
check "a closed pipe ends endless text quietly" closed_pipe
check "a closed pipe ends endless raw output quietly" \
	closed_pipe --format raw --dist normal
check "a full disk is an error" full_disk

check "a word for a number" refuses "--seed 'seven':" --seed seven
check "a negative number" refuses "--count '-1':" --count -1
check "a number with a tail" refuses "--first '12k':" --first 12k
check "a number of more than 64 bits" \
	refuses "--seed '18446744073709551616':" --seed 18446744073709551616
check "an empty number" refuses "--offset '':" --offset ''
check "half a hex number" refuses "--seed '0x':" --seed 0x
check "an offset that is no multiple of 4" refuses "--offset '6':" --offset 6
five="bits, uniform, normal, bernoulli, log-normal"
check "an unknown distribution names the known ones" \
	refuses "--dist 'cauchy': must be one of $five" --dist cauchy
check "dropout cannot be drawn" refuses "--dist 'dropout':" --dist dropout
check "an unknown dtype" refuses "--dtype 'f8':" --dtype f8
check "bits as floats" refuses "--dtype 'f32':" --dtype f32
check "uniform numbers as words" \
	refuses "--dtype 'u32': must be one of f32, f64, bf16, f16" \
	--dist uniform --dtype u32
check "integers as floats" \
	refuses "--dtype 'f64': must be one of u32, u64, i32, i64" \
	--dist integers --dtype f64
check "signed bits" refuses "--dtype 'i32': must be one of u32, u64" \
	--dtype i32
check "an empty range" refuses '[2, 1) of dist uniform is empty' \
	--dist uniform --low 2
check "a range outside the dtype" refuses 'high of dist uniform is 100000' \
	--dist uniform --dtype f16 --high 100000
check "a range that is infinite in PyTorch's dtype" \
	refuses 'layout pytorch cannot take [low, high) = [-65504, 65504)' \
	--layout pytorch --dist uniform --dtype f16 --low -65504 --high 65504
check "an infinite range" refuses "--low '-inf': must be a finite number" \
	--dist uniform --low -inf
check "a mean that is a word" refuses "--mean 'three':" --dist normal \
	--mean three
check "a deviation of 0" refuses 'std of dist normal is 0' \
	--dist normal --std 0
check "a rate below 0" refuses 'rate of dist exponential is -1' \
	--dist exponential --rate -1
check "a reversed range of integers" refuses 'from 10 to 9' \
	--dist integers --from 10
check "an integer past its dtype" refuses \
	"--to '2147483648': must be a whole number from -2147483648 to 2147483647" \
	--dist integers --dtype i32 --to 2147483648
check "an integer below its dtype" \
	refuses "--from '-9223372036854775809':" \
	--dist integers --from -9223372036854775809
check "a negative integer without a sign" refuses "--from '-1':" \
	--from -1 --dist integers --dtype u64
check "an integer that is none" refuses "--to '--5':" --dist integers --to --5
check "p above 1" refuses "--p '1.5':" --dist bernoulli --p 1.5
check "p below 0" refuses "--p '-0.5':" --dist bernoulli --p -0.5
check "p that is not a number" refuses "--p 'nan':" --dist bernoulli --p nan
check "p that is a word" refuses "--p 'half':" --dist bernoulli --p half
check "an unknown format" refuses "--format 'csv':" --format csv
check "an unknown axis" refuses "--axis 'region':" --axis region
check "an axis of something other than words" refuses \
	"--axis 'op': needs --dist bits with --dtype u32" --axis op --dtype u64
check "an axis of distributions" refuses "--axis 'offset':" --axis offset \
	--dist normal
check "an axis on a GPU" refuses \
	"--axis 'seed': needs --device host, not cuda" --axis seed --device cuda
check "elements past 2^64" \
	refuses "--count '2':" --first 0xffffffffffffffff --count 2
check "elements past 2^64 without a count" \
	refuses "--count '16':" --first 0xffffffffffffffff
check "an unknown device" refuses 'nowhere' --device nowhere
check "the range of a number" refuses \
	'must be a whole number from 0 to 18446744073709551615' --count -1
check "a hex number is shown as it was given" refuses \
	"--offset '0x6': must be a multiple of 4" --offset 0x6
check "a hex count is shown as it was given" refuses \
	"--count '0x2': " --first 0xffffffffffffffff --count 0x2
check "p of a distribution without one" refuses \
	"--p '0.5': needs --dist bernoulli, not normal" --dist normal --p 0.5
check "a range of a distribution without one" refuses \
	"--high '2': needs --dist uniform or truncated-normal, not bits" --high 2
check "categories without weights" \
	refuses "weights: all weights are 0" --dist categorical --weights 0,0
check "a weight below 0" refuses "weight 1 is -2" \
	--dist categorical --weights 1,-2,3
for weights in '' , 1, ,1 1,,2 1,x inf; do
	check "weights '$weights'" refuses "must be a finite number" \
		--dist categorical --weights "$weights"
done
check "too many weights" refuses 'has more than 1024 weights' \
	--dist categorical --weights "$(seq -s, 1025)"
check "a mean of a distribution without one" refuses \
	"--mean '1': needs --dist normal, log-normal or truncated-normal, not gumbel" \
	--dist gumbel --mean 1
check "a rate of a distribution without one" refuses \
	"--rate '1': needs --dist exponential, not normal" --dist normal --rate 1
check "an order that is too short" refuses \
	"the span's last element is 6, not below n 5" \
	--dist permutation --n 5 --count 7
check "an order without an end" refuses "--count '0': needs --n" \
	--dist permutation --count 0
check "an order that its dtype has no room for" refuses \
	'not from 1 to 2147483648 (dtype i32)' \
	--dist permutation --dtype i32 --n 2147483649
check "integers of a distribution without them" refuses \
	"--to '1': needs --dist integers, not uniform" --dist uniform --to 1
# option VALUE LAYOUT...: has no meaning for other layouts and without one
while read -r option value has; do
	for layout in none default curand_device curand_host pytorch nvfuser \
		triton jax; do
		chosen=$layout
		with="--layout $layout"
		[ $layout = none ] && chosen=default with=
		case " $has " in
		*" $chosen "*)
			# shellcheck disable=SC2086
			check "--$option of layout $layout" \
				lines 1 '^0x[01][.0-9a-f]*p' --dist uniform \
				$with "--$option" "$value" --count 1
			continue
			;;
		esac
		need="needs --layout ${has%% *}, not $chosen"
		[ "$option" = elements ] && need="needs a --layout"
		# shellcheck disable=SC2086
		check "--$option without its layout: $layout" \
			refuses "--$option '$value': $need" $with \
			"--$option" "$value"
	done
done <<'END'
threads 0x100 curand_device
sms 4 pytorch
threads-per-sm 0x400 pytorch
elements 0x10 curand_device curand_host pytorch nvfuser triton jax
END
check "a tensor of nothing" refuses "--elements '0': must be" \
	--layout triton --elements 0
check "a tensor's end without a layout beside an axis" \
	refuses "--elements '5': needs a --layout" --axis op --elements 5
check "an axis of a layout's threads" \
	refuses "--threads '5': needs --layout curand_device" --axis op --threads 5
check "an axis of another library's words" \
	refuses "--axis 'op': goes with no --layout" --axis op --layout triton
for option in low high mean std rate p; do
	case $option in
	low | high) dist=uniform ;;
	mean | std) dist=normal ;;
	rate) dist=exponential ;;
	p) dist=bernoulli ;;
	esac
	for value in ' 0.5' '0.5 ' '' 0.5x 1e999 0x; do
		check "--$option of '$value'" refuses "--$option '$value': must" \
			--dist $dist --$option "$value"
	done
done
# option=VALUE DIST...: has no meaning for the other distributions
while read -r option value has; do
	for dist in bits uniform normal bernoulli log-normal exponential \
		gumbel integers permutation truncated-normal categorical; do
		case " $has " in
		*" $dist "*)
			check "--$option of $dist" lines 1 . --dist $dist \
				"--$option" "$value" --count 1
			continue
			;;
		esac
		check "--$option of $dist, which does not have it" \
			refuses "--$option '$value': needs --dist ${has%% *}" \
			--dist $dist "--$option" "$value"
	done
done <<'END'
low 0.25 uniform truncated-normal
n 5 permutation
weights 1,2 categorical
high 0.75 uniform truncated-normal
mean 2 normal log-normal truncated-normal
std 2 normal log-normal truncated-normal
rate 2 exponential
p 0.25 bernoulli
from 3 integers
to 5 integers
END
for option in seed offset first count threads sms threads-per-sm elements; do
	for value in -4 +4 ' 4' 4x 4.0 1e2 0x 18446744073709551616; do
		check "--$option of '$value'" refuses "--$option '$value': must" \
			--$option "$value"
	done
done
for option in from to; do
	for value in -- +4 ' 4' 4x -9223372036854775809 \
		9223372036854775808; do
		check "--$option of '$value'" refuses "--$option '$value': must" \
			--dist integers --$option "$value"
	done
done
check "threads of a layout past 32 bits" \
	refuses "--threads '4294967296': must" --layout curand_device \
	--threads 4294967296
check "an axis of integers" refuses "--axis 'op':" --axis op \
	--dist integers --dtype u32
check "a missing value" refuses '--seed: needs a value' --seed
check "an unknown option" refuses "unknown option '--sead'" --sead 5
check "an unknown letter" refuses "unknown option '-s'" -s
check "an option cut too short" refuses \
	"'--d' could be one of --device, --dist, --dtype" --d 5
check "an argument too many" refuses "unexpected argument '5'" 5
finish
