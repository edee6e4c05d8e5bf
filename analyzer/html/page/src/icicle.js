// SPDX-License-Identifier: GPL-2.0-only
// icicle.js - the tree as rows of boxes, the whole on top: as wide as their time. Zoom, search, keyboard.
import { el } from './dom.js';
import { ORDER as KINDS, SIDES, sideKey } from './data.js';
import { count, cpi, duration, percent } from './format.js';
import { LEVELS, build } from './tree.js';

const ROW = 26;
const NARROWEST = 1.5;	// pixels; narrower boxes are not drawn

const ORDERS = [
	['process thread exit module', 'Process › thread › module › function'],
	['process vcpu exit module', 'Process › vCPU › module › function'],
	['process exit module', 'Process › module › function'],
	['vcpu process exit module', 'vCPU › process › module › function'],
	['side program module', 'Kind of time › program › function'],
	['module', 'Module › function'],
];

// Along a box's lower edge: its kinds of time, each as wide as its share
function strip(sides) {
	const all = sides.reduce((a, b) => a + b, 0), stops = [];
	let at = 0;
	for (const s of KINDS) {
		if (sides[s])
			stops.push(`var(--${SIDES[s].key}) ${at}% ${at += 100 * sides[s] / all}%`);
	}
	return `linear-gradient(90deg, ${stops.join(', ')})`;
}

