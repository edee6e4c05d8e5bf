# analyzer/model/clock.c
# What the guest tells of was 3.2 ms earlier.
s/\tbest = host;/\tbest = host - (1U << 23);/
