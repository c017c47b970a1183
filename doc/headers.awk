# doc/headers.awk - the headers in include/, read into arrays
#
# The headers are the manual. How their comments are formed:
#
#  - The first comment of a header begins with its path, " - " and a title.
#  - A comment belongs to the declarations that follow it, up to the next
#    comment; those that share one are a group. A type without a comment is a
#    group of its own.
#  - A comment like this begins a section:  /* --- tables ------------------ */
#  - A comment that is followed by an empty line and another comment is about
#    what follows in its section, and stands at the section's beginning.
#
# doc/text.awk says how the text in a comment is formed.
#
# What is read:
#
#   n_headers, header[h] (philox/pass.h), title[h], n_items[h]
#   item[h, i]       "text", "section" or "group"
#   words[h, i]      its text: paragraphs, or the section's title
#   n_members[h, i]  of a group; each is a member[h, i, k]: "function", "type",
#                    "macro" or "code", with name[h, i, k] ("" for code)
#   code[h, i, k]    C; for functions a prototype in one line, see prototype()
#   opaque[h]        names of types that users cannot look into
#   neighbours[h]    the headers it includes, or names in its text
#   home[name]       the header, by number, of a function, macro or type: the
#                    names of types begin with "struct " or "enum "
#   constant[name]   the enum that has this constant

# C without its comments
function bare(s, from, to)
{
	while ((from = index(s, "/*")) > 0) {
		to = index(substr(s, from + 2), "*/")
		if (!to)
			return substr(s, 1, from - 1)
		s = substr(s, 1, from - 1) substr(s, from + to + 3)
	}
	return s
}

# --- what was found -----------------------------------------------------------

function add_item(kind, text)
{
	n_items[H]++
	item[H, n_items[H]] = kind
	words[H, n_items[H]] = text
	n_members[H, n_items[H]] = 0
}

# A comment that no declaration took
function end_comment()
{
	if (comment == "")
		return
	if (open_group)
		fail(path_read ": a comment belongs to nothing; let it follow a " \
			"section's line: " substr(comment, 1, 60))
	add_item("text", comment)
	comment = ""
}

# May a declaration without a comment share that of the ones before it?
function joins(kind, name_, i, k, before)
{
	i = n_items[H]
	k = n_members[H, i]
	before = member[H, i, k]
	if (kind == "type" || before == "type")
		return kind == before && name_ !~ / / && name[H, i, k] !~ / /
	return 1
}

function add_member(kind, name_, text, i, k)
{
	if (comment != "" || !open_group || !joins(kind, name_))
		add_item("group", comment)
	comment = ""
	open_group = 1
	i = n_items[H]
	k = ++n_members[H, i]
	member[H, i, k] = kind
	name[H, i, k] = name_
	code[H, i, k] = text
	if (name_ != "")
		home[name_] = H
}

# --- comments -----------------------------------------------------------------

# The text of a comment that begins in line I: its lines without their stars
function read_comment(text, line)
{
	text = ""
	do {
		line = expand_tabs(L[I])
		sub(/^\/\*/, " *", line)
		sub(/ *\*\/$/, "", line)
		sub(/^ \* ?/, "", line)
		text = text line "\n"
	} while (L[I] !~ /\*\/[ \t]*$/ && I++ < N)
	sub(/^\n+/, "", text)
	sub(/\n+$/, "", text)
	return text
}

function first_comment(text, at)
{
	at = index(text, "\n\n")
	title[H] = at ? substr(text, 1, at - 1) : text
	gsub(/ *\n */, " ", title[H])
	if (index(title[H], header[H] " - ") != 1)
		fail(path_read ": its first comment does not begin with '" \
			header[H] " - '")
	title[H] = substr(title[H], length(header[H]) + 4)
	if (at)
		add_item("text", substr(text, at + 2))
}

function take_comment(text)
{
	text = read_comment()
	if (text ~ /^clang-format (on|off)$/)
		return
	if (text ~ /^-+ .* -+$/) {
		end_comment()
		gsub(/^-+ | -+$/, "", text)
		add_item("section", text)
		open_group = 0
	} else if (title[H] == "") {
		first_comment(text)
	} else {
		end_comment()
		comment = text
	}
}

# --- declarations -------------------------------------------------------------

# The lines from line I on, up to one that matches the pattern
function lines_until(pattern, text)
{
	text = L[I]
	while (bare(L[I]) !~ pattern && I < N)
		text = text "\n" L[++I]
	return text
}

