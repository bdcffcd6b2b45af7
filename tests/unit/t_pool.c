/* t_pool: the deck's resources are read or refused with their place; any list of nodes is sorted
 * into types that partition the ranks, emulation first, by what the system tells and never by a
 * measured rate; a pool is the same as what was saved of it; what GPUs tell is summed once for
 * each, and what is not known of one is left out. */
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

#include "base/mem.h"
#include "hw/nvml_text.h"
#include "hw/pool.h"

struct fixture {
    struct hps_deck *deck;
    struct hps_pool_opt opt;
};

static enum hps_status bind(struct fixture *f, const char *text)
{
    assert_int_equal(hps_deck_parse(&f->deck, "t.yaml", text, strlen(text), 0, NULL), HPS_OK);
    return hps_pool_bind(&f->opt, f->deck);
}

static void done(struct fixture *f)
{
    hps_pool_opt_done(&f->opt);
    hps_deck_free(f->deck);
}

static struct hps_node node_of(const char *host, const char *cpu, const char *gpu, int cores)
{
    struct hps_node n = { .cores = cores, .threads = cores, .sharing = 1, .memory_bytes = 64e9 };

    snprintf(n.host, sizeof n.host, "%s", host);
    snprintf(n.cpu, sizeof n.cpu, "%s", cpu);
    snprintf(n.gpu, sizeof n.gpu, "%s", gpu);
    n.on_gpu = gpu[0] != '\0';
    return n;
}

static void defaults(void **state)
{
    struct fixture f;
    (void)state;

    assert_int_equal(bind(&f, "run: {name: x}\n"), HPS_OK);
    assert_int_equal(f.opt.n, 1);
    const struct hps_resource_opt *e = f.opt.entry;
    assert_string_equal(e->name, "cpu");
    assert_string_equal(e->match, "*");
    assert_string_equal(e->price_per, "core");
    assert_true(e->price_usd_hour == 0.04 && e->limit == 0 && e->memory == 0);
    assert_true(!e->emulate_ranks[0] && e->emulate_slow == 1 && !e->slurm_gres[0]);
    done(&f);
}

static void all_keys(void **state)
{
    struct fixture f;
    (void)state;

    assert_int_equal(bind(&f, "resources:\n"
                              "  - {name: a, match: \"*EPYC*\", price_usd_hour: 2,\n"
                              "     price_per: unit,\n"
                              "     limit: 7, memory: 1e9, emulate: {ranks: 1-3, slow: 4},\n"
                              "     slurm: {partition: p, constraint: c, gres: \"gpu:1\","
                              " cores: 8}}\n"),
                     HPS_OK);
    const struct hps_resource_opt *e = f.opt.entry;
    assert_string_equal(e->match, "*EPYC*");
    assert_string_equal(e->price_per, "unit");
    assert_true(e->limit == 7 && e->memory == 1e9 && e->emulate_slow == 4);
    assert_string_equal(e->emulate_ranks, "1-3");
    assert_string_equal(e->slurm_gres, "gpu:1");
    assert_int_equal(e->slurm_cores, 8);
    done(&f);
}

static void refused(void **state)
{
    static const char *const bad[] = {
        "resources: [{name: a}, {name: a}]", "resources: [{}, {}]",
        "resources: [{name: a, emulate: {slow: 2}}]", "resources: [{name: a, emulate: {ranks: x}}]",
        "resources: [{name: a, emulate: {ranks: \"3-1\"}}]", "resources: [{name: \"\"}]",
        "resources: [{name: a, emulate: {ranks: \"1,,2\"}}]", "resources: [{prize: 1}]",
        "resources: [{name: a, emulate: {ranks: \"1,\"}}]", "resources: {name: a}",
        "resources: [{name: a, emulate: {ranks: \"1,none\"}}]",
        "resources: [{name: a, emulate: {ranks: 1, slow: 0.5}}]", "resources: [{limit: -1}]",
        "resources: [{price_per: hour}]", "resources: [{slurm: {gpus: 1}}]",
        "resources: [{name: a, emulate: {ranks: 99999999999}}]",
    };
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture f;
        assert_int_equal(bind(&f, bad[i]), HPS_DECK);
        done(&f);
    }
}

static void ranges(void **state)
{
    const char *text = " 1-3, 5 ,7";
    int first, last;
    (void)state;

    assert_int_equal(hps_pool_range(&text, &first, &last), 1);
    assert_true(first == 1 && last == 3);
    assert_int_equal(hps_pool_range(&text, &first, &last), 1);
    assert_true(first == 5 && last == 5);
    assert_int_equal(hps_pool_range(&text, &first, &last), 1);
    assert_true(first == 7 && last == 7);
    assert_int_equal(hps_pool_range(&text, &first, &last), 0);
}

