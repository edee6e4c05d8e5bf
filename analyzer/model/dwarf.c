// SPDX-License-Identifier: GPL-2.0-only
/*
 * dwarf.c - a sorted table of the units' and, once asked for, of a unit's
 * functions; below a function only the blocks that hold the address are entered.
 *
 * A file may lie about siblings and nest without end: entries that are looked
 * at are counted, depth is bounded.  It may name other files, which libdw would
 * open wherever they are: what is shared with others (dwz) is found by us, and
 * nothing is asked here that makes libdw look for a skeleton's .dwo.
 */
#include "model/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/elfdebug.h"
#include "model/vec.h"

#define UNITS_MAX	(1U << 20)
#define ENTRIES_MAX	(16U << 20)	/* looked at in one unit's top levels */
#define SCOPES_MAX	8		/* of namespaces and classes around functions */
#define LINE_MAX_BYTES	(256ULL << 20)	/* line tables are unpacked whole */

struct range {
	uint64_t start, end;
	Dwarf_Off die;
};

struct ranges {
	VMP_VEC(struct range) v;
};

struct unit {
	Dwarf_Off die;
	int read;
	struct ranges functions;
};

/* One file as libdw has it */
struct source {
	struct vmp_elffile image;	/* what of it was packed; without elf where nothing was */
	Dwarf *dw;
};

struct vmp_dwarf {
	struct vmp_unpack *unpack;
	struct source own;
	struct source shared;		/* with other files, or nothing */
	struct vmp_elffile shared_file;
	VMP_VEC(struct unit) units;
	struct ranges by_addr;	/* die: number of the unit */
	uint32_t left;		/* entries that may still be looked at */
};

static int by_start(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->end > b->end ? -1 : a->end < b->end;	/* the outer one first */
}

static void sort(struct ranges *r)
{
	if (r->v.nr)
		qsort(r->v.v, r->v.nr, sizeof(*r->v.v), by_start);
}

/* The innermost range that holds @addr, as far as a few steps back show, or NULL */
static const struct range *find(const struct ranges *r, uint64_t addr)
{
	uint32_t lo = 0, hi = r->v.nr, mid, n;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->v.v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (n = 0; lo && n < 64; lo--, n++)
		if (r->v.v[lo - 1].end > addr)
			return &r->v.v[lo - 1];
	return NULL;
}

/* All addresses of @die stand for @value. */
static int add_ranges(struct ranges *r, Dwarf_Die *die, Dwarf_Off value)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (r->v.nr < UNITS_MAX * 4 && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		struct range range = { start, end, value };

		if (start < end && vmp_vec_push(&r->v, range))
			return -ENOMEM;
	}
	return 0;
}

static int read_units(struct vmp_dwarf *d)
{
	Dwarf_CU *cu = NULL, *next;
	Dwarf_Die die;
	int err;

	while (d->units.nr < UNITS_MAX && !dwarf_get_units(d->own.dw, cu, &next, NULL, NULL, &die, NULL)) {
		struct unit u = { .die = dwarf_dieoffset(&die) };

		cu = next;
		if (dwarf_tag(&die) != DW_TAG_compile_unit)
			continue;
		if (vmp_vec_push(&d->units, u))
			return -ENOMEM;
		err = add_ranges(&d->by_addr, &die, d->units.nr - 1);
		if (err)
			return err;
	}
	sort(&d->by_addr);
	return 0;
}

/* Of which section of that name libdw takes the lines does not matter: none may be too long. */
static int has_long_lines(const struct vmp_elffile *f)
{
	Elf_Data *names = NULL;
	Elf_Scn *scn = NULL;
	const char *name;
	size_t shstrndx;
	GElf_Shdr sh;

	if (!elf_getshdrstrndx(f->elf, &shstrndx))
		names = elf_getdata(elf_getscn(f->elf, shstrndx), NULL);
	while ((scn = elf_nextscn(f->elf, scn))) {
		name = gelf_getshdr(scn, &sh) ? vmp_elffile_string(names, sh.sh_name) : NULL;
		if (name && !strcmp(name, ".debug_line") && sh.sh_size > LINE_MAX_BYTES)
			return 1;
	}
	return 0;
}

/*
 * Let libdw have the file, or what of it was packed.  It would unpack sections
 * itself, without a bound, and change their headers in memory: so it never
 * gets a file with packed ones.
 */
static int open_source(struct source *s, const struct vmp_elffile *f, struct vmp_unpack *u)
{
	int err = vmp_unpack_dwarf(f, u, &s->image);

	if (err && err != -ENOENT)
		return err;
	if (!err) {
		vmp_unpack_hold(u, s->image.len);
		f = &s->image;
	}
	if (has_long_lines(f))
		return -EFBIG;
	s->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	return s->dw ? 0 : -ENOENT;
}

static void close_source(struct source *s, struct vmp_unpack *u)
{
	dwarf_end(s->dw);
	vmp_unpack_release(u, s->image.len);
	vmp_elffile_close(&s->image);
	s->dw = NULL;
}

/*
 * What the file shares with others.  It is always set: else libdw opens the
 * path that the file says, be it a device.  Without it some names are missing.
 */
