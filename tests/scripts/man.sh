#!/bin/sh
# The manual: nothing that a header or a help text says is lost on the way to
# its page, every name has a page, and pages are well formed; completion offers
# what the help texts list.
cd "$(dirname "$0")/../.." && . tests/report.sh || exit 1

manual=$BUILD/doc
man=$manual/man
philox=$BUILD/philox
headers=$(ls include/philox/*.h)
commands=$("$philox" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')

has()
{
	command -v "$1" >"$WORK/which"
}

# made_by AWK NAME: the manual in $WORK/NAME, by this awk
made_by()
{
	awk=$1
	name=$2
	shift 2
	SOURCE_DATE_EPOCH=86400 make -o "$philox" HELP_OF="$philox" AWK="$awk" \
		MANUAL="$WORK/$name" "$@" "$WORK/$name/man.made" \
		"$WORK/$name/html/index.html" "$WORK/$name/completion/philox"
}

# --- names --------------------------------------------------------------------

# shellcheck disable=SC2086 # no header's name has a blank
functions()
{
	sed -n 's/^\t\(philox_[a-z0-9_]*\);$/\1/p' lib/base/philox.map
	sed -n 's/^\(PHILOX_FN\|PHILOX_RARE\|static inline\) .*[ *]\(philox_[a-z0-9_]*\)(.*/\2/p' \
		$headers
}

# shellcheck disable=SC2086
types()
{
	sed -n 's/^\(struct\|enum\) \(philox_[a-z0-9_]*\)\( {\|;\)$/\2/p' $headers
	sed -n 's/^typedef .*\(philox_[a-z_]*\);.*/\1/p' $headers
}

# macros: those of the headers, but for include guards
# shellcheck disable=SC2086
macros()
{
	sed -n 's/^#define \([A-Za-z0-9_]*\).*/\1/p' $headers |
		grep -v '_H$\|^PHILOX_STATUS_ENUM$'
}

# have_pages MINIMUM: each name read has a page, which shows the name
have_pages()
{
	sort -u >"$WORK/names"
	wc -l <"$WORK/names"
	while read -r name; do
		[ -s "$man/man3/$name.3" ] && grep -q "$name" "$man/man3/$name.3" ||
			echo "no $name"
	done <"$WORK/names" >"$WORK/missing"
	cat "$WORK/missing"
	[ ! -s "$WORK/missing" ] && [ "$(wc -l <"$WORK/names")" -ge "$1" ]
}

functions_have_pages()
{
	functions | have_pages 200
}

types_have_pages()
{
	types | have_pages 40
}

macros_have_pages()
{
	macros | have_pages 30
}

headers_and_commands_have_pages()
{
	for header in $headers; do
		[ -f "$man/man3/philox_$(basename "$header").3" ] || echo "$header"
	done >"$WORK/missing"
	for command in $commands; do
		[ -f "$man/man1/philox-$command.1" ] || echo "$command"
	done >>"$WORK/missing"
	cat "$WORK/missing"
	[ ! -s "$WORK/missing" ] && [ -f "$man/man1/philox.1" ] &&
		[ -f "$man/man7/philox.7" ]
}

# --- forms --------------------------------------------------------------------

pages()
{
	find "$man" -type f -name '*.[137]' | LC_ALL=C sort
}

# mandoc looks for other pages only where the system has its own: a page that it
# does not find may be one of ours
lint_is_clean()
{
	pages >"$WORK/pages"
	xargs mandoc -Tlint <"$WORK/pages" >"$WORK/lint" 2>&1
	sed 's/.*referenced manual not found: Xr \([^ ]*\) \([0-9]\).*/\1 \2/; t
		s/^/finding: /' "$WORK/lint" | sort -u | while read -r name section; do
		[ -f "$man/man$section/$name.$section" ] || echo "$name $section"
	done >"$WORK/findings"
	cat "$WORK/findings"
	[ ! -s "$WORK/findings" ] && [ "$(wc -l <"$WORK/pages")" -gt 20 ]
}

groff_is_content()
{
	for page in $(pages); do
		groff -mdoc -Tascii -ww "$page" 2>&1 >"$WORK/text" |
			sed "s|^|$page: |"
	done >"$WORK/warnings"
	cat "$WORK/warnings"
	[ ! -s "$WORK/warnings" ]
}

