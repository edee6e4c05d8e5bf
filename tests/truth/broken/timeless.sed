# analyzer/model/classify.c
# Whose a CR3 is now is whose it always was.
s/look_up(\(.*\), s->guest_cr3, s->tsc, /look_up(\1, s->guest_cr3, UINT64_MAX, /
