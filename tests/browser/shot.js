// SPDX-License-Identifier: GPL-2.0-only
// shot.js PAGE PNG [light|dark [whole]] - a picture of a page of vmprof report --html, as docs/report-html.png is one.
import { launch } from './tap.js';

const [file, png, colorScheme = 'light', whole] = process.argv.slice(2);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1120, height: 900 }, colorScheme, reducedMotion: 'reduce' });

await page.goto(`file://${file}`);
await page.waitForSelector('html[data-ready]', { state: 'attached' });
await page.screenshot({ path: png, fullPage: whole === 'whole' });
await browser.close();
