// SPDX-License-Identifier: GPL-2.0-only
/*
 * exports.js - what speedscope, a program that is not ours, makes of vmprof's exports, as TAP.
 * EXPORTS: the folder that tests/unit/export.t left them in, with the sums to compare in NAME.json.
 *
 * Each file goes in as a user opens it, and speedscope finds the format by itself. What it
 * made of the file is what it saves again (its own format), and what its table of functions shows.
 *
 * Of Firefox's profiles speedscope reads an older envelope, and one thread in it: its tables are those of
 * version 24, so each thread goes in alone, in such an envelope. What lies around them (meta,
 * categories) it does not look at.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { done, is, launch, run } from './tap.js';

const dir = process.env.EXPORTS;
const app = join(dirname(fileURLToPath(import.meta.url)), 'node_modules/speedscope/dist/release/index.html');
const browser = await launch();

// Sums of .weight by .name, in order of name; in units of 1e-9, for they were added as floating point
function spent(list) {
	const all = new Map();
	for (const x of list)
		all.set(x.name, (all.get(x.name) ?? 0) + x.weight);
	return [...all].map(([name, w]) => [name, Math.round(w * 1e9)]).filter(([, w]) => w).sort(([a], [b]) => (a < b ? -1 : 1));
}

// Opens a profile: .said is what speedscope took it for, .shown its table's first row, .profiles the names and totals of what it
// found in it, with the frames and the time or samples of each itself
async function open(name, content) {
	const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 1280, height: 900 } });
	const page = await context.newPage();
	const got = { trouble: [] };
	page.setDefaultTimeout(60000);
	page.on('console', (m) => {
		const said = m.text().match(/^Importing (?:as|from) (.*)/);
		if (said)
			got.said = said[1];
		else if (m.type() === 'error' || m.text().startsWith('Failed'))
			got.trouble.push(m.text());
	});
	page.on('pageerror', (e) => got.trouble.push(e.message));
	page.on('dialog', (x) => { got.trouble.push(x.message()); x.dismiss(); });
	page.on('request', (r) => { if (!/^(file|data|blob):/.test(r.url())) got.trouble.push(r.url()); });
	await page.goto(`file://${app}`);
	await page.setInputFiles('input[type=file]', { name, mimeType: 'application/octet-stream', buffer: Buffer.from(content) });
	await page.getByText('Sandwich').click();
	got.shown = (await page.locator('tr', { hasText: '%' }).first().innerText()).split(/\s+\n?\s*/);
	const [saved] = await Promise.all([page.waitForEvent('download'), page.getByText('Export').click()]);
	const file = JSON.parse(readFileSync(await saved.path(), 'utf8'));
	got.profiles = file.profiles.map((p) => {
		const open = [], self = [];
		let last = p.startValue;
		for (const e of p.events) {
			if (open.length)
				self.push({ name: file.shared.frames[open.at(-1)].name, weight: e.at - last });
			last = e.at;
			if (e.type === 'O')
				open.push(e.frame);
			else
				open.pop();
		}
		const frames = new Set(p.events.map((e) => file.shared.frames[e.frame].name));
		return { name: p.name, unit: p.unit, total: p.endValue - p.startValue, frames: [...frames].sort(), self: spent(self) };
	});
	await context.close();
	return got;
}

const read = (name) => readFileSync(join(dir, name));
const json = (name) => JSON.parse(read(name));
// Where only instructions were sampled is no time
const sheet = (capture) => { const { rows, domains } = json(`${capture}.json`); return { rows: rows.filter((r) => r.samples), domains }; };
const functions = (rows) => spent(rows.map((r) => ({ name: r.function, weight: r.samples })));
const total = (rows) => rows.reduce((n, r) => n + r.samples, 0);
const distinct = (list) => [...new Set(list)].sort((a, b) => (a < b ? -1 : 1));
const track = (r) => (r.vcpu !== undefined ? `vCPU ${r.vcpu}` : `thread ${r.thread}`);

