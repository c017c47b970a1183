/*
 * tests/crush.c - a battery of TestU01 over words of standard input
 *
 *   crush [small|crush|big]
 *
 * Words are 32 bits, little-endian. Exit status 1: a p-value is outside 10^-10
 * .. 1 - 10^-10, or the words ended. tests/batteries.sh builds and calls it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <TestU01.h>

static unsigned next_word(void)
{
	static uint32_t words[1 << 14];
	static size_t next, n;

	if (next == n) {
		n = fread(words, sizeof(*words), 1 << 14, stdin);
		next = 0;
	}
	if (!n) {
		fprintf(stderr, "crush: the words ended\n");
		exit(1);
	}
	return words[next++];
}

static int count_outside(double limit)
{
	int n = 0;

	for (int i = 0; i < bbattery_NTests; i++)
		n += !(bbattery_pVal[i] >= limit &&
		       bbattery_pVal[i] <= 1 - limit);
	return n;
}

int main(int argc, char **argv)
{
	const char *battery = argc > 1 ? argv[1] : "crush";
	char name[] = "philox";
	unif01_Gen *generator = unif01_CreateExternGenBits(name, next_word);

	swrite_Basic = FALSE;
	if (strcmp(battery, "small") == 0)
		bbattery_SmallCrush(generator);
	else if (strcmp(battery, "big") == 0)
		bbattery_BigCrush(generator);
	else
		bbattery_Crush(generator);
	unif01_DeleteExternGenBits(generator);
	printf("%d p-values, %d outside 0.001 .. 0.999, %d outside 1e-10 .. 1 - "
	       "1e-10\n",
	       bbattery_NTests, count_outside(0.001), count_outside(1e-10));
	return !bbattery_NTests || count_outside(1e-10);
}
