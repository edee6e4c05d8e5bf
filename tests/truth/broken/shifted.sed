# analyzer/model/clock.c
# What the guest tells of was 1.6 ms later.
s/\tbest = host;/\tbest = host + (1U << 22);/
