# analyzer/model/clock.c
# What the guest tells of was 3.2 ms later.
s/\tbest = host;/\tbest = host + (1U << 23);/
