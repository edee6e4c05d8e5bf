// SPDX-License-Identifier: GPL-2.0-only
// timeline.js - each vCPU's time along the session, all with one axis: drag to zoom, keys to move.
import uPlot from 'uplot';
import { el, swatch } from './dom.js';
import { KERNEL, ORDER, SIDES, STEAL, USER, VMM } from './data.js';
import { duration, percent } from './format.js';

const HEIGHT = 112;
const BAR = 4;		// pixels of one piece of time, about

const laneName = (lane) => lane.vcpu >= 0 ? `vCPU ${lane.vcpu}` : 'QEMU’s other threads';

export function timeline(d, dom) {
	const bin = d.bin_ms / 1e3, bins = dom.lanes.length ? dom.lanes[0].sides[0].length : 0;
	const end = Math.min(bins * bin, d.capture.seconds || Infinity);
	const asTime = d.capture.sample_ns > 0;
	let range = [0, end], charts = [], syncing = false;

	const readout = el('p', { class: 'readout', 'aria-live': 'polite' });
	const holder = el('div', { class: 'lanes', tabindex: 0, role: 'group',
		'aria-label': 'Time line of each vCPU. Plus and minus zoom, arrow keys move, 0 shows all.' });
	const button = (text, label, onclick) => el('button', { type: 'button', 'aria-label': label, onclick }, text);

	// Samples in [from, to) of the bins, by side
	function within(lane, from, to) {
		return lane.sides.map((s) => {
			let n = 0;
			for (let i = from; i < to; i++)
				n += s[i];
			return n;
		});
	}

	// Stacked columns for uPlot, the tallest first, so that each later one is drawn over it
	function columns(lane, pixels) {
		const per = Math.max(1, Math.round((range[1] - range[0]) / bin / Math.max(1, pixels / BAR)));
		const x = [], ys = ORDER.map(() => []);
		for (let i = 0; i < bins; i += per) {
			const to = Math.min(bins, i + per), n = within(lane, i, to);
			let sum = 0;
			x.push(i * bin);
			ORDER.forEach((s, k) => {
				sum += asTime ? 100 * n[s] * d.capture.sample_ns / 1e9 / ((to - i) * bin) : n[s] / (to - i);
				ys[ORDER.length - 1 - k].push(sum);
			});
		}
		// a step reaches to the next one
		x.push(bins * bin);
		ys.forEach((y) => y.push(y[y.length - 1]));
		return [x, ...ys];
	}

	function tell() {
		const from = Math.max(0, Math.floor(range[0] / bin)), to = Math.min(bins, Math.ceil(range[1] / bin));
		const n = [0, 0, 0, 0];
		for (const lane of dom.lanes)
			within(lane, from, to).forEach((v, s) => { n[s] += v; });
		const all = n.reduce((a, b) => a + b, 0);
		readout.replaceChildren(el('strong', {}, `${range[0].toFixed(2)} s to ${range[1].toFixed(2)} s`),
			` (${duration(range[1] - range[0])}): `, ORDER.map((s, i) => [i ? ', ' : '',
				`${SIDES[s].name} ${percent(n[s], all)}`]).flat().join(''));
		holder.dataset.from = range[0].toFixed(3);
		holder.dataset.to = range[1].toFixed(3);
	}

	function show(from, to) {
		const least = Math.min(end, 8 * bin), wide = Math.min(end, Math.max(least, to - from));
		from = Math.max(0, Math.min(from, end - wide));
		range = [from, from + wide];
		syncing = true;
		charts.forEach(({ chart, lane }) => {
			chart.setData(columns(lane, chart.bbox.width / devicePixelRatio), false);
			chart.setScale('x', { min: range[0], max: range[1] });
		});
		syncing = false;
		tell();
	}

	const zoomBy = (f) => {
		const mid = (range[0] + range[1]) / 2, half = (range[1] - range[0]) * f / 2;
		show(mid - half, mid + half);
	};
	const move = (f) => {
		const by = (range[1] - range[0]) * f;
		show(range[0] + by, range[1] + by);
	};

	holder.addEventListener('keydown', (e) => {
		const keys = { '+': () => zoomBy(0.5), '=': () => zoomBy(0.5), '-': () => zoomBy(2), ArrowLeft: () => move(-0.25),
			ArrowRight: () => move(0.25), 0: () => show(0, end), Escape: () => show(0, end) };
		if (keys[e.key]) {
			keys[e.key]();
			e.preventDefault();
		}
	});

	function options(width, last) {
		const css = getComputedStyle(document.documentElement), colour = (name) => css.getPropertyValue(name).trim();
		const axis = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, ticks: { stroke: colour('--line'), width: 1 },
			font: '12px system-ui, sans-serif' };
		return {
			width, height: HEIGHT + (last ? 26 : 0), legend: { show: false }, padding: [8, 8, last ? 0 : 8, 0],
			cursor: { sync: { key: 'vmprof' }, drag: { x: true, y: false, setScale: true }, points: { show: false } },
			scales: { x: { time: false, auto: false, range: () => range }, y: asTime ? { range: [0, 100] } : { range: (u, lo, hi) => [0, hi || 1] } },
			axes: [
				{ ...axis, show: last, size: 34, values: (u, v) => v.map((x) => `${+x.toFixed(3)} s`) },
				{ ...axis, size: 52, values: (u, v) => v.map((y) => asTime ? `${y} %` : y) , splits: asTime ? [0, 50, 100] : undefined },
			],
			series: [{}, ...[...ORDER].reverse().map((s) => ({
				label: SIDES[s].name, stroke: 'transparent', width: 0, fill: colour(`--${SIDES[s].key}`),
				paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
			}))],
			hooks: {
				setSelect: [(u) => {
					if (u.select.width > 2 && !syncing)
						show(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
					u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
				}],
			},
		};
	}

	function draw() {
		const width = Math.max(240, holder.clientWidth);
		charts.forEach(({ chart }) => chart.destroy());
		charts = [];
		holder.replaceChildren();
		dom.lanes.forEach((lane, i) => {
			const n = within(lane, 0, bins), of = (k) => percent(d.seconds(k), end);
			const words = ` ran ${of(n[USER] + n[KERNEL] + n[VMM])} of the time${n[STEAL] ? `, waited ${of(n[STEAL])}` : ''}`;
			const plot = el('div');
			holder.append(el('div', { class: 'lane' }, el('h3', {}, laneName(lane), asTime ? el('span', { class: 'quiet' }, words) : null), plot));
			const o = options(width, i === dom.lanes.length - 1);
			o.cursor.drag.setScale = false;
			charts.push({ lane, chart: new uPlot(o, columns(lane, width - 60), plot) });
		});
		show(range[0], range[1]);
	}

	if (!bins || !end)
		return { node: el('p', { class: 'quiet' }, 'This capture does not tell when its samples were taken.'), redraw: () => {} };
	const node = el('div', {}, el('div', { class: 'tools' },
		el('ul', { class: 'legend' }, ORDER.map((s) => el('li', {}, swatch(SIDES[s].key), SIDES[s].name))),
		el('span', { class: 'grow' }), button('−', 'Zoom out', () => zoomBy(2)), button('+', 'Zoom in', () => zoomBy(0.5)),
		button('←', 'Earlier', () => move(-0.5)), button('→', 'Later', () => move(0.5)), button('Show all', 'Show all', () => show(0, end))),
	readout, holder, el('p', { class: 'quiet keys' }, asTime ? 'Height: share of one CPU. White space is time in which the vCPU slept. ' :
		'Height: samples. ', 'Drag to zoom in. Keyboard: ', el('kbd', {}, '+'), ' ', el('kbd', {}, '−'), ' zoom, ', el('kbd', {}, '← →'), ' move, ',
	el('kbd', {}, '0'), ' shows all.'));
	return { node, redraw: draw };
}
