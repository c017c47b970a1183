/*
 * tools/cli/svg.h - what the pictures in SVG have in common
 *
 * Sizes are in points. Text may have any bytes: what is no character of XML
 * becomes U+FFFD.
 */
#ifndef TOOLS_CLI_SVG_H
#define TOOLS_CLI_SVG_H

#include <stdio.h>

#define SVG_LETTER 6.3 /* the width of one, nearly */

/*
 * svg_begin() begins a picture: its title, and its style for light and for dark,
 * with the classes paper, title, dim, tick, grid and line, and those of `style`.
 * svg_end() ends it.
 */
void svg_begin(FILE *out, double width, double height, const char *title,
	       const char *style);
void svg_end(FILE *out);

/* svg_escape() writes text that stands within an element or an attribute. */
void svg_escape(FILE *out, const char *text);

/*
 * svg_text() writes as much of a text as there is room for; a cut one ends with
 * three dots. `look` has the classes, which may be none.
 */
void svg_text(FILE *out, double x, double y, const char *look, const char *text,
	      double room);

void svg_line(FILE *out, const char *look, double x1, double y1, double x2,
	      double y2);

/* svg_letters() is how many letters a text has. */
size_t svg_letters(const char *text);

#endif
