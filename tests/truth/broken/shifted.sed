# analyzer/model/clock.c
# What the guest tells of was some milliseconds later.
s/\tbest = host;/\tbest = host + (1U << 23);/
