// SPDX-License-Identifier: GPL-2.0-only
/* text.c - foreign strings made safe for terminals, file names and JSON. */
#include "util/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>

char *vmp_text_hex(char *dst, const uint8_t *src, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	size_t i;

	for (i = 0; i < len; i++) {
		dst[2 * i] = digits[src[i] >> 4];
		dst[2 * i + 1] = digits[src[i] & 0xf];
	}
	dst[2 * len] = 0;
	return dst;
}

int vmp_text_unhex(const char **s, const char *end, uint64_t *value)
{
	const char *p = *s;

	for (*value = 0; p < end && isxdigit((unsigned char)*p); p++)
		*value = *value << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 32) - 'a' + 10);
	if (p == *s || p - *s > 16)
		return 0;
	*s = p;
	return 1;
}

size_t vmp_utf8_char(const uint8_t *p, size_t len, uint32_t *out)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t i, n;
	uint32_t c;

	if (p[0] < 0x80) {
		*out = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf)
		n = 2, c = p[0] & 0x1f;
	else if ((p[0] & 0xf0) == 0xe0)
		n = 3, c = p[0] & 0x0f;
	else if (p[0] >= 0xf0 && p[0] <= 0xf4)
		n = 4, c = p[0] & 0x07;
	else
		return 0;
	if (n > len)
		return 0;
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*out = c;
	return n;
}

/* Characters that change what a terminal shows of their neighbours, or nothing at all. */
static int is_shown(uint32_t c)
{
	if (c < 0x20 || (c >= 0x7f && c < 0xa0))
		return 0;
	if (c == 0xad || c == 0x61c || c == 0x180e || c == 0xfeff)
		return 0;
	if ((c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2060 && c <= 0x206f))
		return 0;
	/* no characters at all */
	if ((c & 0xfffe) == 0xfffe || (c >= 0xfdd0 && c <= 0xfdef))
		return 0;
	return !(c >= 0xfff0 && c <= 0xfffb) && c < 0xe0000;
}

size_t vmp_text_plain(const char *s)
{
	const char *p = s;

	while (*p >= 0x20 && *p < 0x7f)
		p++;
	return (size_t)(p - s);
}

const char *vmp_text(char *dst, size_t size, const void *src, size_t len)
{
	const uint8_t *p = src, *end = p + len;
	char *out = dst, *last = dst + size - 1;

	while (p < end) {
		uint32_t c;
		size_t n;

		if (*p >= 0x20 && *p < 0x7f && out < last) {
			*out++ = (char)*p++;
			continue;
		}
		n = vmp_utf8_char(p, end - p, &c);
		if (n && is_shown(c)) {
			if ((size_t)(last - out) < n)
				break;
			memcpy(out, p, n);
			out += n;
			p += n;
			continue;
		}
		for (n = n ? n : 1; n && last - out >= 4; n--, out += 4, p++) {
			static const char hex[] = "0123456789abcdef";
			const char esc[] = { '\\', 'x', hex[*p >> 4], hex[*p & 15] };

			memcpy(out, esc, 4);
		}
		if (n)
			break;
	}
	*out = 0;
	return dst;
}

/* The next character: its bytes, and its places */
static size_t step(const char *s, int *places)
{
	uint32_t c;
	size_t n = vmp_utf8_char((const uint8_t *)s, strnlen(s, 4), &c);
	int w = n ? wcwidth((wchar_t)c) : 1;

	*places = w < 0 ? 1 : w;
	return n ? n : 1;
}

int vmp_text_width(const char *s)
{
	size_t plain = vmp_text_plain(s);
	int sum = (int)plain, w;

	for (s += plain; *s; sum += w)
		s += step(s, &w);
	return sum;
}

/* The longest beginning of at most @places and @bytes, @taken places; what combines stays with it */
static size_t beginning(const char *s, int places, size_t bytes, int *taken)
{
	size_t n, len = 0;
	int w;

	for (*taken = 0; s[len]; len += n, *taken += w) {
		n = step(s + len, &w);
		if (*taken + w > places || len + n > bytes)
			break;
	}
	return len;
}

int vmp_text_cut(char *dst, size_t size, const char *src, int width)
{
	static const char ellipsis[] = "\xe2\x80\xa6";
	int whole = vmp_text_width(src), head, rest, w;
	size_t len = strlen(src), n;

	if (whole <= width && len < size) {
		memcpy(dst, src, len + 1);
		return whole;
	}
	*dst = 0;
	if (width < 1 || size < sizeof(ellipsis) + 2)
		return 0;
	n = beginning(src, width / 2, (size - sizeof(ellipsis)) / 2, &head);
	memcpy(dst, src, n);
	memcpy(dst + n, ellipsis, sizeof(ellipsis));
	/* the end of it: what fits behind */
	size -= n + sizeof(ellipsis) - 1;
	for (src += n, rest = whole - head; rest > width - head - 1 || strlen(src) >= size; rest -= w)
		src += step(src, &w);
	/* what combines with a character that was left out goes with it */
	while (*src) {
		n = step(src, &w);
		if (w)
			break;
		src += n;
	}
	strcpy(dst + strlen(dst), src);
	return head + 1 + rest;
}

const char *vmp_file_part(char *dst, size_t size, const char *src)
{
	size_t i;

	for (i = 0; src[i] && i + 1 < size; i++) {
		char c = src[i];
		int good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			   (c >= '0' && c <= '9') || c == '_' || c == '-' ||
			   (c == '.' && i);

		dst[i] = good ? c : '_';
	}
	if (!i && size > 1)
		dst[i++] = '_';
	dst[i] = 0;
	return dst;
}

static int is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("_-.+:@%", c));
}

const char *vmp_shell_word(char *dst, size_t size, const char *src)
{
	size_t n = 0, len = strlen(src), i;
	const uint8_t *p = (const uint8_t *)src;
	int plain = len > 0, shown = 1;
	uint32_t c;

	for (i = 0; i < len; i++)
		plain &= is_plain(src[i]);
	for (i = 0; i < len; i += n) {
		n = vmp_utf8_char(p + i, len - i, &c);
		shown &= n && is_shown(c) && c != '\'';
		n = n ? n : 1;
	}
	if (plain || shown) {
		if (snprintf(dst, size, plain ? "%s" : "'%s'", src) >= (int)size)
			*dst = 0;
		return dst;
	}
	n = (size_t)snprintf(dst, size, "$'");
	for (i = 0; i < len && n < size; i++)
		n += (size_t)snprintf(dst + n, size - n, is_plain(src[i]) ? "%c" : "\\x%02x", p[i]);
	if (n + 1 >= size)
		*dst = 0;
	else
		strcpy(dst + n, "'");
	return dst;
}

void vmp_json_text(FILE *out, const void *src, size_t len)
{
	const uint8_t *p = src, *end = p + len;

	fputc('"', out);
	while (p < end) {
		uint32_t c;
		size_t n = vmp_utf8_char(p, end - p, &c);

		if (!n)
			fputs("\\ufffd", out);
		else if (c == '"' || c == '\\')
			fprintf(out, "\\%c", (int)c);
		else if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			fprintf(out, "\\u%04x", c);
		else
			fwrite(p, 1, n, out);
		p += n ? n : 1;
	}
	fputc('"', out);
}

void vmp_json_str(FILE *out, const char *src)
{
	vmp_json_text(out, src, strlen(src));
}
