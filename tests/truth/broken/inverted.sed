# host-driver/sampler.c
# The host's overflows are the guest's, and the reverse.
s/if (vmph_hit_guest(view))/if (!vmph_hit_guest(view))/