static int open_shared(struct vmp_dwarf *d, const struct vmp_elffile *f)
{
	int err = vmp_elfdebug_shared(f, &d->shared_file);

	if (!err) {
		err = open_source(&d->shared, &d->shared_file, d->unpack);
		if (err)
			close_source(&d->shared, d->unpack);
	}
	if (err && err != -ENOMEM) {
		err = vmp_unpack_nothing(&d->shared.image);
		if (!err) {
			vmp_unpack_hold(d->unpack, d->shared.image.len);
			d->shared.dw = dwarf_begin_elf(d->shared.image.elf, DWARF_C_READ, NULL);
			err = d->shared.dw ? 0 : -ENOMEM;
		}
	}
	if (!err)
		dwarf_setalt(d->own.dw, d->shared.dw);
	return err;
}

int vmp_dwarf_open(struct vmp_dwarf **out, const struct vmp_elffile *f, struct vmp_unpack *u)
{
	struct vmp_dwarf *d;
	int err;

	if (!vmp_elffile_has_dwarf(f))
		return -ENOENT;
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->unpack = u;
	err = open_source(&d->own, f, u);
	if (!err)
		err = open_shared(d, f);
	if (!err)
		err = read_units(d);
	if (err) {
		vmp_dwarf_close(d);
		return err;
	}
	*out = d;
	return 0;
}

static int is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_module;
}

/* Functions among the children of @die */
static int read_functions(struct vmp_dwarf *d, struct ranges *r, Dwarf_Die *die, int depth)
{
	Dwarf_Die child;
	int err = 0;

	if (depth == SCOPES_MAX || dwarf_child(die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (!d->left--) {
			d->left = 0;
			return 0;
		}
		if (tag == DW_TAG_subprogram)
			err = add_ranges(r, &child, dwarf_dieoffset(&child));
		else if (is_scope(tag))
			err = read_functions(d, r, &child, depth + 1);
	} while (!err && !dwarf_siblingof(&child, &child));
	return err;
}

static int read_unit(struct vmp_dwarf *d, struct unit *u, Dwarf_Die *die)
{
	int err;

	if (u->read)
		return 0;
	u->read = 1;
	d->left = ENTRIES_MAX;
	err = read_functions(d, &u->functions, die, 0);
	sort(&u->functions);
	return err;
}

/* The child of @die that holds @addr, inlined functions and blocks only.  Return: 1, 0 none. */
static int inner(struct vmp_dwarf *d, Dwarf_Die *die, uint64_t addr, Dwarf_Die *out)
{
	if (dwarf_child(die, out))
		return 0;
	do {
		int tag = dwarf_tag(out);

		if (!d->left--) {
			d->left = 0;
			return 0;
		}
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
		    dwarf_haspc(out, addr) > 0)
			return 1;
	} while (!dwarf_siblingof(out, out));
	return 0;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *s = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		s = dwarf_formstring(&attr);
	if (!s && dwarf_attr_integrate(die, DW_AT_name, &attr))
		s = dwarf_formstring(&attr);
	return s;
}

static int number(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	return dwarf_attr(die, name, &attr) && !dwarf_formudata(&attr, &v) && v <= INT32_MAX ? (int)v : 0;
}

/* Where an inlined function was called from */
static void call_site(Dwarf_Die *unit, Dwarf_Die *inlined, struct vmp_frame *caller)
{
	int file = number(inlined, DW_AT_call_file);
	Dwarf_Files *files;
	size_t nr;

	caller->line = number(inlined, DW_AT_call_line);
	caller->file = !dwarf_getsrcfiles(unit, &files, &nr) && (size_t)file < nr ?
		       dwarf_filesrc(files, (size_t)file, NULL, NULL) : NULL;
}

static void line_of(Dwarf_Die *unit, uint64_t addr, struct vmp_frame *frame)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, addr);

	if (!line)
		return;
	frame->file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &frame->line))
		frame->line = 0;
}

int vmp_dwarf_frames(struct vmp_dwarf *d, uint64_t addr, struct vmp_frame *frames)
{
	const struct range *in = find(&d->by_addr, addr);
	Dwarf_Die unit, chain[VMP_FRAMES_MAX], die, next;
	int nr = 0, depth, i;
	struct unit *u;

	if (!in)
		return 0;
	u = &d->units.v[in->die];
	if (!dwarf_offdie(d->own.dw, u->die, &unit) || read_unit(d, u, &unit))
		return 0;
	in = find(&u->functions, addr);
	if (!in || !dwarf_offdie(d->own.dw, in->die, &die))
		return 0;
	chain[nr++] = die;
	d->left = ENTRIES_MAX;
	for (depth = 0; nr < VMP_FRAMES_MAX && depth < 4 * VMP_FRAMES_MAX && inner(d, &die, addr, &next); depth++) {
		die = next;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			chain[nr++] = die;
	}
	memset(frames, 0, (size_t)nr * sizeof(*frames));
	line_of(&unit, addr, &frames[0]);
	for (i = 0; i < nr; i++) {
		Dwarf_Die *f = &chain[nr - 1 - i];

		frames[i].name = name_of(f);
		frames[i].inlined = i + 1 < nr;
		if (i + 1 < nr)
			call_site(&unit, f, &frames[i + 1]);
	}
	return nr;
}

void vmp_dwarf_close(struct vmp_dwarf *d)
{
	uint32_t i;

	if (!d)
		return;
	for (i = 0; i < d->units.nr; i++)
		vmp_vec_free(&d->units.v[i].functions.v);
	vmp_vec_free(&d->units);
	vmp_vec_free(&d->by_addr.v);
	close_source(&d->own, d->unpack);
	close_source(&d->shared, d->unpack);
	vmp_elffile_close(&d->shared_file);
	free(d);
}
