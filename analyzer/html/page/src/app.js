// SPDX-License-Identifier: GPL-2.0-only
// app.js - the page: head, sections, choice of domain and of colours.
import { el } from './dom.js';
import { load } from './data.js';
import { cycles } from './cycles.js';
import { count, duration } from './format.js';
import { icicle } from './icicle.js';
import { overview } from './overview.js';
import { tables } from './tables.js';
import { timeline } from './timeline.js';

const THEMES = [['', 'Colours: as the system'], ['light', 'Colours: light'], ['dark', 'Colours: dark']];
const d = load(document.getElementById('data').textContent);
const app = document.getElementById('app');
let redraw = [], focusSearch = () => {}, shownDomain = null;

function facts(dom) {
	const c = d.capture, parts = [`Host ${c.host}`, new Date(c.start_ms).toISOString().replace('T', ' ').slice(0, 16) + ' UTC'];
	if (c.seconds)
		parts.push(`${duration(c.seconds)} long`);
	parts.push(`${count(dom.total)} samples`);
	if (c.event)
		parts.push(c.trigger === 'timer' ? 'taken by a timer' : `one every ${count(c.period)} ${c.event}${c.random ? ' in the mean of random periods' : ''}`);
	return parts.join(' · ');
}

function section(id, title, hint, content) {
	return el('section', { id, 'aria-labelledby': `${id}-title` }, el('h2', { id: `${id}-title`, tabindex: -1 }, title),
		hint ? el('p', { class: 'hint' }, hint) : null, content);
}

const SECTIONS = [['overview', 'Overview'], ['flame', 'Where'], ['time', 'When'], ['lists', 'Lists'], ['cycles', 'Cycles'], ['limits', 'Limits']];

function header(dom) {
	const select = d.domains.length > 1 ? el('label', {}, el('span', { class: 'hidden' }, 'Domain'),
		el('select', { id: 'domain', onchange: (e) => show(d.domains[e.target.value]) },
			d.domains.map((x) => el('option', { value: x.number, selected: x === dom }, x.name)))) : null;
	const theme = el('select', { id: 'theme', 'aria-label': 'Colours', onchange: () => {
		if (theme.value)
			document.documentElement.dataset.theme = theme.value;
		else
			delete document.documentElement.dataset.theme;
		redraw.forEach((f) => f());
	} }, THEMES.map(([value, name]) => el('option', { value }, name)));
	theme.value = document.documentElement.dataset.theme || '';
	return el('header', {}, el('div', { class: 'bar' }, el('span', { class: 'brand' }, 'vmprof'),
		el('nav', { 'aria-label': 'Sections' }, SECTIONS.map(([id, name]) => el('a', { href: `#${id}` }, name))), select, theme));
}

const FOLDED = 'Functions, threads and processes too small to be seen are summed up by name, or as [smaller functions] and the like.';
const SMALLER = ['[smaller functions]', '[smaller threads]', '[smaller processes]'];

function limits() {
	const notes = SMALLER.some((s) => d.strings.includes(s)) ? [...d.notes, FOLDED] : d.notes;
	return el('ul', { class: 'notes' }, notes.map((n) => el('li', { class: n.startsWith('  ') ? 'sub' : null }, n.trim())));
}

// The overview is there at once; the other sections are made after it was painted, one by one.
function show(dom) {
	const place = () => el('div', { class: 'later' });
	const flame = place(), time = place(), list = place(), cycle = place();
	const work = dom.total ? [
		() => {
			const view = icicle(d, dom);
			flame.replaceWith(view.node);
			focusSearch = view.focusSearch;
			return view.redraw;
		},
		() => {
			const view = timeline(d, dom);
			time.replaceWith(view.node);
			return view.redraw;
		},
		() => list.replaceWith(tables(d, dom)),
		() => cycle.replaceWith(cycles(d, dom)),
	] : [];
	shownDomain = dom;
	redraw = [];
	delete document.documentElement.dataset.ready;
	document.title = `${dom.name}: vmprof report`;
	app.replaceChildren(el('a', { class: 'skip', href: '#overview' }, 'Skip to the report'), header(dom), el('main', {},
		el('div', { class: 'title' }, el('h1', {}, dom.name), el('p', { class: 'quiet' }, facts(dom))),
		section('overview', 'What the time went to', null, overview(d, dom)),
		dom.total ? [
			section('flame', 'Where it went', 'The whole VM is on top; below it, each box is as wide as its share of the time.', flame),
			section('time', 'When it went', null, time),
			section('lists', 'The largest of everything', null, list),
			section('cycles', 'How fast it went', null, cycle),
		] : null,
		section('limits', 'How far to trust this', 'What was lost or could not be named, and how exact the times are.', limits())),
	el('footer', { class: 'quiet' }, `Made by vmprof from ${d.capture.path}. This page holds all of its data and uses no network.`));
	const next = () => {
		if (shownDomain !== dom)
			return;
		const f = work.shift();
		if (!f) {
			document.documentElement.dataset.ready = 'yes';
			return;
		}
		const again = f();
		if (again) {
			redraw.push(again);
			again();
		}
		setTimeout(next);
	};
	requestAnimationFrame(() => setTimeout(next));
}

if (d.domains.length) {
	show(d.domains.find((x) => x.total) || d.domains[0]);
} else {
	app.replaceChildren(el('main', {}, el('h1', {}, 'An empty capture'), el('p', { class: 'lead' }, 'It holds no domain, and no samples of one.'), limits()));
	document.documentElement.dataset.ready = 'yes';
}

let timer = 0;
addEventListener('resize', () => {
	clearTimeout(timer);
	timer = setTimeout(() => redraw.forEach((f) => f()), 100);
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => redraw.forEach((f) => f()));
addEventListener('keydown', (e) => {
	if (e.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName) && !e.ctrlKey && !e.metaKey && !e.altKey) {
		focusSearch();
		e.preventDefault();
	}
});
