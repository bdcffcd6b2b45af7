/* t_list: a list of host names expands as batch systems expand it; a pool and a list of jobs are
 * read as they are written, a sweep is every combination of its values; what is wrong is refused at
 * its place, with one line. */
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

#include "base/mem.h"
#include "jobs/host_list.h"
#include "jobs/job_pool.h"
#include "jobs/list.h"

/* ---- host lists ---- */

static char *joined(const char *text, int max)
{
    char **name, *all = hps_mem_text("");
    int n = hps_host_list(text, max, &name, NULL);

    for (int i = 0; i < n; i++) {
        char *longer = hps_mem_print("%s%s%s", all, i > 0 ? " " : "", name[i]);
        hps_mem_free(all);
        hps_mem_free(name[i]);
        all = longer;
    }
    hps_mem_free(name);
    if (n >= 0) return all;
    hps_mem_free(all);
    return NULL;
}

static void host_lists(void **state)
{
    static const struct { const char *text, *names; } cases[] = {
        { "a", "a" },
        { "n[0-3]", "n0 n1 n2 n3" },
        { "n[08-11]", "n08 n09 n10 n11" },
        { "n[1,3-4,007]-ib,m", "n1-ib n3-ib n4-ib n007-ib m" },
        { "r[0-1]n[0-2]", "r0n0 r0n1 r0n2 r1n0 r1n1 r1n2" },
        { "a,b,c[5]", "a b c5" },
        { "n[0-3", NULL }, { "n0-3]", NULL }, { "n[]", NULL }, { "n[3-1]", NULL }, { "", NULL },
        { "a,", NULL }, { "a b", NULL }, { "n[0-2]x[0-2]", NULL }, { "n[a-b]", NULL },
        { "n[1-2-3]", NULL }, { "n[1;2]", NULL }, { "n[[1]]", NULL }, { "n[9999999999]", NULL },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = joined(cases[i].text, 8);
        if (cases[i].names)
            assert_string_equal(got, cases[i].names);
        else
            assert_null(got);
        hps_mem_free(got);
    }
}

/* ---- files ---- */

static char path[] = "/tmp/t_list.XXXXXX";

