/* SPDX-License-Identifier: GPL-2.0-only */
/* log.h - messages for the operator: stderr, which systemd takes to the journal. */
#ifndef VMP_LOG_H
#define VMP_LOG_H

enum vmp_log_level { VMP_LOG_ERROR, VMP_LOG_NOTICE, VMP_LOG_DEBUG };

/** vmp_log_init() - @verbose: show VMP_LOG_DEBUG too. */
void vmp_log_init(int verbose);

/** vmp_log() - One message, without newline at its end. */
__attribute__((format(printf, 2, 3)))
void vmp_log(enum vmp_log_level level, const char *format, ...);

#endif
