// SPDX-License-Identifier: GPL-2.0-only
/*
 * follow.c - reads /dev/vmprof_guest as the daemon does, with a snapshot at each tenth reading, until
 * SIGTERM: counts what is told by kind, and what is wrong about it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guest_uapi.h"

static const struct {
	const char *name;
	uint16_t type;
	uint16_t bytes;		/* at least; begins with a TSC where it is an event */
} kinds[] = {
#define X(name, number, size, bulk) { #name, number, size },
	VMPROF_MESSAGES(X)
#undef X
};

#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static unsigned long count[KINDS], bad;
static uint64_t last_tsc, proc_tsc;	/* of the last event, of the last process of a snapshot */
static volatile sig_atomic_t stop;
static char buffer[1 << 20];

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void look(const struct vmpg_record *rec)
{
	uint64_t tsc;
	unsigned int i;

	for (i = 0; i < KINDS && kinds[i].type != rec->type; i++)
		;
	if (i == KINDS || rec->len < kinds[i].bytes || rec->flags > VMPG_RECORD_FRESH) {
		bad++;
		return;
	}
	count[i]++;
	if (rec->type < VMPROF_MSG_PROC || rec->type > VMPROF_MSG_EXIT)
		return;
	memcpy(&tsc, rec + 1, sizeof(tsc));
	if (rec->type == VMPROF_MSG_PROC)
		proc_tsc = tsc;
	/* a snapshot's mappings are of when they were read, which was behind their process */
	if (tsc < last_tsc)
		bad += rec->type != VMPROF_MSG_MAP || tsc < proc_tsc;
	else
		last_tsc = tsc;
}

/* Return: whether there was something; *snapped whether a snapshot ended in it */
static int take(int fd, int *snapped)
{
	ssize_t n = read(fd, buffer, sizeof(buffer)), at = 0;

	while (at + (ssize_t)sizeof(struct vmpg_record) <= n) {
		const struct vmpg_record *rec = (const void *)(buffer + at);

		at += (ssize_t)(sizeof(*rec) + (rec->len + 7UL) / 8 * 8);
		if (at > n)
			break;
		look(rec);
		*snapped |= rec->type == VMPROF_MSG_SNAP_END;
	}
	bad += n > 0 && at != n;
	return n > 0;
}

int main(void)
{
	struct sigaction term = { .sa_handler = on_term };
	struct vmpg_lost lost;
	struct pollfd p = { .events = POLLIN };
	__u64 token = 1;
	unsigned int i, reads = 0;
	int snapped = 1;

	sigaction(SIGTERM, &term, NULL);
	p.fd = open("/dev/" VMPG_DEVICE_NAME, O_RDWR | O_NONBLOCK);
	if (p.fd < 0 || ioctl(p.fd, VMPG_IOC_START, 0)) {
		perror("follow");
		return 1;
	}
	printf("follows\n");
	fflush(stdout);
	while (!stop) {
		if (snapped && reads++ % 10 == 0 && !ioctl(p.fd, VMPG_IOC_SNAPSHOT, &token)) {
			token++;
			snapped = 0;
		}
		poll(&p, 1, 100);
		take(p.fd, &snapped);
	}
	if (ioctl(p.fd, VMPG_IOC_STOP, 0) || ioctl(p.fd, VMPG_IOC_LOST, &lost)) {
		perror("follow");
		return 1;
	}
	while (take(p.fd, &snapped))
		;
	for (i = 0; i < KINDS; i++)
		if (count[i])
			printf("%s=%lu ", kinds[i].name, count[i]);
	for (i = 0; i < VMPROF_GLOST_NR; i++)
		printf("%s%llu", i ? "," : "lost=", (unsigned long long)lost.count[i]);
	printf(" bad=%lu\n", bad);
	return 0;
}
