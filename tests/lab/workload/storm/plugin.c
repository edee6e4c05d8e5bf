// SPDX-License-Identifier: GPL-2.0-only
/* plugin.c - what the storm's programs open while they run. */
volatile unsigned long plugin_sum;

void storm_plugin_work(unsigned long rounds);

__attribute__((noinline)) void storm_plugin_work(unsigned long rounds)
{
	while (rounds--)
		plugin_sum += rounds * 3;
}
