/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * agent.h - host's side of the conversation with one guest's agent.
 *
 * Rules
 *   Every byte that arrives is hostile: frames are checked, payloads are
 *   parsed, what breaks a limit is counted and dropped.  How much is kept is
 *   bounded: the socket is read at a limited rate, so that a guest that talks
 *   too much blocks itself and not the host's disk, and the sum has a limit.
 *   An agent may come, die and come again at any time: HELLO starts over.  One
 *   that comes faster than once a second is not heard until it is greeted again.
 *   Nothing blocks: the socket is non-blocking, timeouts come by tick.
 */
#ifndef VMP_AGENT_H
#define VMP_AGENT_H

#include <stdint.h>

#include "agent_msg.h"
#include "collect/kept.h"
#include "frame.h"

enum vmp_agent_state {
	VMP_AGENT_CLOSED,	/* no connection to the channel's socket */
	VMP_AGENT_GREETED,	/* HOST_HELLO is on its way; nobody answered yet */
	VMP_AGENT_REFUSED,	/* speaks a version that we do not */
	VMP_AGENT_STARTED,	/* answered; its first snapshot arrives */
	VMP_AGENT_RUNNING,	/* first snapshot is here */
	VMP_AGENT_STOPPING,	/* STOP sent */
	VMP_AGENT_DONE,		/* its last event is here */
};

#define VMP_AGENT_RATE_BYTES	(4U << 20)	/* read per second, objects aside ... */
#define VMP_AGENT_BURST_BYTES	(64U << 20)	/* ... this much at once */
#define VMP_AGENT_KEEP_BYTES	(2ULL << 30)	/* kept of one guest in one session: a report
						   needs about 1.7 times that in memory, or
						   2 times, if the guest lies */
#define VMP_AGENT_HELLOS	8		/* taken at once; then one a second */

struct vmp_agent_ops {
	/* a whole, good frame to be kept: header in wire order with its payload */
	void (*keep)(void *arg, const struct vmprof_frame *wire, const void *payload,
		     uint32_t len);
	/* one good OBJECT; says whether it was asked for */
	int (*object)(void *arg, const struct vmp_msg_object *o);
	/* state or connection changed; the agent's fields are set */
	void (*changed)(void *arg);
	/* where the guest keeps its tasks, until the conversation is over (@m NULL: it told, which
	   was not kept); NULL not wanted */
	void (*tasks)(void *arg, const struct vmp_msg_tasks *m);
	/* a file behind a mapping, that was kept; NULL not wanted */
	void (*file)(void *arg, const struct vmp_msg_file *m);
};

struct vmp_agent_counts {
	uint64_t kept;		/* frames */
	uint64_t dropped;	/* good frames over the limit of what is kept */
	uint64_t kept_bytes;
	uint64_t refused;	/* good frames whose payload breaks a limit, or of the wrong side */
	uint64_t stale;		/* of a conversation that is over, or of a refused agent */
	uint64_t hellos;	/* conversations: more than one means restarts */
	uint64_t hellos_dropped;	/* they came too fast */
	uint64_t lost[VMPROF_GLOST_NR];	/* told by the guest, all conversations */
	uint64_t unsent;	/* our frames that the agent did not take */
	uint64_t ksyms_kept;	/* bytes of kernel symbols that did not have to be sent ... */
	uint64_t ksyms_gone;	/* ... and times that they were gone when the agent counted on them */
	uint64_t clock_wrong;	/* echoes that contradict the clock relation */
};

struct vmp_agent {
	int fd;			/* -1 closed */
	enum vmp_agent_state state;
	struct vmp_frame_decoder in;
	uint8_t out[4096];	/* frames on their way */
	size_t out_len;
	uint32_t seq;
	uint64_t session;
	uint64_t token;		/* of the START or STOP that is under way */
	uint64_t token_tsc;	/* when it was sent */
	uint64_t bulk_taken;	/* bytes of bulk that no CREDIT was given for yet */
	int64_t budget_bytes;	/* that may be read or checksummed in vain now */
	uint64_t keep_bytes;	/* that may be kept at most */
	uint64_t hello_budget_ns;	/* a HELLO takes a second of it */
	int hello_missed;	/* one came too fast: to be greeted when there is budget */
	uint64_t tick_ns;
	uint64_t heard_ns;	/* last byte */
	uint64_t seq_back;	/* of in.stats, as far as it was seen */
	int ksyms_whole;	/* all of the kernel's symbols are here */
	int ksyms_begun;	/* a piece of them came since START */
	uint64_t offer_bytes;	/* of them, that START told to have; 0 none */
	uint32_t offer_crc;
	struct vmp_kept *kept;	/* where they are kept; NULL nowhere */
	int ending;		/* vmp_agent_stop() was called: nothing begins anew */

	/* of the last HELLO */
	uint32_t version;
	uint32_t flags;		/* VMPROF_HELLO_* */
	uint32_t module_error;	/* errno; 0: it has its module, or does not tell */
	uint8_t boot_id[16];
	char release[256];	/* safe to show */

	uint64_t lost_now[VMPROF_GLOST_NR];	/* of this conversation */
	struct vmp_agent_counts counts;
	/* last echo: guest's clock when it sent, our clock around it */
	struct {
		uint64_t guest_tsc, sent_tsc, got_tsc;
	} echo;
	const struct vmp_agent_ops *ops;
	void *arg;
};

/** vmp_agent_init() - Not connected; @ops are called with @arg. */
void vmp_agent_init(struct vmp_agent *a, uint64_t session, const struct vmp_agent_ops *ops,
		    void *arg);

/**
 * vmp_agent_connect() - Connect to the channel's UNIX socket and greet.
 * Return: 0 or -errno of connect (not told).
 */
int vmp_agent_connect(struct vmp_agent *a, const char *path, uint64_t now_ns);

/** vmp_agent_adopt() - The same with a connected, non-blocking socket. */
void vmp_agent_adopt(struct vmp_agent *a, int fd, uint64_t now_ns);

/** vmp_agent_events() - What to poll fd for; 0 nothing. */
short vmp_agent_events(const struct vmp_agent *a);

/** vmp_agent_ready() - poll() says @revents. */
void vmp_agent_ready(struct vmp_agent *a, short revents, uint64_t now_ns);

/** vmp_agent_tick() - To be called about every second. */
void vmp_agent_tick(struct vmp_agent *a, uint64_t now_ns);

/** vmp_agent_stop() - Ask for the last snapshot, if it is there; begin nothing from now on. */
void vmp_agent_stop(struct vmp_agent *a);

/**
 * vmp_agent_went_back() - The guest was put back to an earlier moment: greet its agent anew, which
 * then tells what is so since.  Of processes that it told of from there on nobody has told us.
 */
void vmp_agent_went_back(struct vmp_agent *a);

/** vmp_agent_is_there() - It has answered and is not refused. */
int vmp_agent_is_there(const struct vmp_agent *a);

/** vmp_agent_get() - Ask for a file, or a part of it. */
void vmp_agent_get(struct vmp_agent *a, const struct vmp_msg_get_object *ask);

/** vmp_agent_gone() - Its port is closed: nobody will answer until a new HELLO. */
void vmp_agent_gone(struct vmp_agent *a);

void vmp_agent_close(struct vmp_agent *a);

/** vmp_agent_state_name() - "running", ... for status. */
const char *vmp_agent_state_name(const struct vmp_agent *a);

#endif
