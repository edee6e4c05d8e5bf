# host-driver/ring.c
# A record that finds no room is gone, and nobody counts it.
s/vmph_ring_lose(ring, VMPROF_LOST_FULL, 1)/vmph_ring_lose(ring, VMPROF_LOST_FULL, 0)/
