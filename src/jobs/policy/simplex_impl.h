/* simplex_impl.h - small linear programs: max c x, A x <= b, x >= 0, with b >= 0. */
#ifndef HPS_JOBS_SIMPLEX_IMPL_H
#define HPS_JOBS_SIMPLEX_IMPL_H

/* The program as a table of m + 1 rows of n + 1 numbers: A and b, and below them c and 0. Caller
 * frees. */
struct hps_simplex {
    int m, n;
    double *at;                 /* (m + 1, n + 1) */
};
struct hps_simplex hps_simplex_new(int m, int n);
void hps_simplex_done(struct hps_simplex *s);

/* The optimum, with x (n) where it is; the table is used up. The program must be bounded. By the
 * primal simplex (Dantzig 1947), the largest coefficient first, b perturbed by 1e-9 of itself or
 * of 1, so that it does not circle. Pure. */
double hps_simplex_solve(struct hps_simplex *s, double *x);

#endif