# Text, but not C, has no leftovers of comments; no text has macros
no_leftovers()
{
	pages | xargs awk '
		/^\.Bd/ { within = 1 }
		/^\.Ed/ { within = 0 }
		!within && (/\/\*|\*\// || /^[ \t]*\*( |$)/ || /`/) {
			print FILENAME ": " $0
		}' >"$WORK/left"
	cat "$WORK"/mandoc/* | grep -E \
		'^ *\.[A-Z][a-z]( |$)|\\&|\\\(|(^| )(Ns|Pf|Fn|Dv|Vt|Xr) ' \
		>>"$WORK/left"
	cat "$WORK/left"
	[ ! -s "$WORK/left" ]
}

# Text and C alike, as long as the headers have 80 columns
fits_80_columns()
{
	mkdir "$WORK/narrow"
	for page in $(pages); do
		mandoc -Tascii "$page" | col -bx \
			>"$WORK/narrow/$(basename "$page")"
	done
	awk 'length($0) > 80 { print FILENAME ": " $0 }' "$WORK"/narrow/* \
		>"$WORK/wide"
	cat "$WORK/wide"
	[ ! -s "$WORK/wide" ] && [ "$(cat "$WORK"/narrow/* | wc -l)" -gt 2000 ]
}

# --- words --------------------------------------------------------------------

# nothing_is_lost FORMAT: texts of all pages are in $WORK/FORMAT
# shellcheck disable=SC2086 # no header's name has a blank
nothing_is_lost()
{
	mkdir -p "$WORK/helps"
	for command in $commands; do
		"$philox" help "$command" >"$WORK/helps/$command"
	done
	python3 tests/scripts/manual.py words "$WORK/$1" include/philox.h $headers &&
		python3 tests/scripts/manual.py help "$WORK/$1" "$WORK"/helps/*
}

# Wide lines: a word of a help text that is broken would not be found
texts_of()
{
	mkdir "$WORK/$1"
	if [ "$1" = html ]; then
		python3 tests/scripts/manual.py text "$manual/html" "$WORK/html"
		return
	fi
	for page in $(pages); do
		name=$WORK/$1/$(basename "$page")
		case $1 in
		mandoc) mandoc -Tutf8 -O width=900 "$page" ;;
		groff) groff -mdoc -Tutf8 -rLL=900n "$page" ;;
		esac | LC_ALL=C.UTF-8 col -b >"$name"
		[ -s "$name" ] || return 1
	done
}

# Once more by hand, with the name that a user would type
shows_a_prototype()
{
	mandoc -Tascii -O width=72 "$man/man3/philox_forward_begin.3" | col -b |
		tr -s '\n\t ' '   ' >"$WORK/page"
	cat "$WORK/page"
	grep -q 'enum philox_status philox_forward_begin(struct philox_region \*region, philox_stream stream, unsigned flags, struct philox_pass \*pass);' "$WORK/page"
}

# shellcheck disable=SC2086
sections_of_functions()
{
	python3 tests/scripts/manual.py sections "$WORK/mandoc" $headers
}

a_lost_word_is_found()
{
	mkdir "$WORK/cut" && sed 's/ticket//' \
		"$WORK/mandoc/philox_pass.h.3" >"$WORK/cut/philox_pass.h.3" &&
		! python3 tests/scripts/manual.py words "$WORK/cut" \
			include/philox/pass.h
}

# --- how it is made -----------------------------------------------------------

same_by()
{
	made_by "$1" other >"$WORK/made" 2>&1 || cat "$WORK/made"
	[ ! -s "$WORK/made" ] || ! grep -i 'warn\|error' "$WORK/made" || return 1
	diff -r "$WORK/first" "$WORK/other"
	same=$?
	rm -rf "$WORK/other"
	return $same
}

follows_source_date_epoch()
{
	grep -q '^\.Dd January 2, 1970$' "$WORK/first/man/man7/philox.7"
}

# A comment that no page would show
stray_comment_is_refused()
{
	mkdir -p "$WORK/stray" && cp -R include "$WORK/stray" &&
		printf '\n/* Nothing is here. */\n' \
			>>"$WORK/stray/include/philox/state.h" || return 1
	! made_by awk stray/doc HEADERS="$(find "$WORK/stray/include" -name '*.h' |
		LC_ALL=C sort | tr '\n' ' ')" >"$WORK/said.stray" 2>&1 &&
		cat "$WORK/said.stray" &&
		grep -q 'philox/state.h: a comment belongs to nothing' \
			"$WORK/said.stray"
}

