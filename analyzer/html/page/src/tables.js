// SPDX-License-Identifier: GPL-2.0-only
// tables.js - the largest of everything, to be searched and sorted.
import { el, swatch } from './dom.js';
import { USER, VMM, sideKey, sums } from './data.js';
import { explain, reasonName } from './exits.js';
import { count, cpi, duration, percent } from './format.js';

const STEP = 50;

const KINDS = [
	{ key: 'function', name: 'Functions', columns: ['Function', 'Module', 'Program'],
		of: (d, i) => [d.strings[d.stacks.function[d.rows.stack[i]]], d.strings[d.stacks.module[d.rows.stack[i]]], d.procs.shown[d.rows.proc[i]]] },
	{ key: 'process', name: 'Processes', columns: ['Process', 'PID'], numeric: [1],
		of: (d, i) => {
			const p = d.rows.proc[i], n = d.procs.count[p], pid = d.procs.pid[p];
			return [d.procs.shown[p], pid >= 0 ? pid : n > 1 ? `${count(n)} processes` : '–'];
		} },
	{ key: 'thread', name: 'Threads', columns: ['Thread', 'TID', 'Process', 'PID'], numeric: [1, 3], when: (dom) => dom.byThread,
		only: (d, i) => d.rows.side[i] <= USER && d.rows.thread[i] >= 0,
		of: (d, i) => {
			const t = d.rows.thread[i], p = d.rows.proc[i], n = d.threads.count[t], tid = d.threads.tid[t];
			return [d.strings[d.threads.name[t]], tid >= 0 ? tid : `${count(n)} threads`, d.procs.shown[p], d.procs.pid[p]];
		} },
	{ key: 'module', name: 'Modules', columns: ['Module'], of: (d, i) => [d.strings[d.stacks.module[d.rows.stack[i]]]] },
	{ key: 'exit', name: 'Exit reasons', columns: ['Exit reason', 'What it means'], only: (d, i) => d.rows.side[i] === VMM,
		of: (d, i) => {
			const reason = d.strings[d.rows.exit[i]];
			return [reasonName(reason), explain(reason)];
		} },
	{ key: 'vcpu', name: 'vCPUs', columns: ['vCPU'],
		of: (d, i) => [d.rows.vcpu[i] >= 0 ? d.rows.vcpu[i] : 'other threads'] },
];

// vCPUs that are too many for the rows are known from their time lines.
function fromLanes(dom) {
	return dom.lanes.map((l) => {
		const sides = l.sides.map((bins) => bins.reduce((a, b) => a + b, 0)), cells = [l.vcpu >= 0 ? l.vcpu : 'other threads'];
		return { samples: sides.reduce((a, b) => a + b, 0), cycles: 0, instructions: 0, sides, cells, text: cells.join(' ') };
	});
}

function collect(d, dom, kind) {
	if (kind.key === 'vcpu' && !dom.byVcpu)
		return fromLanes(dom);
	const rows = kind.only ? dom.rows.filter((i) => kind.only(d, i)) : dom.rows;
	return [...sums(d, rows, (i) => kind.of(d, i).join('\u0000')).values()].map((s) => {
		const cells = kind.of(d, s.row);
		return { ...s, cells, text: cells.join(' ').toLowerCase() };
	});
}

const collator = new Intl.Collator('en', { numeric: true });
const compare = (a, b) => typeof a === 'number' && typeof b === 'number' ? a - b : collator.compare(String(a), String(b));

