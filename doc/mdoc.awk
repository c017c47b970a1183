# doc/mdoc.awk - pages in mdoc, for mandoc and groff
#
# A page is written line by line to the file `page`, dated `date`.

# --- characters ---------------------------------------------------------------

# Signs that groff would change, in lines that are shown as they are
function plain(s)
{
	gsub(/\\/, "\\e", s)
	gsub(/-/, "\\-", s)
	gsub(/'/, "\\(aq", s)
	gsub(/`/, "\\(ga", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/~/, "\\(ti", s)
	if (s ~ /^\./)
		s = "\\&" s
	return s
}

# The same in text, where apostrophes are apostrophes, and a hyphen is one
# between two letters
function roman(s, out, at)
{
	gsub(/\\/, "\\e", s)
	gsub(/`/, "\\(ga", s)
	gsub(/\^/, "\\(ha", s)
	gsub(/~/, "\\(ti", s)
	out = ""
	while ((at = index(s, "-")) > 0) {
		out = out substr(s, 1, at - 1)
		if (substr(out, length(out)) ~ /[A-Za-z0-9)]/ &&
		    substr(s, at + 1, 1) ~ /[A-Za-z]/)
			out = out "-"
		else
			out = out "\\-"
		s = substr(s, at + 1)
	}
	return out s
}

