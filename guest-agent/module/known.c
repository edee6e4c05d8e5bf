// SPDX-License-Identifier: GPL-2.0-only
/* known.c - files of which the reader has been told. */
#include "known.h"

#include <linux/hash.h>
#include <linux/spinlock.h>

#include "compat/compat.h"

#define SETS_BITS	8
#define WAYS		4

/* What tells a file from others; unused: all 0 */
struct file_key {
	u64 ino;
	u64 round;			/* in which it was told */
	u32 generation;
	u32 dev;
	u32 kind;
};

/* ... and from itself before it was written */
struct file_state {
	s64 mtime_s;
	u32 mtime_ns;
	u64 bytes;
};

enum { KIND_FILE = 1, KIND_VDSO };

static DEFINE_RAW_SPINLOCK(known_lock);
static struct file_set {
	struct file_way {
		struct file_key key;
		struct file_state state;
	} way[WAYS];
	u8 next;			/* the way that is given to another file next */
} known[1 << SETS_BITS];

/*
 * To forget is to begin a new round: a lost event must not cost a walk over the table with interrupts off.
 * What earlier rounds left is given away first, since a set's ways are given away in turn.  64 bits never
 * come round: at one a nanosecond that takes 584 years.
 */
static u64 known_round = 1;

static bool is_same(const struct file_key *a, const struct file_key *b)
{
	return a->ino == b->ino && a->round == b->round && a->generation == b->generation &&
	       a->dev == b->dev && a->kind == b->kind;
}

/* The file's, or the oldest, which is the file's from now on */
static struct file_way *way_of(struct file_set *set, const struct file_key *key)
{
	struct file_way *way;

	for (way = set->way; way < set->way + WAYS; way++)
		if (is_same(&way->key, key))
			return way;
	way = &set->way[set->next++ % WAYS];
	way->key = *key;
	/* no file is so large: it is in another state than it was */
	way->state.bytes = ~0ULL;
	return way;
}

static bool was_told(struct file_key *key, const struct file_state *now)
{
	struct file_set *set = &known[hash_64(key->ino ^ (u64)key->dev << 32, SETS_BITS)];
	struct file_state *was;
	unsigned long irq;
	bool told;

	raw_spin_lock_irqsave(&known_lock, irq);
	key->round = known_round;
	was = &way_of(set, key)->state;
	told = was->mtime_s == now->mtime_s && was->mtime_ns == now->mtime_ns && was->bytes == now->bytes;
	*was = *now;
	raw_spin_unlock_irqrestore(&known_lock, irq);
	return told;
}

bool vmpg_known_file(const struct inode *inode)
{
	const struct timespec64 mtime = vmpg_mtime(inode);
	struct file_key key = {
		.ino = inode->i_ino, .generation = inode->i_generation, .dev = inode->i_sb->s_dev,
		.kind = KIND_FILE,
	};
	const struct file_state now = {
		.mtime_s = mtime.tv_sec, .mtime_ns = mtime.tv_nsec, .bytes = i_size_read(inode),
	};

	return was_told(&key, &now);
}

bool vmpg_known_vdso(bool is_32)
{
	struct file_key key = { .generation = is_32, .kind = KIND_VDSO };

	return was_told(&key, &(const struct file_state){ 0 });
}

void vmpg_known_forget(void)
{
	unsigned long irq;

	raw_spin_lock_irqsave(&known_lock, irq);
	known_round++;
	raw_spin_unlock_irqrestore(&known_lock, irq);
}
