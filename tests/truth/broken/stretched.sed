# analyzer/blocks/estimate.c
# A block takes a fifth longer than it did.
s/= s->block\[i\] > 0 ? s->time\[i\] \* e->period/= s->block[i] > 0 ? 1.2 * s->time[i] * e->period/
