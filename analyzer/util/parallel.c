// SPDX-License-Identifier: GPL-2.0-only
/* parallel.c - threads that live as long as one call. */
#include "util/parallel.h"

#include <pthread.h>

void vmp_parallel(void *(*fn)(void *arg), void *const *args, unsigned int nr)
{
	pthread_t thread[VMP_PARALLEL_MAX];
	unsigned int begun, i;

	for (begun = 1; begun < nr; begun++)
		if (pthread_create(&thread[begun], NULL, fn, args[begun]))
			break;
	fn(args[0]);
	for (i = begun; i < nr; i++)
		fn(args[i]);
	while (begun-- > 1)
		pthread_join(thread[begun], NULL);
}
