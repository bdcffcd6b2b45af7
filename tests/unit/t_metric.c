/* t_metric: the area under the curve is that of its definition over all pairs, ties counted half,
 * to the last bit; log loss and calibration are those of a plain sum; predictions are read as
 * written. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/h5.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/world.h"
#include "step/metric.h"

enum { MANY = 2000 };

/* The definition: concordant pairs and half the ties, of all pairs. */
static double by_pairs(int n, const float *score, const float *label)
{
    long long twice = 0, pairs = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (label[i] > 0.5f && label[j] <= 0.5f) {
                twice += score[i] > score[j] ? 2 : score[i] == score[j];
                pairs++;
            }
    return pairs ? (double)twice / (double)(2 * pairs) : NAN;
}

static struct hps_metric_result read_of(int n, const float *score, const float *label)
{
    struct hps_metric *m = hps_metric_new();

    hps_metric_add(m, n / 3, score, label, NULL);
    hps_metric_add(m, n - n / 3, score + n / 3, label + n / 3, NULL);
    struct hps_metric_result r = hps_metric_read(m, MPI_COMM_NULL);
    hps_metric_free(m);
    return r;
}

static void test_definition(void **state)
{
    static const int levels[] = { 1, 2, 3, 10, 1000, 1 << 24 };    /* few levels: many ties */
    float score[MANY], label[MANY];
    (void)state;

    for (size_t k = 0; k < sizeof levels / sizeof *levels; k++)
        for (int n = 1; n <= MANY; n = 3 * n + 1) {
            for (int i = 0; i < n; i++) {
                float u = hps_rng_unit(1 + k, (uint64_t)i);
                score[i] = floorf(u * (float)levels[k]) / (float)levels[k];
                label[i] = hps_rng_unit(100 + k, (uint64_t)i) < 0.2f + 0.6f * u ? 1.0f : 0.0f;
            }
            double want = by_pairs(n, score, label), got = read_of(n, score, label).auc;
            assert_true(got == want || (isnan(got) && isnan(want)));
        }
}

/* Beyond [0, 1] the order still holds: negative, huge, tiny, infinite; and -0 ties with 0. */
static void test_any_score(void **state)
{
    static const float kinds[] = { -INFINITY, -1e30f, -1.5f, -1e-40f, -0.0f, 0.0f,
                                   1e-40f,    1e-6f,  0.5f,  1.5f,    1e30f, INFINITY };
    float score[240], label[240];
    (void)state;

    for (int i = 0; i < 240; i++) {
        score[i] = kinds[hps_rng_bits(5, (uint64_t)i) % 12];
        label[i] = (float)(hps_rng_bits(6, (uint64_t)i) % 2);
    }
    assert_true(read_of(240, score, label).auc == by_pairs(240, score, label));
}

static void test_edges(void **state)
{
    float score[] = { 0.1f, 0.4f, 0.35f, 0.8f }, same[] = { 0.3f, 0.3f, 0.3f, 0.3f };
    float label[] = { 0, 0, 1, 1 }, none[] = { 0, 0, 0, 0 }, all[] = { 1, 1, 1, 1 };
    (void)state;

    assert_true(read_of(4, score, label).auc == 0.75);
    assert_true(read_of(4, same, label).auc == 0.5);
    assert_true(read_of(4, label, label).auc == 1.0);
    assert_true(isnan(read_of(4, score, none).auc));
    assert_true(isnan(read_of(4, score, none).calibration));
    assert_true(isnan(read_of(4, score, all).auc));
    struct hps_metric_result r = read_of(0, score, label);
    assert_true(isnan(r.auc) && isnan(r.logloss) && r.examples == 0);
    score[1] = NAN;
    r = read_of(4, score, label);
    assert_true(isnan(r.auc) && isnan(r.logloss) && isnan(r.calibration));
    assert_true(r.examples == 4 && r.positives == 2);
}

static void test_sums(void **state)
{
    float score[] = { 0.0f, 1.0f, 0.25f, 0.9f, 0.25f }, label[] = { 0, 0, 1, 1, 0 };
    struct hps_metric_result r = read_of(5, score, label);
    double want = -log(1 - 1e-7) - log(1e-7) - log(0.25) - log((double)0.9f) - log(0.75);
    (void)state;

    assert_true(fabs(r.logloss - want / 5) < 1e-9);
    assert_true(fabs(r.calibration - (0.0 + 1.0 + 0.25 + (double)0.9f + 0.25) / 2) < 1e-15);
    assert_true(r.bin[0].n == 1 && r.bin[2].n == 2 && r.bin[8].n == 1 && r.bin[9].n == 1);
    assert_true(r.bin[2].score == 0.25 && r.bin[2].positives == 0.5);
    assert_true(isnan(r.bin[5].score));
}

