/* eager.h - messages inside a host leave when they are sent. */
#ifndef HPS_BASE_EAGER_H
#define HPS_BASE_EAGER_H

/* Before MPI_Init: Open MPI's shared memory takes messages of up to 1 MiB at once, not 4 KiB.
 * Larger ones wait until sender and receiver have both looked after them, which ranks that compute
 * seldom do: activations then came milliseconds late. What the user or the site has set stays, and
 * so does everything where there is little shared memory (32 MiB a rank are wanted). Other MPI
 * libraries do not mind. Local. */
void hps_eager_prefer(void);

#endif