# A block of preprocessor lines, from #if to its #endif
function read_condition(text, depth)
{
	text = ""
	do {
		text = text L[I] "\n"
		if (L[I] ~ /^# *if/)
			depth++
		else if (L[I] ~ /^# *endif/)
			depth--
	} while (depth > 0 && I++ < N)
	sub(/\n$/, "", text)
	return text
}

# Names that a piece of C defines as macros or types
function add_names(text, n, line, i, found)
{
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++) {
		found = line[i]
		if (found ~ /^#define [A-Za-z_0-9]+/) {
			found = macro_name(line[i])
			macro[found] = line[i]
		} else if (match(found, /^typedef .* [a-z_0-9]+;/))
			gsub(/.* |;.*/, "", found)
		else
			continue
		if (index(inside[H, n_items[H]] " ", " " found " "))
			continue
		inside[H, n_items[H]] = inside[H, n_items[H]] " " found
		if (found ~ /^philox|^PHILOX/)
			home[found] = H
	}
}

function take_condition(text, rest)
{
	text = read_condition()
	rest = bare(text)
	gsub(/(^|\n)#[ \t]*(if|el|endif|include|undef)[^\n]*/, "", rest)
	gsub(/extern "C" \{|\}/, "", rest)
	if (trim(rest) == "")
		return
	add_member("code", "", text)
	add_names(text)
}

function macro_name(text)
{
	match(text, /^#define [A-Za-z_0-9]+/)
	return substr(text, 9, RLENGTH - 8)
}

function take_macro(text, name_)
{
	text = L[I]
	while (L[I] ~ /\\$/ && I < N)
		text = text "\n" L[++I]
	name_ = macro_name(text)
	macro[name_] = text
	add_member("macro", name_, text)
}

# A prototype in one line: type, tab, name, tab, parameters with tabs between
function prototype(text, open, at, depth, c, start)
{
	text = bare(text)
	gsub(/[ \t\n]+/, " ", text)
	gsub(/ ?__asm__\([^)]*\)/, "", text)
	sub(/^((PHILOX_(API|FN|RARE)|static|inline|extern) )+/, "", text)
	sub(/ ?[;{][^)]*$/, "", text)
	open = index(text, "(")
	start = substr(text, 1, open - 1)
	match(start, /[A-Za-z_0-9]+$/)
	start = trim(substr(start, 1, RSTART - 1)) "\t" substr(start, RSTART) "\t"
	for (at = open + 1; at < length(text); at++) {
		c = substr(text, at, 1)
		if (c == "(" || c == ")")
			depth += c == "(" ? 1 : -1
		start = start (c == "," && !depth ? "\t" : c)
	}
	gsub(/\t /, "\t", start)
	return start
}

function take_function(text, part, line)
{
	text = prototype(text)
	split(text, part, "\t")
	add_member("function", part[2], text)
}

# The constants of an enum, and the lines of a list macro that stand for some
function expand_list(text, n, line, i, out, list, m, entry, k, part, prefix)
{
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++) {
		if (match(line[i], /^#define [A-Z_]+\(.*\) [A-Z_]+##/)) {
			prefix = line[i]
			sub(/##.*/, "", prefix)
			sub(/.* /, "", prefix)
		}
		if (line[i] ~ /^#/)
			continue
		list = trim(line[i])
		sub(/\(.*/, "", list)
		if (!(list in macro)) {
			out = out line[i] "\n"
			continue
		}
		m = split(macro[list], entry, "\n")
		for (k = 2; k <= m; k++) {
			gsub(/^[ \t]*X\(|\)[ \t\\]*$/, "", entry[k])
			split(entry[k], part, /, /)
			sub(/^[^"]*"/, "", entry[k])
			sub(/"$/, "", entry[k])
			out = out "\t/* " entry[k] " */\n\t" prefix part[1] \
				" = " part[2] (k < m ? "," : "") "\n"
		}
	}
	sub(/\n$/, "", out)
	return out
}

function add_constants(text, type, n, line, i, found)
{
	sub(/^[^{]*\{/, "", text)
	n = split(bare(text), line, /[,\n]/)
	for (i = 1; i <= n; i++) {
		if (!match(line[i], /^[ \t]*PHILOX_[A-Z0-9_]+/))
			continue
		found = trim(substr(line[i], RSTART, RLENGTH))
		if (type != "") {
			constant[found] = type
			continue
		}
		home[found] = H
		inside[H, n_items[H]] = inside[H, n_items[H]] " " found
	}
}

# The name of a typedef, or the "struct x" of another type; "" if it has none
function type_name(text)
{
	if (text !~ /^typedef/) {
		sub(/[ \n]*\{.*/, "", text)
		return text ~ / / ? text : ""
	}
	text = trim(bare(text))
	sub(/;$/, "", text)
	if (match(text, /\(\*[a-z0-9_]+\)/))
		return substr(text, RSTART + 2, RLENGTH - 3)
	sub(/.*[ *}]/, "", text)
	return text
}

function take_type(text, name_)
{
	name_ = type_name(text)
	if (text ~ /^enum/)
		text = expand_list(text)
	add_member("type", name_, text)
	if (text ~ /^enum/)
		add_constants(text, name_)
}

# Data, by its name
function take_data(text, name_)
{
	sub(/^PHILOX_API /, "", text)
	name_ = bare(text)
	sub(/ *(\[|=|;).*/, "", name_)
	sub(/.*[ *]/, "", name_)
	add_member("code", name_, text)
}

function take_declaration(text, c)
{
	text = lines_until("(;|^\\{|[^=] \\{)[ \t]*$")
	c = bare(text)
	if (c ~ /^(struct|union|enum) [a-z0-9_]+;$/) {
		sub(/;$/, "", c)
		opaque[H] = opaque[H] "\n" c
	} else if (c ~ /^(struct|union|enum|typedef) [^()]*\{[ \t]*$/) {
		I++
		take_type(text "\n" lines_until("^\\}"))
	} else if (c ~ /^(typedef|enum [^()]*\{)/) {
		take_type(text)
	} else if (c ~ /\{[ \t]*$/) {
		lines_until("^\\}")
		take_function(text)
	} else if (c ~ /^(_S|s)tatic_assert/) {
		return
	} else if (c ~ /\(/) {
		take_function(text)
	} else {
		take_data(text)
	}
}

# --- a header -----------------------------------------------------------------

function add_neighbour(path)
{
	if (path != header[H] && index(neighbours[H] " ", " " path " ") == 0)
		neighbours[H] = neighbours[H] " " path
}

function take_include(line)
{
	sub(/^# *include </, "", line)
	sub(/>.*/, "", line)
	if (line ~ /^philox\//)
		add_neighbour(line)
}

function take_line(line)
{
	line = L[I]
	if (line ~ /^[ \t]*$/ || line ~ /^#(endif|undef)/)
		return
	if (line ~ /^\/\*/)
		take_comment()
	else if (line ~ /^#include/)
		take_include(line)
	else if ((line ~ /^#ifndef __CUDACC_RTC__$/ && L[I + 1] == "") ||
		 line ~ /^#ifndef PHILOX_.*_HP*$/ || line ~ /^#define PHILOX_.*_HP*$/)
		return
	else if (line ~ /^#if/)
		take_condition()
	else if (line ~ /^#define/)
		take_macro()
	else if (line !~ /^extern "C"/ && line !~ /^\}/)
		take_declaration()
}

function name_neighbours(text)
{
	while (match(text, /philox\/[a-z0-9_]+\.h/)) {
		add_neighbour(substr(text, RSTART, RLENGTH))
		text = substr(text, RSTART + RLENGTH)
	}
}

function read_header(path, line, i)
{
	H = ++n_headers
	path_read = path
	header[H] = path
	sub(/.*include\//, "", header[H])
	title[H] = comment = ""
	open_group = N = 0
	while ((i = (getline line <path)) > 0)
		L[++N] = line
	if (i < 0 || !N)
		fail("cannot read " path)
	close(path)
	for (I = 1; I <= N; I++)
		take_line()
	end_comment()
	for (i = 1; i <= n_items[H]; i++)
		name_neighbours(words[H, i])
}

# A type that one header declares and another shows is not opaque
function drop_shown(h, n, part, i)
{
	n = split(opaque[h], part, "\n")
	opaque[h] = ""
	for (i = 1; i <= n; i++)
		if (part[i] != "" && !(part[i] in home)) {
			opaque[h] = opaque[h] (opaque[h] == "" ? "" : "\n") part[i]
			hidden[part[i]] = h
		}
}

function end_headers(h, n, part, i)
{
	for (h = 1; h <= n_headers; h++)
		drop_shown(h)
	for (i in hidden)
		home[i] = hidden[i]
}
