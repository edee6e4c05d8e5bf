# analyzer/blocks/loops.c
# An iteration of all loops takes seven per cent longer than it does.
s/return n > 0 ? f->samples\[group\] \* f->period \/ n : NAN/return n > 0 ? 1.07 * f->samples[group] * f->period \/ n : NAN/
