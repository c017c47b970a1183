/*
 * tools/cli/svg.c - what the pictures in SVG have in common
 */
#include "tools/cli/cli.h"

#include <string.h>
#include "lib/base/base.h"

static const char common_style[] =
	"text{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
	"Sans',sans-serif;fill:#1f2328}\n"
	".paper{fill:#ffffff}.title{font-size:14px;font-weight:600}\n"
	".dim,.tick{fill:#59636e}.tick{font-size:10px}\n"
	".grid{stroke:#e4e7eb}.line{stroke:#d1d9e0}\n"
	"@media (prefers-color-scheme:dark){text{fill:#e6edf3}\n"
	".paper{fill:#0d1117}.dim,.tick{fill:#9198a1}\n"
	".grid{stroke:#1d232b}.line{stroke:#30363d}}\n";

/* --- text ----------------------------------------------------------------- */

/* Control characters and two other codes are in UTF-8 and not in XML. */
static int is_xml(const char *text)
{
	unsigned char byte = (unsigned char)*text;

	if (byte < ' ')
		return byte == '\n' || byte == '\t';
	return strncmp(text, "\xef\xbf\xbe", 3) &&
	       strncmp(text, "\xef\xbf\xbf", 3);
}

/* The bytes of a letter; a byte that is none is one by itself. */
static size_t letter_size(const char *text)
{
	size_t length = utf8_length((const unsigned char *)text);

	return length ? length : 1;
}

static void put_letter(FILE *out, const char *text, size_t size)
{
	if (!utf8_length((const unsigned char *)text) || !is_xml(text))
		fputs("&#xfffd;", out);
	else if (strchr("&<>\"", *text))
		fprintf(out, "&#%d;", *text);
	else
		fwrite(text, 1, size, out);
}

static void put_letters(FILE *out, const char *text, size_t letters)
{
	while (*text && letters--) {
		size_t size = letter_size(text);

		put_letter(out, text, size);
		text += size;
	}
}

void svg_escape(FILE *out, const char *text)
{
	put_letters(out, text, SIZE_MAX);
}

size_t svg_letters(const char *text)
{
	size_t letters = 0;

	for (; *text; text += letter_size(text))
		letters++;
	return letters;
}

void svg_text(FILE *out, double x, double y, const char *look, const char *text,
	      double room)
{
	size_t letters = room < SVG_LETTER ? 0 : (size_t)(room / SVG_LETTER);

	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s%s>", x, y,
		*look ? " class=\"" : "", look, *look ? "\"" : "");
	if (svg_letters(text) <= letters) {
		svg_escape(out, text);
	} else {
		put_letters(out, text, letters ? letters - 1 : 0);
		fputs("\xe2\x80\xa6", out);
	}
	fputs("</text>\n", out);
}

/* --- the rest ------------------------------------------------------------- */

void svg_line(FILE *out, const char *look, double x1, double y1, double x2,
	      double y2)
{
	fprintf(out,
		"<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
		"y2=\"%.1f\"/>\n",
		look, x1, y1, x2, y2);
}

void svg_begin(FILE *out, double width, double height, const char *title,
	       const char *style)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
		"height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
		width, height, width, height);
	svg_escape(out, title);
	fprintf(out,
		"</title>\n<style>%s%s</style>\n<rect class=\"paper\" "
		"width=\"100%%\" height=\"100%%\"/>\n",
		common_style, style);
}

void svg_end(FILE *out)
{
	fputs("</svg>\n", out);
}
