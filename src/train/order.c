/* order.c - one forward, one backward. */
#include "train/order.h"

void hps_order_1f1b(int S, int s, int M, struct hps_todo *list)
{
    int warm = hps_order_flights(S, s, M) - 1;
    int fwd = 0, bwd = 0;

    while (fwd < warm)
        *list++ = (struct hps_todo){ false, fwd++ };
    while (bwd < M) {
        if (fwd < M) *list++ = (struct hps_todo){ false, fwd++ };
        *list++ = (struct hps_todo){ true, bwd++ };
    }
}
