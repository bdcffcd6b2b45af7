/* eager.h - messages inside a host leave when they are sent. */
#ifndef HPS_BASE_EAGER_H
#define HPS_BASE_EAGER_H

/* Before MPI_Init: Open MPI's shared memory takes messages of up to 1 MiB at once, not 4 KiB.
 * Larger ones wait until sender and receiver have both looked after them, which ranks that compute
 * seldom do: activations then came milliseconds late. What the user or the site has set stays, and
 * so does everything where shared memory is small (32 MiB a rank are wanted). The same on all ranks
 * of a host, or it ends the run. Other MPI libraries do not mind. Local. */
void hps_eager_prefer(void);

#endif
