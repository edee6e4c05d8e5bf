// SPDX-License-Identifier: GPL-2.0-only
// bundle.js FILE - one HTML file of src/: script and style inside, their hashes in its security policy.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const options = { bundle: true, minify: true, write: false, target: 'es2020', charset: 'utf8', legalComments: 'none' };

async function bundled(entry) {
	const result = await build({ ...options, entryPoints: [entry] });
	return result.outputFiles[0].text.trim();
}

// What stands between <script> or <style> tags must not end them.
function contained(text, tag) {
	if (new RegExp(`</${tag}|<!--`, 'i').test(text))
		throw new Error(`${tag} holds text that would end it`);
	return text;
}

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const script = contained(await bundled('src/app.js'), 'script');
const style = contained(await bundled('src/style.css'), 'style');
const policy = `default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; img-src data:; base-uri 'none'; form-action 'none'`;
const parts = { POLICY: policy, STYLE: style, SCRIPT: script };
const page = readFileSync('src/page.html', 'utf8').replace(/@(POLICY|STYLE|SCRIPT)@/g, (_, name) => parts[name]);
writeFileSync(process.argv[2], page);
