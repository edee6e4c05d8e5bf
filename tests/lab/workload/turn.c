// SPDX-License-Identifier: GPL-2.0-only
/* turn.c - run before_work(); from the first SIGUSR1 on call itself "turned" and run after_work(). */
#include <signal.h>
#include <sys/prctl.h>

static volatile sig_atomic_t turned;
static volatile unsigned long sink;

static void turn(int sig)
{
	turned = sig;
}

__attribute__((noipa)) static void before_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = x * 3 + 1;
	sink = x;
}

__attribute__((noipa)) static void after_work(unsigned long n)
{
	unsigned long x = n;

	while (n--)
		x = (x ^ n) + 7;
	sink = x;
}

int main(void)
{
	signal(SIGUSR1, turn);
	while (!turned)
		before_work(250000);
	prctl(PR_SET_NAME, "turned");
	for (;;)
		after_work(250000);
}
