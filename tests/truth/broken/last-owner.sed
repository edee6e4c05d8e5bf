# analyzer/model/lookup.c
# All that ran on a CR3 is its last owner's: samples and exact counts are mistaken alike.
s/if (sp->s.v\[mid\].begin <= tsc)/if (sp->s.v[mid].begin)/
