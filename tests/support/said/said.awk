# tests/support/said/said.awk - a macro for each public function that returns a
# status: said_begin(), its call, said_checked() (tests/support/said/said.h)
BEGIN { print "/* made by tests/support/said/said.awk from the public headers */" }
match($0, /^PHILOX_API enum philox_status philox_[a-z0-9_]+\(/) {
	name = substr($0, 31, RLENGTH - 31)
	printf "#define %s(...) \\\n\t(said_begin(), said_checked(\"%s\", %s(__VA_ARGS__)))\n",
		name, name, name
}
