/* Law: what the layers of two units tell each other is priced by kind, worked out here by hand:
 * rows, which more units share; gradients, once a step, what peers tell, and sums of rows, which
 * they do not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "profile/measure_sync.h"
#include "ps/storage_opt.h"
#include "tests/lib/toy.h"

static const char deck[] =
    "model:\n"
    "- {name: ids, type: embedding, slots: [a], dim: 4}\n"
    "- {name: look, type: attention, slot: c, dim: 4, hidden: [2]}\n"
    "- {name: norm, type: batch_norm}\n"
    "- {name: h, type: fc, width: 4}\n"
    "- {name: both, type: concat, inputs: [h, norm]}\n"
    "- {name: out, type: fc, width: 4}\n"
    "- {name: loss, type: hinge, inputs: [ids, out], negatives: 2}\n";

/* 1 ms and 1 MB/s, there and back; a micro-batch of 10 is a quarter of a step. */
static void each_kind_is_priced(void **state)
{
    static const struct {
        double rows, sync_s, beta;
    } want[] = {
        { 11, 2.16e-3, 1 },                             /* 5 rows of 4 each way          */
        { 6, 2.096e-3 + 2.296e-3 / 4, 2.096e-3 / (2.096e-3 + 2.296e-3 / 4) },
        { 0, 2.064e-3 / 4 + 2.128e-3, 0 },              /* 8 weights; 8 doubles each way */
        { 0, 2.16e-3 / 4, 0 },
        { 0, 0, 1 },
        { 0, 2.288e-3 / 4, 0 },
        { 0, 2.16e-3, 0 },                              /* 5 items of 4 each way         */
    };
    const struct hps_link link = { 1e-3, 1e6 };
    const struct hps_storage_opt plain = { .file = "" }, half = { .messages = { .dense = "bf16" } };
    const struct hps_storage_opt some = { .messages = { .dense = "topk", .dense_share = 0.25 } };
    struct toy toy;

    (void)state;
    toy_open(&toy, deck);
    struct hps_profile *p = hps_profile_new(toy.net->L, 2);
    p->batch = 10;
    p->engine.batch = 40;
    for (int l = 0; l < toy.net->L; l++) {
        hps_measure_sync_link(p, toy.net, l, 1, link, want[l].rows, &plain);
        double sync_s = p->sync[2 * l + 1], beta = p->beta[2 * l + 1];
        if (fabs(sync_s - want[l].sync_s) > 1e-12 || fabs(beta - want[l].beta) > 1e-12)
            fail_msg("%s: %.9g s, beta %.9g", toy.net->layer[l].name, sync_s, beta);
    }
    /* 36 weights as bf16: 144 bytes there and back, but between GPUs 288 */
    for (int gpu = 0; gpu < 2; gpu++) {
        p->type[1].gpu = gpu;
        hps_measure_sync_link(p, toy.net, 5, 1, link, 0, &half);
        double want_s = (gpu ? 2.288e-3 : 2.144e-3) / 4;
        if (fabs(p->sync[2 * 5 + 1] - want_s) > 1e-12)
            fail_msg("%d: %.9g s", gpu, p->sync[2 * 5 + 1]);
    }
    /* 9 of these 36: 9 values, a word of upper bits, one of lower ones, there and back */
    p->type[1].gpu = false;
    hps_measure_sync_link(p, toy.net, 5, 1, link, 0, &some);
    if (fabs(p->sync[2 * 5 + 1] - 2.088e-3 / 4) > 1e-12) fail_msg("%.9g s", p->sync[2 * 5 + 1]);
    hps_profile_free(p);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Bags of 1.5 and of 0.5 ids: of 5 examples 10 sums of 4 floats each way, 10 numbers of where they
 * begin one way, and half of 10 ids. GPUs send rows. */
static void sums_are_priced(void **state)
{
    const struct hps_link link = { 1e-3, 1e6 };
    const struct hps_storage_opt plain = { .file = "" };
    const double want[2] = { 2.36e-3 + 2.016e-3, 2.16e-3 };
    const double beta[2] = { 2.016e-3 / (2.36e-3 + 2.016e-3), 1 };
    struct toy toy;

    (void)state;
    toy_open(&toy, "model:\n"
                   "- {name: ids, type: embedding, slots: [c, d], table: t, dim: 4,\n"
                   "   exchange: bags}\n"
                   "- {name: out, type: fc, width: 1}\n"
                   "- {name: loss, type: logistic}\n");
    struct hps_profile *p = hps_profile_new(toy.net->L, 1);
    p->batch = p->engine.batch = 10;
    for (int gpu = 0; gpu < 2; gpu++) {
        p->type[0].gpu = gpu;
        hps_measure_sync_link(p, toy.net, 0, 0, link, 11, &plain);
        if (fabs(p->sync[0] - want[gpu]) > 1e-12 || fabs(p->beta[0] - beta[gpu]) > 1e-12)
            fail_msg("%d: %.9g s, beta %.9g", gpu, p->sync[0], p->beta[0]);
    }
    hps_profile_free(p);
    toy_close(&toy);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_priced),
        cmocka_unit_test(sums_are_priced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
