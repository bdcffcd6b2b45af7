/* ledger.h - an account of a run of asynchronous workers that is independent of it, in double:
 * which gradients each server has applied, how many to each row, what its rows and weights are
 * then, and what each worker has of them in its clock. It follows the order in which servers pull
 * and apply, and knows all gradients beforehand: those of the test's net do not depend on
 * weights. */
#ifndef HPS_TESTS_LEDGER_H
#define HPS_TESTS_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

enum { LEDGER_W = 4, LEDGER_N = 3, LEDGER_ROWS = 256, LEDGER_DENSE = 3, LEDGER_CLOCKS = 64,
       LEDGER_KEPT = 4 };

/* Of a worker in a clock. */
struct ledger_grad {
    double row[LEDGER_ROWS], dense[LEDGER_DENSE];
    bool hit[LEDGER_ROWS];              /* the row is in the batch */
};

struct ledger_state {
    double row[LEDGER_ROWS], dense[LEDGER_DENSE];
    uint32_t version[LEDGER_ROWS], dense_version;
    long long clock;
};

struct ledger_server {
    struct ledger_state now;
    struct ledger_state pulled[LEDGER_W][LEDGER_KEPT];  /* by worker, the last clocks   */
    long long npull[LEDGER_W], npush[LEDGER_W], napply[LEDGER_W];   /* of each worker */
    int nheld, held[LEDGER_W * LEDGER_CLOCKS];  /* workers whose gradients are not applied yet  */
};

struct ledger {
    int W, N, rows, ndense;
    long long nclock;                   /* of each worker                                       */
    long long staleness;                /* the bound; < 0: none                                 */
    int aggregate;                      /* gradients that are applied together                  */
    bool inverse;                       /* rates are divided by the staleness                   */
    bool all_rows, all_dense;           /* all workers' gradients of a clock are applied at once:
                                           then these servers' states are not the account       */
    double rate;
    long long stalest;                  /* of a row's gradient, so far                          */
    long long ahead;                    /* clocks that a pull was ahead of the slowest, at most */
    struct ledger_server server[LEDGER_N];
    struct ledger_grad grad[LEDGER_W][LEDGER_CLOCKS];
    struct ledger_state after[LEDGER_CLOCKS + 1];       /* of all workers' first clocks */
};

/* The gradients are filled in: what all workers together have after each clock. */
void ledger_begin(struct ledger *l);

/* Server j lets worker w pull for its next clock; has its gradients of that clock; applies all that
 * it has. Dies where another worker is further behind than the bound, where a worker is not at this
 * event, where gradients of another number are applied together (`early`: of fewer). */
void ledger_pull(struct ledger *l, int j, int w);
void ledger_push(struct ledger *l, int j, int w);
void ledger_apply(struct ledger *l, int j, bool early);
/* Has worker w no clock left, by this server's count? */
bool ledger_is_over(const struct ledger *l, int j, int w);

/* What server j has now; what worker w has of it in clock c. */
const struct ledger_state *ledger_now(const struct ledger *l, int j);
const struct ledger_state *ledger_pulled(const struct ledger *l, int j, int w, long long c);
/* Are these numbers the same, when gradients are as small as those of this account? */
bool ledger_same(const struct ledger *l, double a, double b);

#endif
