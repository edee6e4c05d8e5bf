# analyzer/model/classify.c
# Whose a CR3 was when it was last asked it still is.
s/ || s->tsc < r->valid.from || s->tsc >= r->valid.to) {/) {/
