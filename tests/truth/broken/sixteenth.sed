# analyzer/report/rows.c
# Of what is added to a row of the report every sixteenth sample is lost.
s/row->samples += add->row.samples;/row->samples += add->row.samples - add->row.samples \/ 16;/
