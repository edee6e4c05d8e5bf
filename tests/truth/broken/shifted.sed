# analyzer/model/clock.c
# What the guest tells of was 6.5 ms later.
s/\tbest = host;/\tbest = host + (1U << 24);/
