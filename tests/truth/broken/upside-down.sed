# analyzer/model/weigh.c
# Instructions per cycle are called CPI.
s/return (double)samples \*/return (double)instruction_samples */
s/((double)instruction_samples \*/((double)samples */
