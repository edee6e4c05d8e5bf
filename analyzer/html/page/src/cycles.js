// SPDX-License-Identifier: GPL-2.0-only
// cycles.js - cycle accounting: how much the processor got done while each process, thread and vCPU of it ran.
import { el, swatch, wide } from './dom.js';
import { PACES, USER, threadName } from './data.js';
import { count, cpi, duration, percent } from './format.js';

const STEP = 12;
const BELOW = 50;	// bars of one process
const NAMES = ['0: waiting', '1', '2', '3', '4 or more'];

function total(cycles) {
	return cycles.reduce((a, b) => a + b, 0);
}

// Of @map by a key; made with a title where it is new, if it has one
function part(map, key, title) {
	let x = map.get(key);
	if (!x && title !== null)
		map.set(key, x = { title, cycles: Array(PACES).fill(0), all: 0, instructions: 0, thread: new Map(), vcpu: new Map() });
	return x;
}

// Processes with their threads and vCPUs: { title, cycles[PACES], all, instructions, thread: Map of the same, vcpu: likewise }
function collect(d, dom) {
	const procs = new Map();
	d.paces.proc.forEach((p, i) => {
		if (d.procs.domain[p] !== dom.number)
			return;
		const x = part(procs, p, d.procs.title[p]), vcpu = d.paces.vcpu[i];
		for (const y of [x, part(x.thread, d.paces.thread[i], threadName(d, d.paces, i)), part(x.vcpu, vcpu, vcpu >= 0 ? `vCPU ${vcpu}` : null)]) {
			if (y)
				y.cycles.forEach((_, k) => { y.cycles[k] += d.paces.cycles[i * PACES + k]; });
		}
	});
	for (const i of dom.rows) {
		const x = procs.get(d.rows.proc[i]);
		if (!x || d.rows.side[i] > USER)
			continue;
		for (const y of [x, x.thread.get(d.rows.thread[i]), x.vcpu.get(d.rows.vcpu[i])]) {
			if (y) {
				y.all += d.rows.cycles[i];
				y.instructions += d.rows.instructions[i];
			}
		}
	}
	return [...procs.values()].sort((a, b) => total(b.cycles) - total(a.cycles));
}

export function cycles(d, dom) {
	const list = collect(d, dom).filter((x) => total(x.cycles));
	if (!list.length)
		return el('p', { class: 'quiet' }, 'This capture has no cycle and instruction counts: they need a hardware counter (vmprof doctor tells).');
	const most = total(list[0].cycles), sum = list.reduce((n, x) => n + total(x.cycles), 0);
	const apart = ['thread', 'vcpu'].filter((k) => list.some((x) => x[k].size > 1));
	let limit = STEP, full = false, by = apart[0];

	const time = (n) => d.capture.sample_ns && d.capture.period ? duration(n / d.capture.period * d.capture.sample_ns / 1e9) : `${count(n)} cycles`;
	const rows = el('div', { class: 'accounts' });
	const more = el('button', { type: 'button', onclick: () => { limit += STEP * 2; draw(); } });
	const length = el('select', { onchange: () => { full = length.value === 'full'; draw(); } },
		el('option', { value: 'time' }, 'Length: time'), el('option', { value: 'full' }, 'Length: 100 % each'));
	const below = apart.length < 2 ? null : el('select', { id: 'below', onchange: () => { by = below.value; draw(); } },
		el('option', { value: 'thread' }, 'Opens to: threads'), el('option', { value: 'vcpu' }, 'Opens to: vCPUs'));

	function bar(x, isBelow) {
		const n = total(x.cycles), track = el('div', { class: 'track tall', role: 'img', 'aria-label': x.cycles.map((c, k) =>
			`${NAMES[k]}: ${percent(c, n)}`).join(', ') });
		x.cycles.forEach((c, k) => {
			if (c)
				track.append(wide(el('div', { class: `part pace${k}`, title: `${NAMES[k]} per cycle: ${percent(c, n)}, ${time(c)}` }), c / (full ? n : most)));
		});
		return el('div', { class: isBelow ? 'account below' : 'account' }, el('div', { class: 'name', title: x.title }, x.title), track,
			el('div', { class: 'num' }, time(n)), el('div', { class: 'num' }, cpi(x.all, x.instructions)));
	}

	function group(x) {
		if (!by || x[by].size < 2)
			return bar(x);
		const parts = [...x[by].entries()].sort(by === 'vcpu' ? (a, b) => a[0] - b[0] : (a, b) => total(b[1].cycles) - total(a[1].cycles));
		return el('details', {}, el('summary', {}, bar(x)), parts.slice(0, BELOW).map(([, y]) => bar(y, true)),
			parts.length > BELOW ? el('p', { class: 'quiet below' }, `and ${count(parts.length - BELOW)} smaller ones`) : null);
	}

	function draw() {
		rows.replaceChildren(el('div', { class: 'account head quiet', 'aria-hidden': 'true' }, el('div', {}, 'Process'), el('div', {}, ''),
			el('div', { class: 'num' }, 'Time'), el('div', { class: 'num' }, 'CPI')), ...list.slice(0, limit).map(group));
		more.hidden = list.length <= limit;
		more.textContent = `Show more (${count(list.length - limit)} left)`;
	}

	// What was counted before a sample is not all of the program's in which it landed
	const how = d.counted ? 'CPI is by counts since the sample before, whatever ran in between: where programs take turns faster than samples are taken, theirs is mixed, and so are the bars. It is right for the guest as a whole. vmprof start --cpi tells each one’s own.' :
		'CPI is by two events, cycles and instructions, that were sampled side by side. The bars are by counts since the sample before, whatever ran in between.';

	draw();
	const all = list.reduce((a, x) => a.map((n, k) => n + x.cycles[k]), Array(PACES).fill(0));
	return el('div', {}, el('p', {}, 'A processor can finish several instructions in each cycle. ', el('strong', {}, percent(all[0], sum)),
		' of the guest’s cycles went by with next to nothing finished: it was waiting, most often for memory. ',
		'CPI is cycles per instruction: the lower, the faster.'),
	el('p', { class: 'quiet how' }, how),
	el('div', { class: 'tools' }, el('ul', { class: 'legend' }, el('li', { class: 'quiet' }, 'Instructions per cycle'),
		NAMES.map((n, k) => el('li', {}, swatch(`pace${k}`), n))), el('span', { class: 'grow' }),
	below ? el('label', {}, below) : null, el('label', {}, length)), rows, more);
}
