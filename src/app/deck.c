/* deck.c - the verb `deck`: the reference. */
#include "app/options.h"
#include "app/verbs.h"

enum hps_status hps_app_deck(int argc, char **argv, MPI_Comm world)
{
    (void)world;
    if (argc > 1) {
        HPS_SAY(HPS_ERROR, "heterps deck takes no operand, here is '%s'", argv[1]);
        return HPS_USAGE;
    }
    hps_options_print();
    return hps_out_flush();
}
