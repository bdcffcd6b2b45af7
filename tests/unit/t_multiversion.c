/* t_clones: a product that is added to something is rounded first, on any processor and by any
 * compiler. One instruction for both would give other bits where the processor has it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/multiversion.h"

enum { N = 100 };

HPS_MULTIVERSION static void add_products(size_t n, const float *x, const float *y, float *sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = x[i] * y[i] + sum[i];
}

HPS_MULTIVERSION static void add_products_double(size_t n, const double *x, const double *y,
                                                 double *sum)
{
    for (size_t i = 0; i < n; i++)
        sum[i] = x[i] * y[i] + sum[i];
}

/* (1 + e)(1 - e) is 1 to the nearest number, and less than 1 by e^2. */
static void rounds_products(void **state)
{
    float x[N], y[N], sum[N];
    double dx[N], dy[N], dsum[N];
    (void)state;

    for (int i = 0; i < N; i++) {
        x[i] = 1 + 0x1p-13f;
        y[i] = 1 - 0x1p-13f;
        dx[i] = 1 + 0x1p-28;
        dy[i] = 1 - 0x1p-28;
        dsum[i] = sum[i] = -1;
    }
    add_products(N, x, y, sum);
    add_products_double(N, dx, dy, dsum);
    for (int i = 0; i < N; i++) {
        assert_true(sum[i] == 0 && dsum[i] == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rounds_products) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