static void write_file(const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* The message of the one error that `text` gives, without "path:". */
static char heard[4096];

static const char *refused(const char *text, bool pool)
{
    FILE *ears = tmpfile();
    int mouth = dup(STDERR_FILENO);
    struct hps_job_list *list = NULL;
    struct hps_job_pool *p = NULL;

    write_file(text);
    dup2(fileno(ears), STDERR_FILENO);
    enum hps_status st = pool ? hps_job_pool_load(&p, path)
                              : hps_job_list_load(&list, path, 0, NULL);
    dup2(mouth, STDERR_FILENO);
    close(mouth);
    ssize_t n = pread(fileno(ears), heard, sizeof heard - 1, 0);
    fclose(ears);
    heard[n > 0 ? n : 0] = 0;
    assert_int_equal(st, HPS_DECK);
    assert_null(pool ? (void *)p : (void *)list);
    char *line = strstr(heard, path);
    assert_non_null(line);
    line[strcspn(line, "\n")] = 0;
    assert_null(strstr(line + strlen(line) + 1, "error: "));
    return line + strlen(path) + 1;
}

/* ---- pools ---- */

static void pools(void **state)
{
    struct hps_job_pool *p;

    (void)state;
    write_file("types: [{name: gpu, price_usd_hour: 2.5}, {name: cpu}]\n"
               "nodes:\n  - {name: \"n[00-02]\", units: {gpu: 4, cpu: 2}}\n"
               "  - {name: big, units: {cpu: 16}}\n");
    assert_int_equal(hps_job_pool_load(&p, path), HPS_OK);
    assert_int_equal(p->T, 2);
    assert_int_equal(p->nnode, 4);
    assert_int_equal(p->type[0].units, 12);
    assert_int_equal(p->type[1].units, 22);
    assert_true(p->type[0].usd_hour == 2.5 && p->type[1].usd_hour == 0);
    assert_string_equal(p->node[2], "n02");
    assert_int_equal(p->units[2 * 2], 4);
    assert_int_equal(p->units[3 * 2], 0);
    assert_int_equal(p->units[3 * 2 + 1], 16);
    assert_int_equal(hps_job_pool_find(p, "cpu"), 1);
    hps_job_pool_free(p);
    assert_int_equal(hps_job_pool_parse(&p, path), HPS_OK);
    hps_job_pool_free(p);

    static const struct { const char *text, *why; } cases[] = {
        { "nodes: [{name: a, units: {gpu: 1}}]", "types: wanted are 1 to" },
        { "types: [{name: gpu}, {name: gpu}]", "types.gpu.name: two types are called 'gpu'" },
        { "types: [{name: gpu}]", "nodes: there is not one unit" },
        { "types: [{name: gpu}]\nnodes: [{name: a, units: {gpus: 1}}]",
          "unknown key 'gpus', did you mean 'gpu'?" },
        { "types: [{name: gpu}]\nnodes: [{name: a}]", "units: wanted are units by type, {gpu: 4}" },
        { "types: [{name: gpu}]\nnodes: [{name: \"a[3-1]\", units: {gpu: 1}}]",
          "'a[3-1]' names no nodes: a range in brackets is wanted" },
        { "types: [{name: gpu}]\nnodes: [{name: \"a[0-1]\", units: {gpu: 1}}, "
          "{name: a1, units: {gpu: 1}}]", "two nodes are called 'a1'" },
        { "types: [{name: gpu, price_usd_hour: -1}]", "-1 is below 0" },
        { "types: [{name: gpu}]\nnodes: [{name: a, units: {gpu: 1}}]\njobs: []",
          "unknown section 'jobs'" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refused(cases[i].text, true);
        if (!strstr(why, cases[i].why)) fail_msg("'%s' is not '%s'", why, cases[i].why);
    }
}

/* ---- lists ---- */

static int find(const struct hps_job_list *l, const char *name)
{
    for (int j = 0; j < l->n; j++)
        if (strcmp(l->job[j].name, name) == 0) return j;
    fail_msg("no job %s", name);
    return -1;
}

static void lists(void **state)
{
    struct hps_job_list *l;

    (void)state;
    write_file("pool: {name: nightly, rho_max: 2}\n"
               "jobs:\n"
               "  - {name: a, deck: a.yaml, set: {train.epochs: 4, data.train: [x.h5, y.h5]}, "
               "arrive: 10, deadline: 500, priority: 2, units: {min: 2, max: 8}}\n"
               "  - {name: b, deck: b.yaml, after: [a, lr]}\n"
               "sweep:\n"
               "  - {name: lr, deck: c.yaml, set: {run.seed: 3}, after: a, early: median, "
               "early_steps: 50, over: {train.learning_rate: [0.01, 3e-2], data.batch: [64, 128, "
               "256]}}\n");
    assert_int_equal(hps_job_list_load(&l, path, 0, NULL), HPS_OK);
    assert_int_equal(l->n, 8);
    assert_int_equal(l->pool.policies.objective, HPS_JCT);
    assert_true(l->pool.policies.rho_max == 2 && isinf(l->pool.policies.lease_s));
    char *directory = hps_job_list_directory(l);
    assert_string_equal(directory, "pools/nightly");
    hps_mem_free(directory);
    const struct hps_list_job *a = &l->job[0], *b = &l->job[1];
    assert_true(a->arrive_s == 10 && a->deadline_s == 500 && a->priority == 2);
    assert_true(a->min_units == 2 && a->max_units == 8 && isinf(b->deadline_s));
    assert_int_equal(a->nset, 2);
    assert_string_equal(a->set[0], "train.epochs=4");
    assert_string_equal(a->set[1], "data.train=[x.h5, y.h5]");
    assert_int_equal(b->nafter, 7);
    const struct hps_list_job *m = &l->job[find(l, "lr-3e-2-128")];
    assert_string_equal(m->sweep, "lr");
    assert_string_equal(m->early, "median");
    assert_int_equal(m->nset, 3);
    assert_string_equal(m->set[0], "run.seed=3");
    assert_string_equal(m->set[1], "train.learning_rate=3e-2");
    assert_string_equal(m->set[2], "data.batch=128");
    assert_true(m->nafter == 1 && m->after[0] == 0);
    assert_int_equal(find(l, "lr-0.01-64"), 2);
    assert_int_equal(find(l, "lr-0.01-128"), 3);
    assert_int_equal(find(l, "lr-3e-2-256"), 7);
    hps_job_list_free(l);
}

static void bad_lists(void **state)
{
    static const struct { const char *text, *why; } cases[] = {
        { "", "jobs: there is no job" },
        { "jobs: [{name: a, deck: x.yaml}, {name: a, deck: y.yaml}]",
          "1:40: jobs.a.name: two jobs are called 'a'" },
        { "jobs: [{name: lr-1, deck: x.yaml}]\n"
          "sweep: [{name: lr, deck: x.yaml, over: {run.seed: [1, 2]}}]",
          "two jobs are called 'lr-1'" },
        { "sweep: [{name: lr, deck: x.yaml, over: {run.seed: [1, 1]}}]",
          "two jobs are called 'lr-1'" },
        { "jobs: [{name: a/b, deck: x.yaml}]", "'a/b' names no job" },
        { "jobs: [{name: .a, deck: x.yaml}]", "'.a' names no job" },
        { "jobs: [{name: a}]", "deck: must be given" },
        { "jobs: [{name: a, deck: x.yaml, dedline: 3}]",
          "unknown key 'dedline', did you mean 'deadline'?" },
        { "jobs: [{name: a, deck: x.yaml, arrive: 5, deadline: 5}]",
          "deadline: 5 s has passed when the job arrives, at 5 s" },
        { "jobs: [{name: a, deck: x.yaml, arrive: -1}]", "-1 is below 0" },
        { "jobs: [{name: abc, deck: x.yaml}, {name: b, deck: x.yaml, after: abd}]",
          "after: there is no job 'abd', did you mean 'abc'?" },
        { "jobs: [{name: a, deck: x.yaml, after: a}]", "after: a circle: a waits for a" },
        { "jobs: [{name: z, deck: x.yaml, after: c}, {name: a, deck: x.yaml, after: b}, "
          "{name: b, deck: x.yaml, after: [c]}, {name: c, deck: x.yaml, after: a}]", "a circle: " },
        { "jobs: [{name: a, deck: x.yaml, units: {min: 4, max: 2}}]", "max: 2 is below min, 4" },
        { "jobs: [{name: a, deck: x.yaml, set: {epochs: 4}}]", "epochs: a key has a section" },
        { "sweep: [{name: lr, deck: x.yaml}]", "over: wanted are 1 to 16 keys" },
        { "sweep: [{name: lr, deck: x.yaml, over: {run.seed: []}}]", "a list of values is wanted" },
        { "sweep: [{name: lr, deck: x.yaml, over: {run.seed: 1}, early: median}]",
          "early_steps: wanted are some with early: median" },
        { "pool: {horizon_seconds: 9}\njobs: [{name: a, deck: x.yaml}]", "does not work yet: 0" },
        { "pool: {objective: fast}\njobs: [{name: a, deck: x.yaml}]", "'fast' is none of jct|" },
        { "pool: {name: a/b}\njobs: [{name: a, deck: x.yaml}]", "cannot name a directory" },
        { "job: [{name: a, deck: x.yaml}]", "unknown section 'job', did you mean 'jobs'?" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *why = refused(cases[i].text, false);
        if (!strstr(why, cases[i].why)) fail_msg("'%s' is not '%s'", why, cases[i].why);
    }
    const char *circle = refused(cases[12].text, false);
    assert_null(strstr(circle, "z waits"));
    assert_true(strstr(circle, "a waits for b waits for c waits for a") ||
                strstr(circle, "b waits for c waits for a waits for b") ||
                strstr(circle, "c waits for a waits for b waits for c"));
}

static int leave_none(void **state)
{
    (void)state;
    unlink(path);
    assert_int_equal(hps_mem_held_bytes(), 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_lists), cmocka_unit_test(pools), cmocka_unit_test(lists),
        cmocka_unit_test(bad_lists),
    };
    int fd = mkstemp(path);

    if (fd < 0) return 99;
    close(fd);
    return cmocka_run_group_tests(tests, NULL, leave_none);
}