static void test_text(void **state)
{
    float score[] = { 0.1f, 0.4f, 0.35f, 0.8f }, label[] = { 0, 0, 1, 1 }, none[] = { 0, 0, 0, 0 };
    struct hps_metric_result r = read_of(4, score, label);
    char *text = hps_metric_text(&r);
    json_t *j = json_loads(text, 0, NULL);
    (void)state;

    assert_non_null(j);
    assert_string_equal(json_string_value(json_object_get(j, "format")), "heterps-eval-1");
    assert_int_equal(json_integer_value(json_object_get(j, "examples")), 4);
    assert_true(json_real_value(json_object_get(j, "auc")) == 0.75);
    assert_true(json_real_value(json_object_get(j, "logloss")) == r.logloss);
    assert_true(json_real_value(json_object_get(j, "calibration")) == r.calibration);
    assert_int_equal(json_array_size(json_object_get(j, "calibration_bins")), HPS_METRIC_BINS);
    json_decref(j);
    hps_mem_free(text);
    r = read_of(4, score, none);
    text = hps_metric_text(&r);
    assert_non_null(strstr(text, "\"auc\": null"));
    hps_mem_free(text);
}

static void test_write(void **state)
{
    float score[] = { 0.5f, 0.25f, 0.75f }, label[] = { 1, 0, 1 }, got[3];
    long long example[] = { 2, 0, 1 }, order[3];
    char path[] = "/tmp/t_metric_XXXXXX";
    struct hps_metric *m = hps_metric_new();
    struct hps_h5 h;
    int fd = mkstemp(path);
    (void)state;

    assert_true(fd >= 0 && close(fd) == 0);
    hps_metric_add(m, 3, score, label, example);
    assert_int_equal(hps_metric_write(m, 3, path, MPI_COMM_NULL), HPS_OK);
    assert_int_equal(hps_metric_write(m, 3, "/nowhere/at/all.h5", MPI_COMM_NULL), HPS_OUTPUT);
    hps_metric_free(m);
    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "example", H5T_NATIVE_LLONG, 0, 3, 0, order), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "score", H5T_NATIVE_FLOAT, 0, 3, 0, got), HPS_OK);
    hps_h5_close(&h);
    unlink(path);
    assert_true(order[0] == 0 && order[1] == 1 && order[2] == 2);
    assert_true(got[0] == 0.25f && got[1] == 0.75f && got[2] == 0.5f);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

static struct hps_metric_result read_as(enum hps_score kind, int n, const float *score,
                                        const float *label)
{
    struct hps_metric *m = hps_metric_new();

    hps_metric_of(m, kind);
    hps_metric_add(m, n, score, label, NULL);
    hps_metric_add_loss(m, 2.0 * n);
    struct hps_metric_result r = hps_metric_read(m, MPI_COMM_NULL);
    hps_metric_clear(m);
    assert_int_equal(hps_metric_read(m, MPI_COMM_NULL).examples, 0);
    hps_metric_free(m);
    return r;
}

/* What a kind of score does not have is NaN, and null in JSON. */
static void test_kinds_of_scores(void **state)
{
    const float score[4] = { -1, 0, 2, 2 }, truth[4] = { 0, 0, 1, 0 }, class[4] = { 0, 1, 2, 2 };
    (void)state;

    struct hps_metric_result r = read_as(HPS_SCORE_RANK, 4, score, truth);
    assert_true(r.auc == 2.5 / 3 && r.loss == 2 && isnan(r.logloss) && isnan(r.accuracy));
    assert_true(isnan(read_as(HPS_SCORE_RANK, 4, score, class).auc));
    r = read_as(HPS_SCORE_CLASS, 4, score, class);
    assert_true(r.accuracy == 0.5 && isnan(r.auc) && isnan(r.rmse) && isnan(r.calibration));
    r = read_as(HPS_SCORE_VALUE, 4, score, class);
    assert_true(r.rmse == sqrt(0.5) && isnan(r.auc) && isnan(r.accuracy));
    assert_true(read_as(HPS_SCORE_VALUE, 4, score, truth).auc == 2.5 / 3);
    r = read_as(HPS_SCORE_NONE, 4, score, class);
    assert_true(r.loss == 2 && isnan(r.auc) && isnan(r.rmse) && isnan(r.accuracy));
    char *line = hps_metric_line(&r), *text = hps_metric_text(&r);
    assert_string_equal(line, "loss 2.00000");
    assert_non_null(strstr(text, "\"auc\": null"));
    assert_non_null(strstr(text, "\"rmse\": null"));
    hps_mem_free(line);
    hps_mem_free(text);
    r = read_as(HPS_SCORE_CHANCE, 4, truth, truth);
    assert_true(r.accuracy == 1 && r.auc == 1 && r.calibration == 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_of_scores),
        cmocka_unit_test_teardown(test_definition, nothing_held),
        cmocka_unit_test_teardown(test_any_score, nothing_held),
        cmocka_unit_test_teardown(test_edges, nothing_held),
        cmocka_unit_test_teardown(test_sums, nothing_held),
        cmocka_unit_test_teardown(test_text, nothing_held),
        cmocka_unit_test_teardown(test_write, nothing_held),
    };

    hps_begin(&argc, &argv, false);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return hps_end(failed ? HPS_FAIL : HPS_OK);
}
