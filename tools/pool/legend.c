/*
 * tools/pool/legend.c - see tools/pool/legend.h
 */
#include "tools/pool/legend.h"

#include "tools/cli/cli.h"

/* Where the next entry of the legend goes. */
struct legend {
	const struct legend_place *place;
	FILE *out; /* NULL: only the place is wanted */
	double x, y;
};

static void put_entry(struct legend *legend, const char *look, double height,
		      const char *words)
{
	double width = 30 + SVG_LETTER * (double)svg_letters(words) + 14;

	if (legend->x > legend->place->left &&
	    legend->x + width > legend->place->right) {
		legend->x = legend->place->left;
		legend->y += 18;
	}
	if (legend->out) {
		fprintf(legend->out,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"20\" "
			"height=\"%.0f\"/>\n",
			look, legend->x, legend->y - 4 - height / 2, height);
		svg_text(legend->out, legend->x + 25, legend->y, "", words,
			 width);
	}
	legend->x += width;
}

static void put_tags(struct legend *legend, const struct totals *totals)
{
	uint64_t others = 0;
	char look[16], words[160];

	for (size_t i = 0; i < totals->n_tags && i < LEGEND_TAGS; i++) {
		snprintf(look, sizeof(look), "b t%zu", i);
		snprintf(words, sizeof(words), "%s %s",
			 *totals->tags[i].tag ? totals->tags[i].tag : "\"\"",
			 totals_bytes(totals->tags[i].bytes).text);
		put_entry(legend, look, 12, words);
	}
	for (size_t i = LEGEND_TAGS; i < totals->n_tags; i++)
		others += totals->tags[i].bytes;
	if (totals->n_tags <= LEGEND_TAGS)
		return;
	snprintf(words, sizeof(words), "%zu other tag%s %s",
		 totals->n_tags - LEGEND_TAGS,
		 plural(totals->n_tags - LEGEND_TAGS),
		 totals_bytes(others).text);
	put_entry(legend, "b t11", 12, words);
}

static void put_owners(struct legend *legend, const struct totals *totals)
{
	uint64_t more[LEGEND_OWNERS + 1] = {0};
	char look[16], words[100];

	for (size_t i = LEGEND_OWNERS + 1; i < totals->n_owners; i++)
		more[legend_owner(i)] += totals->owners[i].bytes;
	for (size_t i = 0; i < totals->n_owners && i <= LEGEND_OWNERS; i++) {
		if (!totals->owners[i].blocks)
			continue;
		snprintf(look, sizeof(look), "b f%zu", i);
		snprintf(words, sizeof(words), "free, %s%s %s",
			 owner_name(i).text, more[i] ? " and others" : "",
			 totals_bytes(totals->owners[i].bytes + more[i]).text);
		put_entry(legend, look, 12, words);
	}
}

static void put_marks(struct legend *legend, const struct snapshot *snapshot)
{
	const struct philox_pool_figures *figures = &snapshot->figures;
	char words[60];

	if (figures->pinned) {
		snprintf(words, sizeof(words), "extent, pinned %s",
			 totals_bytes(figures->pinned).text);
		put_entry(legend, "e pinned", LEGEND_BAR, words);
	}
	if (figures->mapped > figures->pinned)
		put_entry(legend, "e loose", LEGEND_BAR, "extent");
}

double legend_put(const struct snapshot *snapshot, const struct totals *totals,
		  const struct legend_place *place, FILE *out)
{
	struct legend legend = {place, out, place->left, place->y};

	put_tags(&legend, totals);
	put_owners(&legend, totals);
	put_marks(&legend, snapshot);
	return legend.y;
}