# A word on a macro's line: no macro, no end of a quotation
function word(s)
{
	s = roman(s)
	gsub(/"/, "\\(dq", s)
	if (s ~ /^[A-Z%][A-Za-z]?[a-z]?$/ || s ~ /^[.']/)
		s = "\\&" s
	if (s ~ / /)
		s = "\"" s "\""
	return s
}

function quoted_word(s)
{
	s = plain(s)
	gsub(/"/, "\\(dq", s)
	if (s ~ /^[A-Z%][A-Za-z]?[a-z]?$/ || \
	    (length(s) == 1 && index(".,:;?!()[]|", s)))
		s = "\\&" s
	return s ~ / / ? "\"" s "\"" : s
}

function put(line)
{
	print line >page
}

# --- text, a sentence to a line -----------------------------------------------

# One line of the source, filled
function fill_line(s, n, part, i, line)
{
	n = split(s, part, " ")
	line = ""
	for (i = 1; i <= n; i++) {
		if (line != "" && length(line) + length(part[i]) > 76) {
			put(line)
			line = ""
		}
		if (line == "" && part[i] ~ /^[.']/)
			part[i] = "\\&" part[i]
		line = line (line == "" ? "" : " ") part[i]
	}
	if (line != "")
		put(line)
}

# The end of the first sentence that is followed by another, or 0
function sentence_end(s, at, rest)
{
	rest = s
	at = 0
	while (match(rest, /[^ .?!][.?!][)"']* [A-Z"(]/)) {
		at += RSTART + RLENGTH - 3
		if (substr(s, 1, at) !~ /(vs|e\.g|i\.e|cf)\.$/)
			return at
		rest = substr(s, at + 1)
	}
	return 0
}

function put_words(s, at)
{
	s = trim(s)
	while ((at = sentence_end(s)) > 0) {
		fill_line(roman(substr(s, 1, at)))
		s = substr(s, at + 2)
	}
	fill_line(roman(s))
}

# --- marked words -------------------------------------------------------------

function call_macro(text, at, n, part, i, out)
{
	at = index(text, "(")
	out = "Fn " substr(text, 1, at - 1)
	n = split(substr(text, at + 1, length(text) - at - 1), part, /, /)
	for (i = 1; i <= n; i++)
		out = out " " quoted_word(part[i])
	return out
}

function macro_of(kind, text)
{
	if (kind == "quoted")
		return "Ql " quoted_word(substr(text, 2, length(text) - 2))
	if (kind == "type")
		return "Vt \"" text "\""
	if (kind == "call")
		return call_macro(text)
	if (kind == "name")
		return "Va " text
	if (kind == "command")
		return "Xr " substr(text, 1, length(text) - 3) " 1"
	if (kind == "constant")
		return (is_variable(text) ? "Ev " : "Dv ") text
	if (text == this_header || !(text in page_of))
		return "In " text
	return "Xr " page_of[text] " 3"
}

# A line with a marked word and what follows that without a blank: closing signs
# are words of their own
function suffixed(line, s, head, tail)
{
	head = s
	tail = ""
	while (head != "" && index(".,:;?!)]", substr(head, length(head)))) {
		tail = " " substr(head, length(head)) tail
		head = substr(head, 1, length(head) - 1)
	}
	return (head == "" ? line : closed(line) " Ns No " word(head)) tail
}

# A line to which something is added without a blank: Ql would quote that, too
function closed(line)
{
	if (match(line, /Ql ("[^"]*"|[^ ]+)$/))
		line = substr(line, 1, RSTART - 1) "So" \
			substr(line, RSTART + 2) " Sc"
	return line
}

function put_paragraph_text(s, kind, found, before, line, at)
{
	line = ""
	while ((kind = next_token(s)) != "") {
		found = macro_of(kind, substr(s, RSTART, RLENGTH))
		before = substr(s, 1, RSTART - 1)
		s = substr(s, RSTART + RLENGTH)
		if (line != "") {
			at = index(before, " ")
			if (!at) {
				line = closed(line) " Ns " \
					(before == "" ? "" : "No " word(before) " Ns ") \
					found
				continue
			}
			put(suffixed(line, substr(before, 1, at - 1)))
			before = substr(before, at + 1)
		}
		at = length(before)
		while (at > 0 && substr(before, at, 1) != " ")
			at--
		put_words(substr(before, 1, at))
		before = substr(before, at + 1)
		line = "." (before == "" ? "" : "Pf " word(before) " ") found
	}
	if (line != "") {
		at = index(s " ", " ")
		put(suffixed(line, substr(s, 1, at - 1)))
		s = substr(s, at + 1)
	}
	put_words(s)
}

# --- parts of a page ----------------------------------------------------------

function open_page(name_, section_, about)
{
	page = folder "/man" section_ "/" name_ "." section_
	after_heading = 1
	put(".\\\" Made from " about ", do not edit")
	put(".Dd " date)
	put(".Dt " toupper(name_) " " section_)
	put(".Os")
}

function close_page()
{
	close(page)
}

function put_name(name_, title_, n, part, i)
{
	put(".Sh NAME")
	n = split(name_, part, "\t")
	for (i = 1; i <= n; i++)
		put(".Nm " part[i] (i < n ? " ," : ""))
	put(".Nd " roman(title_))
}

function put_section(text)
{
	put(".Sh " toupper(roman(text)))
	after_heading = 1
}

# A heading of names, the last arguments of which are closing signs
function put_heading(h, names, n, part, i, line)
{
	n = split(names, part, "\t")
	line = ".Ss"
	for (i = 1; i <= n; i++)
		line = line " " (part[i] ~ /\(\)$/ ? \
			"Fn " substr(part[i], 1, length(part[i]) - 2) : \
			(part[i] ~ /^[a-z]/ ? "Vt \"" part[i] "\"" : "Dv " part[i])) \
			(i < n ? " ," : "")
	put(line)
	after_heading = 1
}

function put_paragraph(text)
{
	if (!after_heading)
		put(".Pp")
	after_heading = 0
	put_paragraph_text(text)
}

function put_lines(text, offset, n, line, i)
{
	n = split(text, line, "\n")
	put(".Bd -literal" offset)
	for (i = 1; i <= n; i++)
		put(plain(line[i]))
	put(".Ed")
	after_heading = 0
}

function columns(text, n, line, i, most)
{
	n = split(text, line, "\n")
	for (i = 1; i <= n; i++)
		if (length(line[i]) > most)
			most = length(line[i])
	return most
}

# Pages have 73 columns, and 5 before them
function put_literal(text)
{
	put_lines(text, columns(text) <= 69 ? " -offset 4n" : \
		columns(text) <= 73 ? " -offset 2n" : "")
}

function put_code(text)
{
	put_lines(text, "")
}

# A list of tags that are narrow enough for a column, of `width`, is a table
function put_list(kind, width)
{
	if (width && !after_heading && !in_item)
		put(".Pp")
	put(".Bl -" kind (kind != "tag" ? "" : \
		width ? " -width " width + 1 "n -compact" : " -width Ds"))
}

function put_item(key, text)
{
	put(".It" (key == "" ? "" : " " key))
	put_paragraph_text(text)
	in_item = 1
}

function put_list_end()
{
	put(".El")
	in_item = after_heading = 0
}

# --- synopses -----------------------------------------------------------------

function put_include(path)
{
	put(".Sh SYNOPSIS")
	put(".In " path)
}

function put_synopsis_begin()
{
	put(".Sh SYNOPSIS")
}

function put_synopsis_end()
{
}

function put_opaque(type)
{
	put(".Vt " type " ;")
}

function put_prototype(proto, n, part, i)
{
	n = split(proto, part, "\t")
	put(".Ft " (part[1] ~ / / ? "\"" part[1] "\"" : part[1]))
	put(".Fo " part[2])
	for (i = 3; i <= n; i++)
		put(".Fa " (part[i] ~ / / ? "\"" part[i] "\"" : part[i]))
	put(".Fc")
}

# A command's usage: capitals are what the user fills in
function put_usage(command_, rest, n, part, i, line)
{
	line = ".Nm " command_
	n = split_usage(rest, part)
	for (i = 1; i <= n; i++)
		line = line " " usage_word(part[i])
	put(line)
}

function usage_word(s, many)
{
	many = s ~ /\.\.\.$/ ? " ..." : ""
	sub(/\.\.\.$/, "", s)
	if (s ~ /^\[.*\]$/)
		return "Oo " usage_words(substr(s, 2, length(s) - 2)) many " Oc"
	if (s ~ /^--/)
		return "Fl \\-" substr(s, 3) many
	return (s ~ /^[A-Z]+$/ ? "Ar " : "Cm ") s many
}

function usage_words(s, n, part, i, out)
{
	n = split_usage(s, part)
	out = ""
	for (i = 1; i <= n; i++)
		out = out (i > 1 ? " " : "") usage_word(part[i])
	return out
}

function option_key(key, n, part, i, out)
{
	gsub(/,/, " ,", key)
	n = split(key, part, " ")
	out = ""
	for (i = 1; i <= n; i++)
		out = out (i > 1 ? " " : "") (part[i] == "," ? "," : \
			part[i] ~ /^--/ ? "Fl \\-" plain(substr(part[i], 3)) : \
			"Ar " quoted_word(part[i]))
	return out
}

function command_key(key)
{
	return page_key("philox-" key, 1)
}

function page_key(name_, section_)
{
	return "Xr " name_ " " section_
}

function variable_key(name_)
{
	return "Ev " name_
}

# The terms of a list: parameters and constants
function term_key(key, n, part, i, out)
{
	n = split(key, part, ", ")
	out = ""
	for (i = 1; i <= n; i++) {
		sub(/,$/, "", part[i])
		out = out (i > 1 ? " , " : "") \
			(part[i] ~ /^PHILOX_/ ? "Dv " : "Fa ") quoted_word(part[i])
	}
	return out
}

function row_key(key)
{
	return "Cm " quoted_word(key)
}

function put_see(list, n, part, i)
{
	put(".Sh SEE ALSO")
	n = split(list, part, "\t")
	for (i = 1; i <= n; i++)
		put(".Xr " part[i] (i < n ? " ," : ""))
}