# has_all_sections TEXT: the text of a page of a function
has_all_sections()
{
	cat "$1"
	grep '^[A-Z ]*$' "$1" | grep . | tr '\n' '|' >"$WORK/sections"
	printf '%s|' NAME SYNOPSIS PARAMETERS DESCRIPTION 'RETURN VALUES' \
		ERRORS 'DURING CAPTURE' THREADS SOURCE 'SEE ALSO' |
		diff - "$WORK/sections"
}

# Forms of C and of text that the headers may have one day
odd_forms_are_shown()
{
	mkdir -p "$WORK/odd/include/philox" &&
		cp include/philox.h "$WORK/odd/include" &&
		cp include/philox/status.h include/philox/status.h \
			"$WORK/odd/include/philox" &&
		cp tests/scripts/odd_header.txt \
			"$WORK/odd/include/philox/odd.h" || return 1
	made_by awk odd/doc HEADERS="$WORK/odd/include/philox.h $(echo \
		"$WORK"/odd/include/philox/*.h)" || return 1
	page=$WORK/odd/doc/man/man3/philox_odd.h.3
	cat "$page"
	grep '^\.S[hs]' "$page" | tr '\n' '|' >"$WORK/headings"
	printf '%s|' '.Sh NAME' '.Sh SYNOPSIS' '.Sh DESCRIPTION' \
		'.Ss Dv PHILOX_ODD_INIT , Dv PHILOX_ODD' \
		'.Ss Vt "struct philox_two"' '.Ss Vt "philox_odd_fn"' \
		'.Ss Vt "philox_odd_table"' '.Ss Dv PHILOX_ODD_A , Dv PHILOX_ODD_B' \
		'.Ss Fn philox_odd' '.Ss Fn philox_odd_add' \
		'.Ss Fn philox_odd_f32 , Fn philox_odd_f64' '.Sh SEE ALSO' | diff - "$WORK/headings" &&
		python3 tests/scripts/manual.py html "$WORK/odd/doc/html" ||
		return 1
	! mandoc -Tlint "$WORK"/odd/doc/man/man3/philox_odd* |
		grep -v 'referenced manual not found' &&
		mkdir "$WORK/odd/text" || return 1
	for name in .h _add _f32; do
		mandoc -Tutf8 -O width=900 \
			"$WORK/odd/doc/man/man3/philox_odd$name.3" |
			LC_ALL=C.UTF-8 col -b >"$WORK/odd/text/philox_odd$name.3"
	done
	has_all_sections "$WORK/odd/text/philox_odd_add.3" &&
		cmp "$WORK/odd/doc/man/man3/philox_odd_f32.3" \
			"$WORK/odd/doc/man/man3/philox_odd_f64.3" &&
		python3 tests/scripts/manual.py sections "$WORK/odd/text" \
			"$WORK/odd/include/philox/odd.h" &&
		python3 tests/scripts/manual.py words "$WORK/odd/text" \
			"$WORK/odd/include/philox/odd.h" &&
		grep -F "See e.g. this, x - y, a--b, ‘x’'s value and \"PHILOX_OK\"." \
			"$WORK/odd/text/philox_odd.h.3" &&
		grep -F '.Sh is no macro, \fB no font, ~ ^ no accents.' \
			"$WORK/odd/text/philox_odd.h.3"
}

# --- install ------------------------------------------------------------------

installs()
{
	make install-manual DESTDIR="$WORK/stage" PREFIX=/usr &&
		diff -r "$man" "$WORK/stage/usr/share/man" &&
		diff -r "$manual/html" "$WORK/stage/usr/share/doc/philox/html" &&
		diff "$manual/completion/philox" \
			"$WORK/stage/usr/share/bash-completion/completions/philox"
}

man_finds_a_function()
{
	MANPATH="$WORK/stage/usr/share/man" man philox_ticket_attach |
		grep -q 'enum philox_status'
}

uninstalls()
{
	make uninstall DESTDIR="$WORK/stage" PREFIX=/usr
	find "$WORK/stage" ! -type d
	[ -z "$(find "$WORK/stage" ! -type d)" ] &&
		[ ! -e "$WORK/stage/usr/share/doc/philox" ]
}

# --- completion ---------------------------------------------------------------

