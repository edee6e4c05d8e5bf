/* SPDX-License-Identifier: GPL-2.0-only */
/* burn.h - main() of programs that burn: rounds of about a million instructions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void burn_rounds(void (*work)(unsigned long n), const char *rounds)
{
	unsigned long n = strtoul(rounds, NULL, 10);

	while (n--)
		work(250000);
}

/* So many, then exit; of "-" as many as each line of standard input says, with a line back when they are done */
static int burn(int argc, char **argv, void (*work)(unsigned long n))
{
	char line[32];

	if (argc < 2 || strcmp(argv[1], "-")) {
		burn_rounds(work, argc < 2 ? "1" : argv[1]);
		return 0;
	}
	while (fgets(line, sizeof(line), stdin)) {
		burn_rounds(work, line);
		puts("");
		fflush(stdout);
	}
	return 0;
}
