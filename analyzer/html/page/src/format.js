// SPDX-License-Identifier: GPL-2.0-only
// format.js - numbers as people read them.

export function percent(n, of) {
	const p = of ? 100 * n / of : 0;
	return `${p >= 99.95 || p === 0 ? p.toFixed(0) : p >= 10 ? p.toFixed(1) : p >= 0.095 ? p.toFixed(2) : p.toPrecision(1)} %`;
}

// "74 %": for sentences
export function about(n, of) {
	const p = of ? 100 * n / of : 0;
	return p > 0 && p < 1 ? 'under 1 %' : p > 99 && p < 100 ? 'over 99 %' : `${Math.round(p)} %`;
}

// The same of all parts of a whole, which add up to 100 %: those nearest to the next percent are rounded up
export function shares(parts) {
	const all = parts.reduce((a, b) => a + b, 0), exact = parts.map((n) => all ? 100 * n / all : 0), whole = exact.map(Math.floor);
	const up = parts.map((_, i) => i).sort((a, b) => (exact[b] - whole[b]) - (exact[a] - whole[a]));
	for (const i of up.slice(0, all ? 100 - whole.reduce((a, b) => a + b, 0) : 0))
		whole[i]++;
	return parts.map((n, i) => exact[i] < 1 || exact[i] > 99 ? about(n, all) : `${whole[i]} %`);
}

export const count = (n) => n.toLocaleString('en');

export function duration(s) {
	if (s >= 600)
		return `${(s / 60).toFixed(0)} min`;
	if (s >= 100)
		return `${s.toFixed(0)} s`;
	if (s >= 1)
		return `${s.toFixed(s >= 10 ? 1 : 2)} s`;
	if (s >= 1e-3)
		return `${(s * 1e3).toFixed(s >= 0.01 ? 0 : 1)} ms`;
	return s ? `${(s * 1e6).toFixed(0)} µs` : '0 s';
}

export function cpi(cycles, instructions) {
	return instructions ? (cycles / instructions).toFixed(2) : '–';
}
