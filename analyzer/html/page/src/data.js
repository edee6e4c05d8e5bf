// SPDX-License-Identifier: GPL-2.0-only
// data.js - the data that vmprof wrote into the page (analyzer/html/data.c), made ready to be asked.
//
// Columns of one length stand for tables: rows[i] is { proc[i], vcpu[i], ... }.
//   capture  path, host, release, vmprof, event, trigger, period, random (true: period is a mean), cpus, start_ms, seconds,
//            cpi_estimator ('two-events'; 'counts': cycles and instructions are those since the sample before; absent: there are none),
//            sample_ns (time that a sample stands for; 0: the event does not count time), others
//   domains  name, agent, total, guest, with_process, with_function
//   procs    domain, name, pid (-1 none or several), count
//   threads  of the guest, where known: proc, name, tid (-1 several), count
//   rows     proc, thread (-1 not known, or not told apart), vcpu (-1 none, or too many to be told apart), side, exit, stack,
//            samples, cycles, instructions
//   stacks   parent (-1 none; lower than its own number), function, module
//   paces    proc, thread, vcpu, cycles: five numbers each, of cycles that finished 0, 1, 2, 3, 4+ instructions
//   bin_ms, lanes: domain, vcpu, sides: samples in each piece of time, for each side
//   notes, strings: names above are numbers of strings
import { shown } from './dom.js';

export const KERNEL = 0, USER = 1, VMM = 2, STEAL = 3;
// As they are shown, from first to last
export const ORDER = [USER, KERNEL, VMM, STEAL];
export const SIDES = [
	{ key: 'kernel', name: 'Guest kernel', what: 'the operating system inside the VM' },
	{ key: 'user', name: 'Programs', what: 'programs running inside the VM' },
	{ key: 'vmm', name: 'Virtualisation', what: 'the host working for this VM: KVM and QEMU' },
	{ key: 'steal', name: 'Steal', what: 'the VM was ready to run, but other work had the CPU' },
];
export const PACES = 5;

function procName(d, i) {
	const name = d.strings[d.procs.name[i]];
	if (name === '')
		return '[steal]';
	return name;
}

// "shor (1234)", "true (37 processes)"
function procTitle(d, i) {
	const name = procName(d, i), pid = d.procs.pid[i], n = d.procs.count[i];
	if (pid >= 0)
		return `${name} (${pid})`;
	return n > 1 ? `${name} (${n} processes)` : name;
}

// "worker, thread 1234", "worker, 37 threads"
function threadTitle(d, i) {
	const name = d.strings[d.threads.name[i]], tid = d.threads.tid[i], n = d.threads.count[i];
	return tid >= 0 ? `${name}, thread ${tid}` : n > 1 ? `${name}, ${n} threads` : name;
}

// What a row's or pace's thread is called; null where its process has no known one
export function threadName(d, columns, i) {
	const t = columns.thread[i];
	return t >= 0 ? d.threads.title[t] : d.threads.of.has(columns.proc[i]) ? 'thread not known' : null;
}

function domain(d, number) {
	const rows = [], sides = [0, 0, 0, 0];
	for (let i = 0; i < d.rows.proc.length; i++) {
		if (d.procs.domain[d.rows.proc[i]] === number) {
			rows.push(i);
			sides[d.rows.side[i]] += d.rows.samples[i];
		}
	}
	const lanes = d.lanes.filter((l) => l.domain === number);
	const byVcpu = rows.some((i) => d.rows.vcpu[i] >= 0);
	const byThread = rows.some((i) => d.rows.thread[i] >= 0);
	return { ...d.domains[number], number, rows, sides, lanes, byVcpu, byThread };
}

export function load(text) {
	const d = JSON.parse(text);
	d.strings = d.strings.map(shown);
	d.procs.shown = d.procs.name.map((_, i) => procName(d, i));
	d.procs.title = d.procs.name.map((_, i) => procTitle(d, i));
	d.threads.title = d.threads.name.map((_, i) => threadTitle(d, i));
	d.threads.of = new Set(d.threads.proc);
	d.notes = d.notes.map(shown);
	for (const key of ['path', 'host', 'release', 'vmprof', 'event', 'trigger'])
		d.capture[key] = shown(d.capture[key]);
	for (const dom of d.domains)
		dom.name = shown(dom.name);
	d.domains = d.domains.map((_, i) => domain(d, i));
	d.counted = d.capture.cpi_estimator === 'counts';
	d.seconds = (samples) => samples * d.capture.sample_ns / 1e9;
	return d;
}

// Sums of rows by a key, without those that have no time (only their instructions were sampled): Map key -> { samples, cycles, instructions, sides, row: the largest }
export function sums(d, rows, key) {
	const all = new Map();
	for (const i of rows) {
		const k = key(i);
		let s = all.get(k);
		if (!s)
			all.set(k, s = { samples: 0, cycles: 0, instructions: 0, sides: [0, 0, 0, 0], row: i });
		s.samples += d.rows.samples[i];
		s.cycles += d.rows.cycles[i];
		s.instructions += d.rows.instructions[i];
		s.sides[d.rows.side[i]] += d.rows.samples[i];
	}
	for (const [k, s] of all)
		if (!s.samples)
			all.delete(k);
	return all;
}

export const bySamples = (a, b) => b.samples - a.samples;

// "user", "kernel", "vmm", "steal" where nearly all is of one kind; else "mixed"
export function sideKey(sides) {
	const all = sides.reduce((a, b) => a + b, 0), side = ORDER.find((s) => sides[s] >= 0.85 * all);
	return side === undefined ? 'mixed' : SIDES[side].key;
}
