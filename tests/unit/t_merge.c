/* t_merge: the rows of lists, each once and upwards, and of each the sums that it is in, upwards
 * and as often as it is in them, are those that a plain search finds; empty sums and lists are in
 * none. The same on any number of threads, whatever was merged before; of few rows and of many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/rng.h"
#include "ps/merge.h"

enum { LISTS = 5, SUMS = 3000, MAX_N = 9 };

struct made {
    int begin[LISTS][SUMS + 1], row[LISTS][SUMS * MAX_N];
    struct hps_merge_list list[LISTS];
};

/* List 3 has none, list 1 sums without rows alone. */
static void make(struct made *m, uint64_t seed, int rows, int sums)
{
    uint64_t key = hps_rng_key(seed, "lists"), drawn = 0;

    for (int i = 0; i < LISTS; i++) {
        int n = i == 3 ? 0 : sums, at = 0;
        for (int k = 0; k < n; k++) {
            m->begin[i][k] = at;
            int left = i == 1 ? 0 : (int)(hps_rng_bits(key, drawn++) % (MAX_N + 1));
            while (left-- > 0)
                m->row[i][at++] = (int)(hps_rng_bits(key, drawn++) % (uint64_t)rows);
        }
        m->begin[i][n] = at;
        m->list[i] = (struct hps_merge_list){ n, m->begin[i], m->row[i] };
    }
}

/* By row, how often it is met in the lists and, of the sums in their order, each. */
static void check(const struct made *m, int rows, const struct hps_merged *got)
{
    int *next = hps_mem_new((size_t)rows, sizeof *next);
    int *at = hps_mem_new((size_t)rows, sizeof *at);
    int sum = 0;
    size_t nid = 0;

    for (int x = 0; x < rows; x++)
        at[x] = -1;
    for (int i = 0; i < got->n; i++) {
        assert_true(i == 0 || got->row.host[i - 1] < got->row.host[i]);
        at[got->row.host[i]] = i;
        next[got->row.host[i]] = got->start.host[i];
    }
    for (int i = 0; i < LISTS; i++)
        for (int k = 0; k < m->list[i].n; k++, sum++)
            for (int j = m->begin[i][k]; j < m->begin[i][k + 1]; j++, nid++) {
                int x = m->row[i][j];
                assert_true(at[x] >= 0 && next[x] < got->start.host[at[x] + 1]);
                assert_int_equal(got->sum.host[next[x]++], sum);
            }
    for (int i = 0; i < got->n; i++)
        assert_true(next[got->row.host[i]] == got->start.host[i + 1] &&
                    got->start.host[i] < got->start.host[i + 1]);
    assert_int_equal(got->nid, nid);
    assert_int_equal(got->start.host[got->n], nid);
    hps_mem_free(next);
    hps_mem_free(at);
}

static void merges(int rows, int sums)
{
    struct made *m = hps_mem_new(1, sizeof *m), *other = hps_mem_new(1, sizeof *other);
    struct hps_merge *merge = hps_merge_new(rows, LISTS);
    struct hps_merged got = { 0 };

    make(m, 3, rows, sums);
    make(other, 4, rows, SUMS - sums);
    for (int nthread = 1; nthread <= 5; nthread += 2) {
        hps_merge_lists(merge, other->list, nthread, &got);
        check(other, rows, &got);
        hps_merge_lists(merge, m->list, nthread, &got);
        check(m, rows, &got);
    }
    hps_merged_free(&got, NULL);
    hps_merge_free(merge);
    hps_mem_free(other);
    hps_mem_free(m);
}

static void few_rows(void **state)
{
    (void)state;
    merges(1, SUMS);
    merges(7, SUMS);
    merges(1000, SUMS);
}

static void many_rows(void **state)
{
    (void)state;
    merges(1 << 20, SUMS);
    merges(60000, 1);
    merges(60000, 0);
}

static void nothing_is_held(void **state)
{
    (void)state;
    hps_merge_free(NULL);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(few_rows), cmocka_unit_test(many_rows),
                                        cmocka_unit_test(nothing_is_held) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
