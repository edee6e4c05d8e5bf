// SPDX-License-Identifier: GPL-2.0-only
/* lines.c - messages from the collector to the command that waits for it. */
#include "collect/lines.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LINE_MAX_BYTES (16U << 20)

char vmp_lines_kind(enum vmp_log_level level)
{
	return level == VMP_LOG_INFO || level == VMP_LOG_ASIDE ? 'I' : level == VMP_LOG_WARN ? 'W' : 'E';
}

int vmp_lines_send(int fd, char kind, const char *text)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	size_t len = strlen(text) + 1;
	struct iovec iov[2] = { { &kind, 1 }, { (void *)text, len } };
	ssize_t n;

	n = writev(fd, iov, 2);
	if (n <= 0)
		return n ? -errno : -EPIPE;
	for (n -= 1; (size_t)n < len; ) {
		ssize_t more;

		/* a reader that is slow for this long is none */
		if (poll(&p, 1, 1000) != 1)
			return -ETIMEDOUT;
		more = write(fd, text + n, len - n);
		if (more <= 0)
			return -errno;
		n += more;
	}
	return 0;
}

/* One message. Return: 1 go on, 0 the end, its code in @code. */
static int take(const char *line, char **json, int *code)
{
	switch (line[0]) {
	case 'I':
		vmp_info("%s", line + 1);
		break;
	case 'W':
		vmp_warn("%s", line + 1);
		break;
	case 'E':
		vmp_err("%s", line + 1);
		break;
	case 'J':
		if (json) {
			free(*json);
			*json = strdup(line + 1);
		}
		break;
	case 'X':
		*code = atoi(line + 1);
		return 0;
	}
	return 1;
}

int vmp_lines_relay(int fd, char **json)
{
	size_t len = 0, room = 0, at;
	char *buf = NULL, *more, *nul;
	int code = -EPIPE, go_on = 1;
	ssize_t n;

	while (go_on) {
		if (room - len < 4096) {
			room += 65536;
			more = room > LINE_MAX_BYTES ? NULL : realloc(buf, room);
			if (!more)
				break;
			buf = more;
		}
		n = read(fd, buf + len, room - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += n;
		for (at = 0; go_on && (nul = memchr(buf + at, 0, len - at)); at = nul + 1 - buf)
			go_on = take(buf + at, json, &code);
		memmove(buf, buf + at, len - at);
		len -= at;
	}
	free(buf);
	return code;
}