/* Every rank has one type, whose count and first it is in; no two types are alike. */
static void check_partition(const struct hps_pool *p)
{
    int total = 0;

    for (int t = 0; t < p->T; t++) {
        int n = 0, first = -1;
        for (int r = p->R - 1; r >= 0; r--)
            if (p->type_of[r] == t) {
                n++;
                first = r;
                assert_string_equal(p->node[r].cpu, p->type[t].node.cpu);
                assert_string_equal(p->node[r].gpu, p->type[t].node.gpu);
                assert_int_equal(p->node[r].cores, p->type[t].node.cores);
            }
        assert_true(n == p->type[t].nrank && first == p->type[t].first);
        for (int u = 0; u < t; u++)
            assert_string_not_equal(p->type[t].name, p->type[u].name);
        total += n;
    }
    assert_int_equal(total, p->R);
}

static void three_kinds(void **state)
{
    struct fixture f;
    struct hps_pool *p;
    struct hps_node n[6] = { node_of("g1", "EPYC", "A100", 8), node_of("c1", "Xeon", "", 4),
                             node_of("c1", "Xeon", "", 4),     node_of("c2", "Xeon", "", 2),
                             node_of("c3", "Xeon", "", 4),     node_of("c3", "Xeon", "", 4) };
    (void)state;

    for (int r = 0; r < 6; r++)
        n[r].sgemm_flops_s = r * r + 1;
    assert_int_equal(bind(&f, "resources:\n"
                              "  - {name: cpu, price_usd_hour: 0.5, limit: 9}\n"
                              "  - {name: gpu, match: \"*A100*\", price_usd_hour: 3,"
                              " price_per: unit}\n"
                              "  - {name: old, emulate: {ranks: 5, slow: 4}, memory: 5}\n"),
                     HPS_OK);
    f.opt.entry[0].match = "*Xeon*";
    assert_int_equal(hps_pool_make(&p, 6, n, &f.opt), HPS_OK);
    check_partition(p);
    assert_int_equal(p->T, 4);
    assert_string_equal(p->type[0].name, "cpu");
    assert_string_equal(p->type[1].name, "cpu-2");
    assert_string_equal(p->type[2].name, "gpu");
    assert_string_equal(p->type[3].name, "old");
    assert_true(p->type[0].nrank == 1 && p->type[0].node.cores == 2 && p->type[0].first == 3);
    assert_true(p->type[1].nrank == 3 && p->type[1].node.sgemm_flops_s == 5);
    assert_true(p->type[0].price_usd_hour == 1 && p->type[1].price_usd_hour == 2);
    assert_true(p->type[2].gpu && p->type[2].price_usd_hour == 3 && p->type[1].limit == 9);
    assert_true(p->type[3].slow == 4 && p->type[3].memory_bytes == 5 && p->type[1].slow == 1);
    assert_true(p->type[1].memory_bytes == 32e9 && p->type[0].memory_bytes == 64e9);
    hps_pool_free(p);
    done(&f);
}

static void wishes_not_met(void **state)
{
    static const char *const bad[] = {
        "resources: [{name: a, match: \"*Power*\"}]",
        "resources: [{name: a}, {name: b, emulate: {ranks: \"0,2\"}}]",
        "resources: [{name: a}, {name: b, emulate: {ranks: 1}}, {name: c, emulate: {ranks: 0-1}}]",
        "resources: [{name: a}, {name: b, match: \"A100\", emulate: {ranks: 1}}]",
    };
    struct hps_node n[2] = { node_of("h", "Xeon", "", 4), node_of("h", "Xeon", "", 4) };
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture f;
        struct hps_pool *p;
        assert_int_equal(bind(&f, bad[i]), HPS_OK);
        assert_int_equal(hps_pool_make(&p, 2, n, &f.opt), HPS_DECK);
        assert_null(p);
        done(&f);
    }
}