// Formats of sums: speedscope has vmprof's functions, each with its samples
async function sums(capture, format, said, named) {
	const { rows, domains } = sheet(capture);
	const got = await open(`${capture}.${format}`, read(`${capture}.${format}`));
	const self = spent(got.profiles.flatMap((p) => p.self.map(([name, n]) => ({ name, weight: n / 1e9 }))));
	const counts = (list) => list.map(([, n]) => n / 1e9).sort((a, b) => b - a);
	is(got.said, said, `${capture}: speedscope takes ${format} for what it is`);
	is(got.trouble, [], 'and reads it without a message');
	is(got.profiles.reduce((n, p) => n + p.total, 0), total(rows), `it has all ${total(rows)} samples`);
	is(counts(self), counts(functions(rows)), 'as many for each function');
	if (named)
		is(self, functions(rows), 'by name');
	if (format === 'speedscope')
		is(got.profiles.map((p) => [p.name, p.total]), domains.map((d) => [d.name, d.samples]), 'each domain is a profile');
	is(got.shown.filter((x) => /^\d+$/.test(x))[0], String(counts(functions(rows))[0]), 'its table begins with the most');
}

// Of microseconds: a trace has three digits of them, and differences of its long times no more
const ns = (list) => list.map(([name, n]) => [name, Math.round(n / 1e6)]);
// speedscope names a slice with its arguments
const shown = (e) => `${e.name} ${JSON.stringify(e.args)}`;

// A trace: functions and processes of each track, as long as the file says
async function trace(capture) {
	const { rows, domains } = sheet(capture);
	const events = json(`${capture}.chrome`).traceEvents.filter((e) => e.ph === 'X');
	const got = await open(`${capture}.chrome`, read(`${capture}.chrome`));
	is(got.said, 'Trace Event Format profile', `${capture}: speedscope takes chrome for what it is`);
	is(got.trouble, [], 'and reads it without a message');
	const tracks = distinct(events.map((e) => e.tid)).map((tid, i) => {
		const own = rows.filter((r) => got.profiles[i]?.name === `${r.domain} (pid ${domains.find((d) => d.name === r.domain).vm}), ${track(r)} (tid ${tid})`);
		const slices = events.filter((e) => e.tid === tid && e.cat !== 'process');
		return { names: distinct(own.flatMap((r) => [r.function, r.process])), self: ns(spent(slices.map((e) => ({ name: shown(e), weight: e.dur })))) };
	});
	is(got.profiles.map((p) => distinct(p.frames.map((name) => name.replace(/ \{"samples":.*\}$/s, '')))), tracks.map((t) => t.names),
		`functions and processes of ${tracks.length} tracks are those of the sums`);
	is(got.profiles.map((p) => [p.unit, ns(p.self)]), tracks.map((t) => ['microseconds', t.self]), 'each function has its time, and processes none of their own');
}

// A time line of blocks: a track for each vCPU, in it each block as long as it took
async function timeline(capture) {
	const { traceEvents: events } = json(`${capture}.timeline`);
	const got = await open(`${capture}.json`, read(`${capture}.timeline`));
	is(got.said, 'Trace Event Format profile', `${capture}: speedscope takes a time line for what it is`);
	is(got.trouble, [], 'and reads it without a message');
	const called = (e, what) => events.find((x) => x.name === what && x.pid === e.pid && x.tid === e.tid).args.name;
	const title = (e) => `${called(e, 'process_name')} (pid ${e.pid}), ${called(e, 'thread_name')} (tid ${e.tid})`;
	const slices = events.filter((e) => e.ph === 'X');
	const tracks = distinct(slices.map(title)).map((name) => [name, 'microseconds', ns(spent(slices.filter((e) => title(e) === name).map((e) => ({ name: shown(e), weight: e.dur }))))]);
	is(tracks.length, 3, 'three vCPUs of two domains ran blocks');
	is(got.profiles.map((p) => [p.name, p.unit, ns(p.self)]).sort(([a], [b]) => (a < b ? -1 : 1)), tracks, 'each has its blocks with their times');
}