# completes LINE: what bash would offer at its end
completes()
{
	bash --norc -c '
		. "$1"
		COMP_LINE=$2 COMP_POINT=${#2}
		read -ra COMP_WORDS <<<"$2"
		[[ $2 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_philox philox "${COMP_WORDS[COMP_CWORD]}"
		printf "%s\n" "${COMPREPLY[@]}"' - "$manual/completion/philox" "$1"
}

# offers LINE WORD...: these and no others
offers()
{
	completes "$1" | LC_ALL=C sort >"$WORK/offered"
	shift
	printf '%s\n' "$@" | LC_ALL=C sort | diff - "$WORK/offered"
}

listed_options()
{
	"$philox" help "$1" | grep -oE '^  --[a-z0-9-]+|^  --[a-z-]+ [A-Z]+, --[a-z-]+' |
		grep -oE -e '--[a-z0-9-]+' | sort -u
}

all_options_are_offered()
{
	for command in $commands; do
		# shellcheck disable=SC2046 # no option has a blank
		offers "philox $command --" $(listed_options "$command") ||
			echo "$command"
	done >"$WORK/differ"
	cat "$WORK/differ"
	[ ! -s "$WORK/differ" ]
}

files_are_offered()
{
	offers "philox inspect include/philox/pa" include/philox/pass.h &&
		offers "philox train --save include/philox/pa" \
			include/philox/pass.h &&
		offers "philox diff include/philox/pass.h include/philox/pa" \
			include/philox/pass.h
}

# shellcheck disable=SC2086 # commands are words
commands_are_offered()
{
	offers "philox " $commands help --help --version &&
		offers "philox t" train && offers "philox help ma" matrix
}

words_are_offered()
{
	offers "philox draw --dist g" gumbel &&
		offers "philox draw --device=c" cuda &&
		offers "philox train --pool " expandable plain &&
		offers "philox train --device host:s" strict sync &&
		offers "philox bench --only fill --device h" host host:strict host:sync &&
		offers "philox bench --only s" states schedules &&
		offers "philox draw --format " text raw &&
		offers "philox draw --seed " ""
}

check "every function has a page" functions_have_pages
check "every type has a page" types_have_pages
check "every macro has a page" macros_have_pages
check "every header and every command has a page" \
	headers_and_commands_have_pages
if has mandoc; then
	check "mandoc finds nothing in the pages" lint_is_clean
	check "pages fit 80 columns" fits_80_columns
	check "pages become texts" texts_of mandoc
	check "no page has leftovers of comments or macros" no_leftovers
	check "no word of a header or a help text is lost" nothing_is_lost mandoc
	check "a word that is lost is found" a_lost_word_is_found
	check "a function's page has its prototype" shows_a_prototype
	check "a function's page has its sections, with what they say" \
		sections_of_functions
	check "odd forms of C and of text are shown" odd_forms_are_shown
else
	skip "mandoc's checks of the pages" "mandoc is not installed"
fi
if has groff && groff -mdoc -Tascii /dev/null >"$WORK/text" 2>&1; then
	check "groff finds nothing in the pages" groff_is_content
	check "groff makes texts of them" texts_of groff
	check "no word is lost by it" nothing_is_lost groff
else
	skip "groff's checks of the pages" "groff is not installed"
fi
check "tags are balanced and links lead somewhere" \
	python3 tests/scripts/manual.py html "$manual/html"
check "pages in HTML become texts" texts_of html
check "no word is lost in HTML" nothing_is_lost html
check "awk makes the manual" made_by awk first
check "SOURCE_DATE_EPOCH is the date of pages" follows_source_date_epoch
for awk in mawk gawk 'gawk --posix' original-awk 'busybox awk'; do
	if has "${awk%% *}"; then
		check "$awk makes the same bytes" same_by "$awk"
	else
		skip "$awk makes the same bytes" "it is not installed"
	fi
done
check "a comment that belongs to nothing is refused" stray_comment_is_refused
check "the manual is installed" installs
if has man; then
	check "man finds a function" man_finds_a_function
else
	skip "man finds a function" "man is not installed"
fi
check "nothing of it is left" uninstalls
check "completion offers every option that a help lists" \
	all_options_are_offered
check "completion offers commands" commands_are_offered
check "completion offers the words that options take" words_are_offered
check "completion offers files" files_are_offered
finish