export function icicle(d, dom) {
	const orders = ORDERS.filter(([levels]) => (dom.byVcpu || !levels.includes('vcpu')) && (dom.byThread || !levels.includes('thread')));
	let root, zoom, current, boxes = new Map(), needle = '';

	const order = el('select', { id: 'order', onchange: () => grow() },
		orders.map(([levels, name]) => el('option', { value: levels }, name)));
	const search = el('input', { type: 'search', id: 'flame-search', placeholder: 'Find a process, thread, module or function',
		autocomplete: 'off', spellcheck: 'false', oninput: find, onkeydown: searchKey });
	const found = el('output', { class: 'quiet', for: 'flame-search', 'aria-live': 'polite' });
	const reset = el('button', { type: 'button', onclick: () => zoomTo(root) }, 'Show all');
	const crumbs = el('nav', { class: 'crumbs', 'aria-label': 'Zoomed into' });
	const view = el('div', { class: 'icicle', role: 'tree', 'aria-label': 'Time by process, thread, module and function' });
	const info = el('div', { class: 'info', 'aria-live': 'polite' });
	const hint = el('p', { class: 'quiet keys' }, 'Click a box to zoom in. Keyboard: ', el('kbd', {}, '← → ↑ ↓'), ' move, ',
		el('kbd', {}, 'Enter'), ' zooms in, ', el('kbd', {}, 'Esc'), ' zooms out, ', el('kbd', {}, '/'), ' searches.');

	const matches = (node) => needle !== '' && node.data.name.toLowerCase().includes(needle);

	function describe(node) {
		const s = node.data, parts = [`${count(node.value)} samples`, `${percent(node.value, root.value)} of ${root.data.name}`];
		if (d.capture.sample_ns)
			parts.unshift(duration(d.seconds(node.value)));
		if (node.parent && node.parent !== root)
			parts.push(`${percent(node.value, node.parent.value)} of ${node.parent.data.name}`);
		if (s.instructions)
			parts.push(`CPI ${cpi(s.cycles, s.instructions)}${d.counted ? ' by counts' : ''}`);
		return parts.join(' · ');
	}

	function tell(node) {
		const level = node.data.level === 'domain' ? 'VM' : node.data.level === 'function' ? 'Function' : LEVELS[node.data.level].name;
		info.replaceChildren(el('span', { class: 'what' }, level), el('strong', {}, node.data.name), el('span', {}, describe(node)));
	}

	function box(node, left, width, pixels) {
		const b = el('div', { class: `box ${sideKey(node.data.sides)}${needle === '' ? '' : matches(node) ? ' hit' : ' miss'}`,
			role: 'treeitem', tabindex: node === current ? 0 : -1, 'aria-level': node.depth + 1,
			'aria-label': `${node.data.name}, ${percent(node.value, root.value)}`,
			onclick: () => { current = node; zoomTo(node); }, onmouseenter: () => tell(node),
			onfocus: () => { current = node; tell(node); } });
		if (pixels > 34)
			b.append(el('span', { class: 'name' }, node.data.name));
		if (pixels > 150)
			b.append(el('span', { class: 'num' }, percent(node.value, root.value)));
		b.style.backgroundImage = strip(node.data.sides);
		b.style.left = `${left * 100}%`;
		b.style.width = `${width * 100}%`;
		b.style.top = `${node.depth * ROW}px`;
		return b;
	}

	// Ancestors of what is zoomed into span the whole width.
	function draw(focus) {
		const pixels = view.clientWidth || 1000, scale = 1 / (zoom.x1 - zoom.x0);
		const nodes = [...zoom.ancestors().slice(1).reverse(), ...visible(zoom, pixels)];
		boxes = new Map();
		for (const n of nodes) {
			const above = n.depth < zoom.depth;
			const left = above ? 0 : (n.x0 - zoom.x0) * scale, width = above ? 1 : (n.x1 - n.x0) * scale;
			const b = box(n, left, width, width * pixels);
			if (above)
				b.classList.add('above');
			boxes.set(n, b);
		}
		if (!boxes.has(current))
			current = zoom;
		boxes.get(current).tabIndex = 0;
		view.replaceChildren(...boxes.values());
		view.style.height = `${(Math.max(...nodes.map((n) => n.depth)) + 1) * ROW}px`;
		crumbs.replaceChildren(...zoom.ancestors().reverse().flatMap((n, i) => [i ? ' › ' : '',
			n === zoom ? el('span', { 'aria-current': 'true' }, n.data.name) :
				el('button', { type: 'button', class: 'link', onclick: () => zoomTo(n) }, n.data.name)]));
		reset.disabled = zoom === root;
		tell(current);
		if (focus)
			boxes.get(current).focus();
	}

	// Top down, larger ones first: also the order for screen readers
	function visible(top, pixels) {
		const out = [top], least = NARROWEST / pixels * (top.x1 - top.x0);
		for (let i = 0; i < out.length; i++)
			out.push(...(out[i].children || []).filter((c) => c.x1 - c.x0 >= least));
		return out;
	}

	function zoomTo(node, focus = true) {
		zoom = current = node;
		draw(focus);
	}

	function find() {
		needle = search.value.trim().toLowerCase();
		const hits = [];
		let samples = 0;
		if (needle !== '') {
			const todo = [root];
			while (todo.length) {
				const n = todo.pop();
				if (n !== root && matches(n)) {
					hits.push(n);
					samples += n.value;	// what is below a hit is counted with it
				} else {
					todo.push(...n.children || []);
				}
			}
		}
		hits.sort((a, b) => b.value - a.value);
		found.textContent = needle === '' ? '' : hits.length ?
			`${count(hits.length)} found, ${percent(samples, root.value)} of the time. Enter goes to the largest.` : 'Nothing found.';
		draw(false);
		return hits;
	}

	function searchKey(e) {
		if (e.key === 'Enter') {
			const hits = find();
			if (hits.length) {
				current = hits[0];
				zoom = hits[0].parent || root;
				draw(true);
			}
			e.preventDefault();
		} else if (e.key === 'Escape' && search.value) {
			search.value = '';
			find();
			e.preventDefault();
			e.stopPropagation();
		}
	}

	function beside(node, step) {
		const all = node.parent ? node.parent.children : [node];
		return all[all.indexOf(node) + step];
	}

	view.addEventListener('keydown', (e) => {
		let to = null;
		if (e.key === 'ArrowDown')
			to = (current.children || [])[0];
		else if (e.key === 'ArrowUp')
			to = current.parent;
		else if (e.key === 'ArrowRight')
			to = beside(current, 1);
		else if (e.key === 'ArrowLeft')
			to = beside(current, -1);
		else if (e.key === 'Home')
			to = root;
		else if (e.key === 'Enter' || e.key === ' ')
			zoomTo(current);
		else if (e.key === 'Escape')
			zoomTo(zoom.parent || root);
		else
			return;
		e.preventDefault();
		if (to && boxes.has(to)) {
			boxes.get(current).tabIndex = -1;
			current = to;
			boxes.get(to).tabIndex = 0;
			boxes.get(to).focus();
		}
	});

	function grow() {
		root = build(d, dom, order.value.split(' '));
		zoom = current = root;
		find();
	}

	const node = el('div', {}, el('div', { class: 'tools' },
		el('label', { class: 'grow' }, el('span', {}, 'Search'), search), el('label', {}, el('span', {}, 'Order'), order), reset),
	el('div', { class: 'under' }, crumbs, found), el('div', { class: 'scroll' }, view), info, hint);
	grow();	// its width is not known yet: redraw() once it is in the page
	return { node, redraw: () => draw(false), focusSearch: () => search.focus() };
}
