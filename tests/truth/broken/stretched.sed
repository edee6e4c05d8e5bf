# analyzer/blocks/estimate.c
# All blocks take seven per cent longer than they did.
s/= s->block\[i\] > 0 ? s->time\[i\] \* e->period/= s->block[i] > 0 ? 1.07 * s->time[i] * e->period/