// Text of perf script: a profile for each process, from its first to its last sample
async function perf_script(capture, named) {
	const { rows } = sheet(capture);
	const text = read(`${capture}.perf-script`).toString();
	const got = await open(`${capture}.perf-script`, text);
	is(got.said, 'linux perf script output', `${capture}: speedscope takes perf-script for what it is`);
	is(got.trouble, [], 'and reads it without a message');
	const processes = new Map();
	for (const [, comm, first, second, seconds, name] of text.matchAll(/^(\S+) +(\d+)(?:\/(\d+))? \[\d+\] +([\d.]+): .*\n\t *[0-9a-f]+ (.*) \(\S+\)$/gm)) {
		const [pid, tid] = second ? [first, second] : [0, first];
		const key = comm + (Number(pid) ? ` pid: ${pid}` : '') + (Number(tid) ? ` tid: ${tid}` : '');
		const p = processes.get(key) ?? { times: [], functions: [] };
		p.times.push(Number(seconds));
		p.functions.push(name);
		processes.set(key, p);
	}
	const all = [...processes.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
	is(all.reduce((n, [, p]) => n + p.times.length, 0), total(rows), 'all samples are in it');
	is(got.profiles.sort((a, b) => (a.name < b.name ? -1 : 1)).map((p) => [p.name, p.frames]), all.map(([name, p]) => [name, distinct(p.functions)]),
		'each process is a profile of its functions');
	if (named)
		is(distinct(got.profiles.flatMap((p) => p.frames)), distinct(rows.map((r) => r.function)), 'all together those of the sums');
	// speedscope gives one alone a second
	is(got.profiles.map((p) => Math.round(p.total * 1e9)), all.map(([, p]) => (p.times.length === 1 ? 1e9 : Math.round((p.times.at(-1) - p.times[0]) * 1e9))), 'as long as it ran');
}

// Firefox's: threads by themselves (a few), in the envelope that speedscope knows, closed by a sample of nothing
async function gecko(capture, named) {
	const { rows } = sheet(capture);
	const { threads } = json(`${capture}.gecko`);
	is(distinct(threads.map((t) => `${t.processName} ${t.name}`)), distinct(rows.map((r) => `${r.domain} ${track(r)}`)), `${capture}: gecko has a thread for each track`);
	for (const t of threads.filter((_, i) => i < 2 || i >= threads.length - 2)) {
		const { samples, stackTable, frameTable, stringTable } = t;
		const own = rows.filter((r) => r.domain === t.processName && track(r) === t.name);
		const at = samples.data.map((s) => s[samples.schema.time]), end = at.at(-1) + 1;
		const name = (s) => stringTable[frameTable.data[stackTable.data[s[samples.schema.stack]][stackTable.schema.frame]][frameTable.schema.location]].replace(/ \(in [^)]*\)$/, '');
		const wanted = spent(samples.data.map((s, i) => ({ name: name(s), weight: (at[i + 1] ?? end) - at[i] })));
		is(samples.data.length, total(own), `${t.processName}, ${t.name}: all samples are in it`);
		samples.data.push([stackTable.data.push([null, frameTable.data.push([stringTable.push('(root)') - 1]) - 1]) - 1, end]);
		const got = await open('profile.json', JSON.stringify({ systemHost: { name: 'Firefox' }, duration: end, profile: { threads: [t] } }));
		is(got.said, 'Firefox profile', 'speedscope takes it for what it is');
		is(got.trouble, [], 'and reads it without a message');
		if (named) {
			is(got.profiles[0].frames, distinct(own.map((r) => r.function)), 'it has all functions');
			is(got.profiles[0].self, wanted, 'each with its time');
		}
	}
}

// timed.* has names and times as captures have them, and the lab's; of hostile.*, in text formats a name that is no
// text is written otherwise, and speedscope looks for Firefox's names in one line
for (const capture of ['timed', 'quantum', 'blocks', 'hostile']) {
	const named = capture !== 'hostile';
	await run(sums, capture, 'speedscope', 'speedscope json file', true);
	await run(sums, capture, 'pb.gz', 'protobuf encoded pprof file', named);
	await run(sums, capture, 'folded', 'collapsed stack format', named);
	await run(trace, capture);
	await run(perf_script, capture, named);
	await run(gecko, capture, named);
}
await run(timeline, 'moments');
done();
await browser.close();