export function tables(d, dom) {
	const kinds = KINDS.filter((k) => !k.when || k.when(dom));
	let kind = kinds[0], list = [], sort = { by: 'samples', down: true }, limit = STEP;
	const cache = new Map();

	const search = el('input', { type: 'search', id: 'table-search', placeholder: 'Filter the list', autocomplete: 'off', spellcheck: 'false',
		oninput: () => { limit = STEP; fill(); } });
	const found = el('output', { class: 'quiet', for: 'table-search', 'aria-live': 'polite' });
	const head = el('tr'), body = el('tbody');
	const more = el('button', { type: 'button', onclick: () => { limit += STEP * 4; fill(); } });
	const tabs = kinds.map((k) => el('button', { type: 'button', role: 'tab', id: `tab-${k.key}`, 'aria-controls': 'list', onclick: () => choose(k) }, k.name));
	const bar = el('div', { class: 'tabs', role: 'tablist', 'aria-label': 'What to list', onkeydown: (e) => {
		const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
		if (step) {
			const next = kinds[(kinds.indexOf(kind) + step + kinds.length) % kinds.length];
			choose(next);
			tabs[kinds.indexOf(next)].focus();
			e.preventDefault();
		}
	} }, tabs);

	const value = {
		samples: (x) => x.samples, cpi: (x) => x.instructions ? x.cycles / x.instructions : -1,
	};

	function heading(name, by, numeric) {
		const on = sort.by === by;
		return el('th', { scope: 'col', class: numeric ? 'num' : null, 'aria-sort': on ? sort.down ? 'descending' : 'ascending' : null },
			el('button', { type: 'button', class: 'link', onclick: () => {
				sort = { by, down: on ? !sort.down : typeof by === 'string' };
				fill();
				[...head.querySelectorAll('th')].find((th) => th.ariaSort || th.hasAttribute('aria-sort')).firstChild.focus();
			} }, name, on ? sort.down ? ' ▾' : ' ▴' : ''));
	}

	function line(x) {
		return el('tr', {}, el('td', { class: 'num' }, d.capture.sample_ns ? duration(d.seconds(x.samples)) : '–'),
			el('td', { class: 'num' }, count(x.samples)), el('td', { class: 'num share' }, percent(x.samples, dom.total)),
			el('td', { class: 'num' }, cpi(x.cycles, x.instructions)),
			x.cells.map((c, i) => el('td', { class: kind.numeric && kind.numeric.includes(i) ? 'num' : i ? 'quiet' : 'name' },
				i ? null : swatch(sideKey(x.sides)), String(c))));
	}

	function fill() {
		const needle = search.value.trim().toLowerCase();
		const hits = needle === '' ? list : list.filter((x) => x.text.includes(needle));
		const get = typeof sort.by === 'string' ? value[sort.by] : (x) => x.cells[sort.by];
		hits.sort((a, b) => (sort.down ? -1 : 1) * compare(get(a), get(b)) || b.samples - a.samples || (a.text < b.text ? -1 : 1));
		head.replaceChildren(heading('Time', 'samples', true), el('th', { scope: 'col', class: 'num' }, 'Samples'),
			el('th', { scope: 'col', class: 'num' }, 'Share'), heading('CPI', 'cpi', true),
			...kind.columns.map((c, i) => heading(c, i, kind.numeric && kind.numeric.includes(i))));
		body.replaceChildren(...hits.slice(0, limit).map(line));
		more.hidden = hits.length <= limit;
		more.textContent = `Show more (${count(hits.length - limit)} left)`;
		found.textContent = needle === '' ? `${count(list.length)} rows` :
			`${count(hits.length)} of ${count(list.length)} rows, ${percent(hits.reduce((n, x) => n + x.samples, 0), dom.total)} of the time`;
	}

	function choose(k) {
		kind = k;
		if (!cache.has(k))
			cache.set(k, collect(d, dom, k));
		list = cache.get(k);
		limit = STEP;
		sort = { by: 'samples', down: true };
		tabs.forEach((t, i) => {
			t.setAttribute('aria-selected', String(kinds[i] === k));
			t.tabIndex = kinds[i] === k ? 0 : -1;
		});
		fill();
	}

	choose(kind);
	return el('div', {}, el('div', { class: 'tools' }, bar, el('span', { class: 'grow' }),
		el('label', {}, el('span', {}, 'Search'), search)), el('div', { class: 'under' }, found),
	el('div', { class: 'scroll table', id: 'list', role: 'tabpanel', tabindex: 0, 'aria-label': 'List' }, el('table', {}, el('thead', {}, head), body)), more,
	d.counted ? el('p', { class: 'quiet how' }, 'CPI is by counts since the sample before, whatever ran in between: a row’s is mixed with others’. vmprof start --cpi tells its own.') : null);
}
