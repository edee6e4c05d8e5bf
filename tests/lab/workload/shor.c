// SPDX-License-Identifier: GPL-2.0-only
/*
 * shor.c - a guest workload: factor a number with libquantum's simulated
 * quantum computer, again and again for a given time.
 *
 * Usage: shor NUMBER SECONDS
 * Prints one line: how often it factored the number, and the factors.
 */
#include <quantum.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static unsigned int gcd(unsigned int a, unsigned int b)
{
	while (b) {
		unsigned int r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static unsigned int power_mod(unsigned int base, unsigned int exp, unsigned int mod)
{
	unsigned long long r = 1, b = base % mod;

	for (; exp; exp >>= 1, b = b * b % mod)
		if (exp & 1)
			r = r * b % mod;
	return (unsigned int)r;
}

/* Quantum part: an estimate of the order of @a modulo @n, 0 if the measurement was useless. */
static unsigned int find_order(unsigned int a, unsigned int n)
{
	int width = quantum_getwidth((unsigned long)n * n), swidth = quantum_getwidth(n), i;
	quantum_reg reg = quantum_new_qureg(0, width);
	int denominator = 1 << width, measured;
	MAX_UNSIGNED value;

	for (i = 0; i < width; i++)
		quantum_hadamard(i, &reg);
	quantum_addscratch(3 * swidth + 2, &reg);
	quantum_exp_mod_n((int)n, (int)a, width, swidth, &reg);
	for (i = 0; i < 3 * swidth + 2; i++)
		quantum_bmeasure(0, &reg);
	quantum_qft(width, &reg);
	for (i = 0; i < width / 2; i++) {
		quantum_cnot(i, width - i - 1, &reg);
		quantum_cnot(width - i - 1, i, &reg);
		quantum_cnot(i, width - i - 1, &reg);
	}
	value = quantum_measure(reg);
	quantum_delete_qureg(&reg);
	if (value == 0 || value == (MAX_UNSIGNED)-1)
		return 0;
	measured = (int)value;
	quantum_frac_approx(&measured, &denominator, width);
	return denominator > 0 ? (unsigned int)denominator : 0;
}

/* Classical part: a factor of @n, or 0 if this try gave none. */
static unsigned int try_factor(unsigned int n)
{
	unsigned int a = 2 + (unsigned int)rand() % (n - 3), order, half, f;

	if (gcd(a, n) > 1)
		return 0;	/* found by luck: not what we are here for */
	order = find_order(a, n);
	if (!order || order % 2 || power_mod(a, order, n) != 1)
		return 0;
	half = power_mod(a, order / 2, n);
	f = gcd(half + 1, n);
	if (f == 1 || f == n)
		f = gcd(half + n - 1, n);
	return f == 1 || f == n ? 0 : f;
}

int main(int argc, char **argv)
{
	unsigned int n = argc == 3 ? (unsigned int)atoi(argv[1]) : 0, factor = 0, done = 0;
	time_t end;

	if (n < 15 || n > 64 || n % 2 == 0 || atoi(argv[2]) < 1) {
		fprintf(stderr, "usage: shor NUMBER SECONDS, NUMBER odd, composite, 15 to 63\n");
		return 2;
	}
	srand(1);
	end = time(NULL) + atoi(argv[2]);
	do {
		unsigned int f = try_factor(n);

		if (f) {
			factor = f;
			done++;
		}
	} while (time(NULL) < end);
	if (factor)
		printf("factored %u = %u * %u, %u times\n", n, factor, n / factor, done);
	else
		printf("no factor of %u found in that time\n", n);
	return 0;
}
