#!/bin/sh
# The public headers follow the rules of tests/scripts/interface/header_rules.py, for
# comments and for names, and the glossary names functions that exist.
cd "$(dirname "$0")/../../.." && . tests/report.sh || exit 1

# A header that breaks each rule; the lines that are reported, below
breaks()
{
	mkdir -p "$WORK/odd/philox" && echo >"$WORK/odd/philox.h" || return 1
	cat >"$WORK/odd/philox/odd.h" <<-'END'
		/* philox/odd.h - odd */
		struct philox_odd;
		struct philox_strange {
			size_t size;
			enum philox_status status;
			uint32_t n;
		};
		struct philox_late {
			uint32_t id;
			size_t size;
		};

		/*
		 * philox_odd_old() is of the older form.
		 *
		 *   other  no parameter
		 */
		PHILOX_API enum philox_status philox_odd_old(struct philox_odd *odd);

		/*
		 * Do something without a full stop
		 *
		 *   odd   the object
		 *   size  bytes
		 *
		 * Threads: any.
		 * Returns PHILOX_OK.
		 * Errors:
		 *   none
		 * During capture: legal.
		 */
		PHILOX_API enum philox_status philox_odd_do(struct philox_odd *odd,
							    size_t size);

		PHILOX_API void philox_odd_destroy(struct philox_odd *odd);
		PHILOX_API void philox_do(struct philox_odd *odd, size_t n,
					  philox_stream stream);
		PHILOX_API void philox_odd_make(const struct philox_strange *made);
		PHILOX_API void philox_odd_get(struct philox_strange *found);
	END
	! python3 tests/scripts/interface/header_rules.py "$WORK/odd"
}

each_break_is_found()
{
	breaks >"$WORK/found" || return 1
	cat "$WORK/found"
	while read -r line; do
		grep -qF "$line" "$WORK/found" || {
			echo "not found: $line"
			return 1
		}
	done <<-'END'
		odd.h:1: philox.h does not include it
		odd.h:5: struct philox_strange: enum philox_status status: an enumerator is a uint32_t
		odd.h:6: struct philox_strange: a member is called 'n'
		odd.h:10: struct philox_late: a member is called 'size'
		odd.h:18: philox_odd_old: the comment does not begin with an imperative
		odd.h:18: philox_odd_old: parameter odd is not listed
		odd.h:18: philox_odd_old: other is listed and no parameter
		odd.h:18: philox_odd_old: no line 'Returns'
		odd.h:18: philox_odd_old: no line 'Errors:'
		odd.h:18: philox_odd_old: no line 'During capture:'
		odd.h:18: philox_odd_old: no line 'Threads:'
		odd.h:32: philox_odd_do: its first line is no sentence
		odd.h:32: philox_odd_do: Returns, Errors, During capture, Threads are not in this order, once each
		odd.h:32: philox_odd_do: a parameter is called 'size'
		odd.h:35: philox_odd_destroy: no comment directly before it
		odd.h:35: philox_odd_destroy: a destroy returns enum philox_status
		odd.h:36: philox_do: its first parameter is a philox_odd
		odd.h:36: philox_do: its stream is not the second parameter
		odd.h:36: philox_do: a parameter is called 'n'
		odd.h:38: struct philox_strange: its name does not end in _desc
		odd.h:39: struct philox_strange: its name does not end in _info or _stats
	END
}

too_many_are_found()
{
	mkdir -p "$WORK/many/philox" || return 1
	i=0
	while [ $i -lt 30 ]; do
		echo "/* philox/h$i.h - odd */" >"$WORK/many/philox/h$i.h"
		echo "#include <philox/h$i.h>"
		i=$((i + 1))
	done >"$WORK/many/philox.h"
	! python3 tests/scripts/interface/header_rules.py "$WORK/many" >"$WORK/found" &&
		cat "$WORK/found" && grep -q ':1: 30 headers' "$WORK/found"
}

a_wrong_name_is_found()
{
	echo 'philox_no_such()' >"$WORK/page" &&
		! python3 tests/scripts/interface/header_rules.py names include "$WORK/page"
}

check "the headers follow the rules" \
	python3 tests/scripts/interface/header_rules.py include
check "each break of a rule is found" each_break_is_found
check "too many headers are found" too_many_are_found
check "the glossary names what exists, in short sentences" \
	python3 tests/scripts/interface/header_rules.py names include doc/glossary.md
check "a name that does not exist is found" a_wrong_name_is_found
finish
