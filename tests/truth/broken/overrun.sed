# analyzer/blocks/estimate.c
# All blocks run seven per cent too often, and take so much less each time: their time is right.
s/b->executions = s->block\[i\] > 0 ? s/b->executions = s->block[i] > 0 ? 1.07 * s/
s/= s->block\[i\] > 0 ? s->time\[i\] \* e->period/= s->block[i] > 0 ? s->time[i] * e->period \/ 1.07/
