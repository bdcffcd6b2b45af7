/* streams.h - standard input, output and error are open, whoever starts the program. */
#ifndef HPS_BASE_STREAMS_H
#define HPS_BASE_STREAMS_H

#include <stdbool.h>

/* A file that is opened while one of the three is closed would get its descriptor: data would be
 * read from it as standard input, or messages written into it. So closed ones are opened on
 * nothing, in a way that reading or writing them still fails. Called before anything else is
 * opened. Local. */
void hps_streams_open(void);

/* Was standard input closed when the program began? Local. */
bool hps_streams_no_input(void);

#endif