/* 512 ranks of 64 types in any order, and measured rates that must not matter. */
static void many(void **state)
{
    enum { RANKS = 512, TYPES = 64 };
    struct fixture f;
    struct hps_pool *p, *q;
    struct hps_node *n = hps_mem_new(RANKS, sizeof *n);
    char cpu[32], host[32];
    (void)state;

    assert_int_equal(bind(&f, ""), HPS_OK);
    for (int r = 0; r < RANKS; r++) {
        snprintf(cpu, sizeof cpu, "cpu %d", r * 37 % TYPES / 4);
        snprintf(host, sizeof host, "h%d", r / 2);
        n[r] = node_of(host, cpu, "", 1 + r * 37 % TYPES % 4);
    }
    assert_int_equal(hps_pool_make(&p, RANKS, n, &f.opt), HPS_OK);
    assert_int_equal(p->T, TYPES);
    check_partition(p);
    for (int r = 0; r < RANKS; r++)
        n[r].gather_rows_s = rand();
    assert_int_equal(hps_pool_make(&q, RANKS, n, &f.opt), HPS_OK);
    assert_memory_equal(p->type_of, q->type_of, RANKS * sizeof *p->type_of);
    hps_pool_print(p);
    hps_pool_free(p);
    hps_pool_free(q);
    hps_mem_free(n);
    done(&f);
}

static void saved(void **state)
{
    struct fixture f;
    struct hps_pool *p;
    struct hps_node n[2] = { node_of("h", "Xeon", "", 4), node_of("h", "Xeon", "A100", 4) };
    char path[] = "/tmp/t_pool_XXXXXX";
    int fd = mkstemp(path);
    (void)state;

    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(bind(&f, "resources: [{price_usd_hour: 0.1}]"), HPS_OK);
    assert_int_equal(hps_pool_make(&p, 2, n, &f.opt), HPS_OK);
    assert_int_equal(hps_pool_save(p, path), HPS_OK);

    json_t *all = json_load_file(path, 0, NULL), *types = json_object_get(all, "types");
    assert_string_equal(json_string_value(json_object_get(all, "format")), "heterps-pool-1");
    json_t *first = json_array_get(types, 0);
    assert_true(json_real_value(json_object_get(first, "price_usd_hour")) ==
                p->type[0].price_usd_hour);
    assert_true(json_is_null(json_object_get(first, "gpu")));
    assert_true(json_integer_value(json_object_get(first, "memory_bytes")) == 32000000000LL);
    json_decref(all);
    unlink(path);
    assert_int_equal(hps_pool_save(p, "/no/such/folder/pool.json"), HPS_OUTPUT);
    hps_pool_free(p);
    done(&f);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

/* Two ranks of five share a card, one computes on its cores. */
static void each_gpu_once(void **state)
{
    static const double joules[5] = { 10, 20, 40, NAN, 80 };
    struct hps_node n[5];
    struct hps_pool pool = { .R = 5, .node = n };
    (void)state;

    for (int r = 0; r < 5; r++) {
        n[r] = node_of("h", "Xeon", r == 3 ? "" : "A100", 4);
        n[r].gpu_uuid[15] = (unsigned char)(r == 2 ? 1 : r);
    }
    assert_true(hps_pool_gpu_sum(&pool, joules) == 10 + 20 + 80);
    n[3].on_gpu = true;
    assert_true(isnan(hps_pool_gpu_sum(&pool, joules)));
    pool.R = 0;
    assert_true(isnan(hps_pool_gpu_sum(&pool, joules)));
}

static void more_of_a_gpu(void **state)
{
    struct hps_nvml_facts f = { .driver = "580.65" };
    json_t *j = json_object();
    (void)state;

    hps_nvml_put(j, &f);
    assert_int_equal(json_object_size(j), 7);
    assert_string_equal(json_string_value(json_object_get(j, "gpu_driver")), "580.65");
    assert_true(json_is_null(json_object_get(j, "gpu_pcie_width")));
    assert_true(json_is_null(json_object_get(j, "gpu_ecc")));
    f = (struct hps_nvml_facts){ .pcie_generation = 4, .pcie_width = 8, .ecc = HPS_NVML_ECC_OFF };
    hps_nvml_put(j, &f);
    assert_true(json_is_null(json_object_get(j, "gpu_driver")));
    assert_true(json_is_false(json_object_get(j, "gpu_ecc")));
    json_decref(j);
    char *text = hps_nvml_text(&f);
    assert_string_equal(text, "PCIe 4 x8, ECC off");
    hps_mem_free(text);
    f = (struct hps_nvml_facts){ .sm_mhz = 0 };
    assert_null(hps_nvml_text(&f));
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(all_keys), cmocka_unit_test(refused),
        cmocka_unit_test(ranges), cmocka_unit_test(three_kinds), cmocka_unit_test(wishes_not_met),
        cmocka_unit_test(many), cmocka_unit_test(saved), cmocka_unit_test(each_gpu_once),
        cmocka_unit_test(more_of_a_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
