# analyzer/blocks/loops.c
# All loops go round seven per cent more often than they do.
s/return n > 0 ? iterations(f, group) \/ n : NAN/return n > 0 ? 1.07 * iterations(f, group) \/ n : NAN/
