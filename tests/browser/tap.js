// SPDX-License-Identifier: GPL-2.0-only
// tap.js - what the tests in the browser share: the browser, and TAP.
import { chromium } from 'playwright-core';

let nr = 0, failed = 0;

export function ok(good, name, detail = '') {
	console.log(`${good ? 'ok' : 'not ok'} ${++nr} - ${name}`);
	if (!good) {
		failed++;
		console.log(String(detail).replace(/^/gm, '# '));
	}
}

export const say = (text) => console.log(`# ${text}`);

export const is = (got, wanted, name) => ok(JSON.stringify(got) === JSON.stringify(wanted), name, `got ${JSON.stringify(got)}, wanted ${JSON.stringify(wanted)}`);

// Nothing but what a test opens is to be asked for: background work of the browser's own is off.
export const launch = () => chromium.launch({ executablePath: '/usr/bin/chromium', timeout: 120000, args: ['--no-sandbox', '--disable-gpu', '--disable-quic',
	'--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync', '--disable-dev-shm-usage'] });

export async function run(test, ...args) {
	try {
		await test(...args);
	} catch (e) {
		ok(false, `${test.name}(${args}) ran to its end`, e.stack);
	}
}

export function done() {
	console.log(`1..${nr}`);
	process.exitCode = failed ? 1 : 0;
}
