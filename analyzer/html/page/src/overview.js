// SPDX-License-Identifier: GPL-2.0-only
// overview.js - what the VM's time went to, for people who never profiled anything.
import { el, swatch, wide } from './dom.js';
import { KERNEL, ORDER, SIDES, STEAL, USER, VMM, bySamples, sums } from './data.js';
import { explain, reasonName } from './exits.js';
import { about, count, duration, percent, shares } from './format.js';

const TOP = 6;

function top(d, dom, wanted, key, name) {
	const found = sums(d, dom.rows.filter(wanted), key);
	return [...found.entries()].map(([k, s]) => ({ name: name(k), key: k, ...s })).sort(bySamples);
}

function programs(d, dom) {
	return top(d, dom, (i) => d.rows.side[i] <= USER, (i) => d.procs.shown[d.rows.proc[i]], (k) => k);
}

// Two or three sentences that say it all; what it waited is part of the whole
function lead(d, dom) {
	const [first] = programs(d, dom), t = dom.total, share = shares(dom.sides);
	const [func] = top(d, dom, (i) => d.rows.side[i] === USER, (i) => d.stacks.function[d.rows.stack[i]],
		(k) => d.strings[k]);
	const part = (side) => el('strong', { class: 'share' }, share[side]), waited = dom.sides[STEAL];
	const p = el('p', { class: 'lead' }, 'Of the CPU time that ', el('strong', {}, dom.name), ' used or waited for, ',
		part(USER), ' went to programs, ', part(KERNEL), ' to its own kernel', waited ? ', ' : ' and ', part(VMM), ' to virtualisation',
		waited ? [', and ', part(STEAL), ' to waiting for a CPU that other work had. '] : '. It never had to wait for a CPU. ');
	if (first && first.samples > 0.02 * t) {
		p.append('The busiest program was ', el('strong', {}, first.name), ', with ', el('strong', { class: 'share' }, about(first.samples, t)), ' of that time.');
		if (func && func.samples > 0.05 * t && !/^\[/.test(func.name))
			p.append(' The single most expensive function was ', el('code', {}, func.name), '.');
	}
	return p;
}

function splitBar(dom) {
	const bar = el('div', { class: 'split', role: 'img', 'aria-label': ORDER.map((s) =>
		`${SIDES[s].name} ${percent(dom.sides[s], dom.total)}`).join(', ') });
	const words = shares(dom.sides);
	for (const s of ORDER) {
		if (!dom.sides[s])
			continue;
		const share = dom.sides[s] / dom.total;
		bar.append(wide(el('div', { class: `part ${SIDES[s].key}` }, share > 0.07 ? el('span', {}, words[s]) : null), share));
	}
	return bar;
}

function card(d, dom, side) {
	const s = SIDES[side], n = dom.sides[side];
	return el('li', { class: 'card' },
		el('div', { class: 'card-head' }, swatch(s.key), el('h3', {}, s.name)),
		el('div', { class: 'figure' }, percent(n, dom.total)),
		el('div', { class: 'quiet' }, d.capture.sample_ns ? `${duration(d.seconds(n))} of ${side === STEAL ? 'waiting' : 'CPU time'}` : `${count(n)} samples`),
		el('p', {}, s.what[0].toUpperCase() + s.what.slice(1) + '.'));
}

function bars(title, hint, list, total, describe) {
	const box = el('section', { class: 'panel' }, el('h3', {}, title), el('p', { class: 'quiet' }, hint));
	const ul = el('ul', { class: 'bars' });
	const most = list.length ? list[0].samples : 1;
	for (const item of list.slice(0, TOP)) {
		const track = el('div', { class: 'track' });
		for (const s of ORDER)
			if (item.sides[s])
				track.append(wide(el('div', { class: `part ${SIDES[s].key}` }), item.sides[s] / most));
		ul.append(el('li', {}, el('div', { class: 'bar-head' }, el('span', { class: 'name' }, item.name),
			el('span', { class: 'num' }, percent(item.samples, total))), track,
		describe ? el('p', { class: 'quiet' }, describe(item)) : null));
	}
	box.append(list.length ? ul : el('p', { class: 'quiet' }, 'None in this profile.'));
	if (list.length > TOP)
		box.append(el('p', { class: 'quiet' }, `and ${count(list.length - TOP)} more in the lists below`));
	return box;
}

export function overview(d, dom) {
	if (!dom.total)
		return el('div', {}, el('p', { class: 'lead' }, el('strong', {}, dom.name),
			' has no samples in this capture: it did not run, or the session was too short.'));
	const exits = top(d, dom, (i) => d.rows.side[i] === VMM, (i) => d.rows.exit[i], (k) => reasonName(d.strings[k]));
	return el('div', {}, lead(d, dom), splitBar(dom),
		el('ul', { class: 'cards' }, ORDER.map((s) => card(d, dom, s))),
		el('div', { class: 'columns' },
			bars('Busiest programs', 'Share of the VM\'s time, programs and kernel together.', programs(d, dom), dom.total),
			bars('Why the host had to step in', 'Time in KVM and QEMU, by the reason for which the CPU left the VM.',
				exits, dom.total, (x) => explain(d.strings[x.key]))));
}
