// SPDX-License-Identifier: GPL-2.0-only
// tree.js - rows as one tree, in the order of levels that the reader chose; stacks of any depth at its leaves.
import { hierarchy, partition } from 'd3-hierarchy';
import { SIDES, USER, VMM, threadName } from './data.js';
import { reasonName } from './exits.js';

export const LEVELS = {
	process: { name: 'Process', of: (d, i) => d.procs.title[d.rows.proc[i]] },
	program: { name: 'Program', of: (d, i) => d.procs.shown[d.rows.proc[i]] },
	thread: { name: 'Thread', of: (d, i) => d.rows.side[i] <= USER ? threadName(d, d.rows, i) : null },
	vcpu: { name: 'vCPU', of: (d, i) => d.rows.vcpu[i] >= 0 ? `vCPU ${d.rows.vcpu[i]}` : null },
	side: { name: 'Kind of time', of: (d, i) => SIDES[d.rows.side[i]].name },
	exit: { name: 'Exit reason', of: (d, i) => d.rows.side[i] === VMM ? reasonName(d.strings[d.rows.exit[i]]) : null },
	module: { name: 'Module', of: (d, i) => d.strings[d.stacks.module[outermost(d, d.rows.stack[i])]] || null },
};

function outermost(d, stack) {
	while (d.stacks.parent[stack] >= 0)
		stack = d.stacks.parent[stack];
	return stack;
}

function child(node, level, name) {
	const key = `${level}\u0000${name}`;
	let c = node.map.get(key);
	if (!c) {
		c = { name, level, self: 0, cycles: 0, instructions: 0, sides: [0, 0, 0, 0], map: new Map() };
		node.map.set(key, c);
	}
	return c;
}

function add(node, d, i) {
	node.cycles += d.rows.cycles[i];
	node.instructions += d.rows.instructions[i];
	node.sides[d.rows.side[i]] += d.rows.samples[i];
}

// The frames of a row, outermost first
function frames(d, stack) {
	const out = [];
	for (; stack >= 0; stack = d.stacks.parent[stack])
		out.push(d.strings[d.stacks.function[stack]]);
	return out.reverse();
}

// d3 nodes with data { name, level, cycles, instructions, sides }, value, and x0..x1 from 0 to 1
export function build(d, dom, levels) {
	const root = { name: dom.name, level: 'domain', self: 0, cycles: 0, instructions: 0, sides: [0, 0, 0, 0], map: new Map() };
	for (const i of dom.rows) {
		let at = root;
		add(at, d, i);
		for (const level of levels) {
			const name = LEVELS[level].of(d, i);
			if (name === null)
				continue;
			at = child(at, level, name);
			add(at, d, i);
		}
		for (const name of frames(d, d.rows.stack[i])) {
			at = child(at, 'function', name);
			add(at, d, i);
		}
		at.self += d.rows.samples[i];
	}
	// what has no time, for only its instructions were sampled, is in the sums above it
	const timed = (n) => [...n.map.values()].filter((c) => c.sides.some((x) => x > 0));
	const tree = hierarchy(root, (n) => n.map.size ? timed(n) : null)
		.sum((n) => n.self).sort((a, b) => b.value - a.value);
	return partition()(tree);
}
