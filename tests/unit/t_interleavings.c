/* t_interleavings: whatever the order in which messages arrive and ranks go on, a run of workers
 * and servers comes to its end, with cuts and stops on the way; no worker pulls while another is
 * further behind than the bound; each gradient is applied once; a row has at each pull and each use
 * the version and the value of exactly the gradients that were applied before; a recorded order is
 * that of its replay. Also where a server's memory has room for the rows of one step and some more.
 * By the program's own object files, whose ranks are fibers of this process.
 *
 * The loss of the net is all but linear, since weights stay near 0: so each gradient is known
 * beforehand (tests/lib/ledger.h).
 *
 * t_interleavings [RUNS [FIRST]]: so many nets and orders, from this seed on; without RUNS 200, or
 * as many as a core runs in 20 s. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/say.h"
#include "tests/lib/interleaved.h"

enum { OTHER_ORDERS = 10, REPLAYED = 4 };       /* of one net; one run in so many */

static int runs = 200, most_s = 20;
static uint64_t first = 1;
static size_t held;              /* by the data */

/* What has come in all runs. */
static struct {
    long long runs, replays, stops, pulls, applies, time, ahead, stalest;
    uint64_t *order;                    /* (norder) of runs in which there are several */
    int norder;
} seen;

static void count(bool replay)
{
    const struct interleaved *x = &interleaved;

    seen.runs += !replay;
    seen.replays += replay;
    seen.time += fibers_time();
    if (x->ledger.ahead > seen.ahead && x->ledger.staleness >= 0) seen.ahead = x->ledger.ahead;
    if (x->ledger.stalest > seen.stalest) seen.stalest = x->ledger.stalest;
    for (int r = 0; r < x->R; r++) {
        seen.stops += x->rank[r].starts > 0 && x->rank[r].server == 0;
        for (int i = 0; i < x->rank[r].nevent; i++) {
            seen.pulls += x->rank[r].event[i].act == HPS_CLOCK_PULL;
            seen.applies += x->rank[r].event[i].act == HPS_CLOCK_APPLY;
        }
    }
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static int distinct(int n, uint64_t *x)
{
    int k = n > 0;

    qsort(x, (size_t)n, sizeof *x, ascending);
    for (int i = 1; i < n; i++)
        k += x[i] != x[i - 1];
    return k;
}

static void all_come_to_their_end(void **state)
{
    (void)state;
    for (uint64_t seed = first; seed < first + (uint64_t)runs; seed++) {
        if (most_s > 0 && clock() > most_s * (double)CLOCKS_PER_SEC) break;
        interleaved_draw(seed);
        interleaved_run(seed);
        count(false);
        if (interleaved.W > 1 && !interleaved.ledger.all_rows)
            seen.order[seen.norder++] = interleaved_order();
        if (seed % REPLAYED != 0) continue;
        interleaved_replay(seed + 1, seed % (4 * REPLAYED) == 0);
        count(true);
    }
    assert_int_equal(hps_mem_held_bytes(), held);
    assert_true(interleaved.nread > 0 || runs < 10);
}

/* Nets of one worker have few orders, others have as many as are drawn. */
static void orders_differ(void **state)
{
    uint64_t order[OTHER_ORDERS];
    int n = 0, nets = 0;

    (void)state;
    for (uint64_t seed = first; nets < 3; seed++) {
        interleaved_draw(seed);
        if (interleaved.W < 3 || !strstr(interleaved.deck, "asp")) continue;
        if (!strstr(interleaved.deck, "interleaving: 0")) continue;
        nets++;
        for (uint64_t k = 0; k < OTHER_ORDERS; k++) {
            interleaved_run(k);
            order[k] = interleaved_order();
        }
        n += distinct(OTHER_ORDERS, order);
    }
    assert_true(n > 3 * OTHER_ORDERS - 3);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_to_their_end),
        cmocka_unit_test(orders_differ),
    };

    if (argc > 1) runs = atoi(argv[1]);
    if (argc > 1) most_s = 0;
    if (argc > 2) first = (uint64_t)atoll(argv[2]);
    seen.order = calloc((size_t)runs + 1, sizeof *seen.order);
    if (!seen.order) return 1;
    hps_say_min(HPS_ERROR);
    interleaved_begin();
    held = hps_mem_held_bytes();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    interleaved_end();
    printf("runs %lld replays %lld stops %lld of_several %d orders %d pulls %lld gradients %lld "
           "moves %lld ahead %lld staleness %lld read %.0f\n", seen.runs, seen.replays, seen.stops,
           seen.norder, distinct(seen.norder, seen.order), seen.pulls, seen.applies, seen.time,
           seen.ahead, seen.stalest, interleaved.nread);
    free(seen.order);
    return failed;
}
