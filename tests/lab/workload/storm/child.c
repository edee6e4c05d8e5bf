// SPDX-License-Identifier: GPL-2.0-only
/* child.c - one of the storm's programs (NR): works a little, then in a library that it opens by dlopen(). */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOIN(a, b)	a##b
#define NAME(a, b)	JOIN(a, b)

volatile unsigned long storm_sum;

__attribute__((noinline)) static void NAME(storm_work_, NR)(unsigned long rounds)
{
	while (rounds--)
		storm_sum += rounds ^ NR;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	void (*plugin)(unsigned long) = NULL;
	char path[512], *slash;
	void *lib;

	snprintf(path, sizeof(path) - 16, "%s", argv[0]);
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, "plugin.so");
	NAME(storm_work_, NR)(rounds);
	lib = dlopen(path, RTLD_NOW);
	if (lib)
		plugin = (void (*)(unsigned long))dlsym(lib, "storm_plugin_work");
	if (!plugin)
		return 1;
	plugin(rounds);
	return dlclose(lib);
}
