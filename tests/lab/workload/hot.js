// SPDX-License-Identifier: GPL-2.0-only
// hot.js - for Node.js: two functions that are compiled while they run, and work 3 : 1.
'use strict';

function hot(rounds) {
	let sum = 0;
	for (let i = 0; i < rounds; i++)
		sum = (sum * 31 + i) | 0;
	return sum;
}

function warm(rounds) {
	let sum = 0;
	for (let i = 0; i < rounds; i++)
		sum = (sum * 31 + i) | 0;
	return sum + 1;
}

const end = Date.now() + 1000 * process.argv[2];
let sum = 0;
while (Date.now() < end)
	sum ^= hot(300000) ^ warm(100000);
console.log(sum);
