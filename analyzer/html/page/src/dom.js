// SPDX-License-Identifier: GPL-2.0-only
// dom.js - elements made by hand: every string becomes text, never markup.

// el('p', { class: 'lead', onclick: fn }, 'text', child): attributes, listeners, then children.
export function el(tag, props, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(props || {})) {
		if (value === undefined || value === null || value === false)
			continue;
		if (name.startsWith('on'))
			node.addEventListener(name.slice(2), value);
		else
			node.setAttribute(name, value === true ? '' : String(value));
	}
	node.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false));
	return node;
}

// A share as a width: style attributes would need a weaker security policy.
export function wide(node, share) {
	node.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
	return node;
}

export function swatch(name) {
	return el('span', { class: `swatch ${name}`, 'aria-hidden': 'true' });
}

// Characters that hide, reorder or break what stands beside them are written out.
const HIDING = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]/g;

export function shown(name) {
	return name.replace(HIDING, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
