# doc/html.awk - the same pages in HTML, linked with each other
#
# Names of headers, functions, types, macros and constants are links to where
# they are described, and index.html, the overview, ends with a list of them.

# --- characters and links -----------------------------------------------------

function escape(s)
{
	gsub(/&/, "\\&amp;", s)
	gsub(/</, "\\&lt;", s)
	gsub(/>/, "\\&gt;", s)
	gsub(/"/, "\\&quot;", s)
	return s
}

function put(line)
{
	print line >page
}

function file_of(name_, section_)
{
	return name_ == "philox" && section_ == 7 ? "index.html" : \
		name_ "." section_ ".html"
}

# The place in a page of a type, a function or a macro: "struct x" and x differ
function anchor(name_)
{
	gsub(/ /, ".", name_)
	return name_
}

function link(address, text)
{
	return "<a href=\"" address "\">" text "</a>"
}

# A name as code, with a link if the headers have it
function linked(name_, text, place)
{
	place = name_
	if (place in constant)
		place = constant[place]
	else if (!(place in home) && place ~ /^[a-z]/)
		place = ("struct " name_) in home ? "struct " name_ : name_
	if (place in own_page)
		return link(file_of(own_page[place], 3), escape(text))
	if (!(place in home) || (home[place] == 1))
		return escape(text)
	return link(file_of(page_of[header[home[place]]], 3) "#" anchor(place), \
		escape(text))
}

BEGIN {
	NAME = "(struct|enum) philox_[a-z0-9_]+|philox/[a-z0-9_]+[.]h" \
		"|(philox|PHILOX)_[A-Za-z0-9_]+"
}

# C, or lines that are shown as they are, with links
function linked_lines(s, out, found)
{
	out = ""
	while (match(s, NAME)) {
		found = substr(s, RSTART, RLENGTH)
		out = out escape(substr(s, 1, RSTART - 1))
		s = substr(s, RSTART + RLENGTH)
		out = out (found in page_of ? \
			link(file_of(page_of[found], 3), escape(found)) : \
			linked(found, found))
	}
	return out escape(s)
}

function marked(kind, text, at)
{
	if (kind == "quoted")
		return "<code>" escape(substr(text, 2, length(text) - 2)) "</code>"
	if (kind == "header")
		return "<code>" (text in page_of ? \
			link(file_of(page_of[text], 3), text) : text) "</code>"
	if (kind == "command")
		return page_key(substr(text, 1, length(text) - 3), 1)
	if (kind == "call") {
		at = index(text, "(")
		return "<code>" linked(substr(text, 1, at - 1), \
			substr(text, 1, at - 1)) escape(substr(text, at)) "</code>"
	}
	return "<code>" linked(text, text) "</code>"
}

function marked_text(s, kind, out, found)
{
	out = ""
	while ((kind = next_token(s)) != "") {
		out = out escape(substr(s, 1, RSTART - 1))
		found = substr(s, RSTART, RLENGTH)
		s = substr(s, RSTART + RLENGTH)
		out = out marked(kind, found)
	}
	return out escape(s)
}

# --- parts of a page ----------------------------------------------------------

function put_style()
{
	put("<style>")
	put(":root { color-scheme: light dark; }")
	put("body { margin: 0 auto; max-width: 48rem; padding: 1rem;")
	put("  font: 1rem/1.5 system-ui, sans-serif; }")
	put("header, footer { color: GrayText; font-size: .9rem; }")
	put("h1 { font-size: 1.5rem; margin: .5rem 0; }")
	put("h2 { border-bottom: 1px solid; font-size: 1.2rem; margin-top: 2rem; }")
	put("h3 { font: 600 1rem/1.4 ui-monospace, monospace; margin: 2rem 0 .5rem; }")
	put("code, pre { font-family: ui-monospace, monospace; font-size: .87rem; }")
	put("pre { background: #8881; border-left: 3px solid #8886; margin: .5rem 0;")
	put("  overflow-x: auto; padding: .5rem .75rem; tab-size: 4; }")
	put("a { text-decoration: none; } a:hover { text-decoration: underline; }")
	put("dt { margin-top: .5rem; } dd { margin-left: 2rem; }")
	put(".table { column-gap: 1rem; display: grid;")
	put("  grid-template-columns: max-content 1fr; margin: .5rem 0; }")
	put(".table > dt, .table > dd { margin: 0; }")
	put("h3:target, a:target { background: #fd06; }")
	put(".names { columns: 16rem; list-style: none; padding: 0; }")
	put("</style>")
}

function open_page(name_, section_, about)
{
	page = folder "/" file_of(name_, section_)
	put("<!DOCTYPE html>")
	put("<!-- Made from " about ", do not edit -->")
	put("<html lang=\"en\">")
	put("<head>")
	put("<meta charset=\"utf-8\">")
	put("<meta name=\"viewport\" content=\"width=device-width\">")
	put("<title>" name_ "(" section_ ")</title>")
	put_style()
	put("</head>")
	put("<body>")
	put("<header>" link("index.html", "philox " version) " &#183; " \
		link("index.html#HEADERS", "headers") " &#183; " \
		link("index.html#COMMANDS", "commands") " &#183; " \
		link("index.html#NAMES", "all names") "</header>")
	is_index = name_ == "philox" && section_ == 7
}

function put_name(name_, title_)
{
	gsub(/\t/, ", ", name_)
	put("<h1>" name_ " &#8211; " marked_text(title_) "</h1>")
}

# All names, in order: a heap would be quicker, but there are a few hundred
function put_names(n, i, k, all, t, name_)
{
	put_section("NAMES")
	n = 0
	for (name_ in home)
		if (home[name_] > 1) {
			all[++n] = name_
			for (k = n; k > 1 && link_name(all[k]) all[k] < \
			     link_name(all[k - 1]) all[k - 1]; k--) {
				t = all[k]
				all[k] = all[k - 1]
				all[k - 1] = t
			}
		}
	put("<ul class=\"names\">")
	for (i = 1; i <= n; i++)
		put("<li><code>" linked(all[i], all[i]) "</code></li>")
	put("</ul>")
}

function close_page()
{
	if (is_index)
		put_names()
	put("<footer><p>philox " version ", " date "</p></footer>")
	put("</body>")
	put("</html>")
	close(page)
}

function put_section(text, id)
{
	id = toupper(text)
	gsub(/[^A-Z0-9]+/, "-", id)
	put("<h2 id=\"" id "\">" escape(toupper(substr(text, 1, 1)) \
		(text ~ /^[A-Z ]+$/ ? tolower(substr(text, 2)) : \
		substr(text, 2))) "</h2>")
}

function put_heading(h, names, n, part, i, line, place)
{
	n = split(names, part, "\t")
	line = ""
	for (i = 1; i <= n; i++) {
		place = part[i]
		sub(/\(\)$/, "", place)
		line = line (i > 1 ? ", " : "") \
			(i > 1 && home[place] == h ? \
			"<a id=\"" anchor(place) "\">" part[i] "</a>" : part[i])
	}
	place = part[1]
	sub(/\(\)$/, "", place)
	put("<h3 id=\"" anchor(place) "\">" line "</h3>")
}

function put_paragraph(text)
{
	put("<p>" marked_text(text) "</p>")
}

function put_literal(text)
{
	put("<pre>" linked_lines(text) "</pre>")
}

function put_code(text)
{
	put_literal(text)
}

# A list with a width is a table of two columns. Items may hold another list, so
# an item ends where the next begins.
function put_list(kind, width)
{
	lists++
	list_kind[lists] = kind
	item_end[lists] = ""
	put(kind != "tag" ? "<ul>" : width ? "<dl class=\"table\">" : "<dl>")
}

function put_item(key_, text)
{
	if (item_end[lists] != "")
		put(item_end[lists])
	item_end[lists] = list_kind[lists] == "tag" ? "</dd>" : "</li>"
	if (list_kind[lists] == "tag")
		put("<dt>" key_ "</dt>")
	put((list_kind[lists] == "tag" ? "<dd>" : "<li>") marked_text(text))
}

function put_list_end()
{
	if (item_end[lists] != "")
		put(item_end[lists])
	put(list_kind[lists] == "tag" ? "</dl>" : "</ul>")
	lists--
}

# --- synopses -----------------------------------------------------------------

function put_synopsis_begin()
{
	put_section("SYNOPSIS")
	put("<pre>")
	in_usages = 1
}

function put_include(path)
{
	put_section("SYNOPSIS")
	put("<pre>")
	put("#include &lt;" escape(path) "&gt;")
	in_usages = 0
}

function put_synopsis_end()
{
	put("</pre>")
}

function put_opaque(type)
{
	put("")
	put("<a id=\"" anchor(type) "\">" type "</a>;")
}

function put_prototype(proto)
{
	put("")
	put(linked_lines(c_prototype(proto)))
}

function put_usage(command_, rest)
{
	put(escape(command_ (rest == "" ? "" : " ") rest))
}

function option_key(key_)
{
	return "<code>" escape(key_) "</code>"
}

function variable_key(name_)
{
	return option_key(name_)
}

function term_key(key_)
{
	return option_key(key_)
}

function row_key(key_)
{
	return option_key(key_)
}

function page_key(name_, section_)
{
	return "<code>" link(file_of(name_, section_), \
		name_ "(" section_ ")") "</code>"
}

function command_key(key_)
{
	return page_key("philox-" key_, 1)
}

function put_see(list, n, part, i, one, line)
{
	put_section("SEE ALSO")
	n = split(list, part, "\t")
	line = ""
	for (i = 1; i <= n; i++) {
		split(part[i], one, " ")
		line = line (i > 1 ? ", " : "") page_key(one[1], one[2])
	}
	put("<p>" line "</p>")
}
