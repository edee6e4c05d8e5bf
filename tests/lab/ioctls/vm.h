/* SPDX-License-Identifier: GPL-2.0-only */
/* vm.h - where vm.c's memory lies, for who tells the host module of it. */
#ifndef VM_H
#define VM_H

#define VM_RAM_HVA	0x200000000ULL
#define VM_RAM_BYTES	(1ULL << 20)
#define VM_VCPUS	2

#endif
