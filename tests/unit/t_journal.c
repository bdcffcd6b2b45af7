/* t_journal: what is written to a journal is read back, record by record; a journal that is cut off
 * or damaged anywhere has the whole records before that, and goes on behind them; its jobs and its
 * pool are those that were written. */
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
#include "base/say.h"
#include "jobs/journal.h"
#include "jobs/journal_jobs.h"

static const char path[] = "journal.jsonl";

static enum hps_status count(void *context, const json_t *record)
{
    int *n = context;

    assert_true(json_real_value(json_object_get(record, "t")) == *n + 0.1);
    assert_int_equal(json_integer_value(json_object_get(record, "k")), *n);
    ++*n;
    return HPS_OK;
}

static int records(void)
{
    int n = 0;
    const struct hps_journal_visitor visitor = { count, &n };

    assert_int_equal(hps_journal_read(path, &visitor), HPS_OK);
    return n;
}

/* Opens, adds one more record, closes; returns how many there were. */
static int one_more(void)
{
    int n = 0;
    struct hps_journal *j;
    const struct hps_journal_visitor visitor = { count, &n };

    assert_int_equal(hps_journal_open(&j, path, &visitor), HPS_OK);
    assert_int_equal(hps_journal_add(j, n + 0.1, "progress", json_pack("{s:i}", "k", n)), HPS_OK);
    hps_journal_close(j);
    return n;
}

static char *text_of(size_t *length)
{
    static char text[4096];
    FILE *f = fopen(path, "rb");

    assert_non_null(f);
    *length = fread(text, 1, sizeof text, f);
    fclose(f);
    return text;
}

static void put(const char *text, size_t length)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(text, 1, length, f), length);
    fclose(f);
}

static void is_read_as_it_was_written(void **state)
{
    (void)state;
    remove(path);
    for (int k = 0; k < 4; k++)
        assert_int_equal(one_more(), k);
    assert_int_equal(records(), 4);
}

/* Cut off behind each byte: the whole records before it count, and it goes on. */
static void goes_on_wherever_it_was_cut(void **state)
{
    char whole[4096];
    size_t length;

    (void)state;
    memcpy(whole, text_of(&length), sizeof whole);
    size_t first = (size_t)((char *)memchr(whole, '\n', length) - whole) + 1;
    for (size_t cut = 0; cut <= length; cut++) {
        int want = -1;
        for (size_t i = 0; i < cut; i++)
            want += whole[i] == '\n';
        put(whole, cut);
        if (cut >= first) assert_int_equal(records(), want);
        assert_int_equal(one_more(), cut < first ? 0 : want);
        assert_int_equal(records(), (cut < first ? 0 : want) + 1);
    }
    remove("journal.jsonl.damaged");
}

/* A line that is no record is the end, though others follow; they are kept aside. */
static void ends_at_damage(void **state)
{
    char whole[4096];
    size_t length;

    (void)state;
    remove(path);
    for (int k = 0; k < 4; k++)
        one_more();
    memcpy(whole, text_of(&length), sizeof whole);
    char *line = memchr(memchr(whole, '\n', length), '{', length);
    line = strchr(line, '\n') + 1;              /* of the record with k = 1 */
    memcpy(line, "[]", 2);
    put(whole, length);
    assert_int_equal(records(), 1);
    assert_int_equal(one_more(), 1);
    assert_int_equal(records(), 2);
    assert_int_equal(access("journal.jsonl.damaged", R_OK), 0);
    remove("journal.jsonl.damaged");
    put("{\"format\": \"heterps-plan-1\"}\n", 30);
    int n = 0;
    const struct hps_journal_visitor visitor = { count, &n };
    assert_int_equal(hps_journal_read(path, &visitor), HPS_DECK);
    remove(path);
    assert_int_equal(hps_journal_read(path, &visitor), HPS_INPUT);
}

/* ---- jobs and a pool ---- */

static struct hps_job_pool *two_types(void)
{
    struct hps_job_pool *pool = hps_job_pool_grid(3, 4);
    int *units = hps_mem_new(6, sizeof *units);

    pool->T = 2;
    hps_mem_free(pool->type[0].name);
    hps_mem_free(pool->type);
    hps_mem_free(pool->units);
    pool->type = hps_mem_new(2, sizeof *pool->type);
    pool->type[0] = (struct hps_job_type){ hps_mem_text("cpu"), 0.04, 12 };
    pool->type[1] = (struct hps_job_type){ hps_mem_text("gpu"), 3, 2 };
    for (int i = 0; i < 3; i++)
        units[2 * i] = 4, units[2 * i + 1] = i < 2;
    pool->units = units;
    return pool;
}

static struct hps_workload *two_jobs(void)
{
    struct hps_workload *w = hps_workload_new(2);

    for (int j = 0; j < 2; j++) {
        struct hps_pool_job *job = &w->job[j];
        job->name = hps_mem_print("job \"%d\"", j);
        job->model = hps_mem_text("a1b2");
        job->arrive_s = 10 * j + 1.0 / 3;
        job->deadline_s = j == 0 ? INFINITY : 1e4 / 7;
        job->priority = 1 + j;
        job->nconfig = 2;
        job->config = hps_mem_new(2, sizeof *job->config);
        job->config[0] = (struct hps_job_config){ .nparts = 1, .part = { { 0, 2 } },
                                                  .seconds = 100.0 / 3 };
        job->config[1] = (struct hps_job_config){ .nparts = 2, .part = { { 0, 8 }, { 1, 1 } },
                                                  .seconds = 20, .link_s = 5 };
        job->asked = j;
    }
    w->job[1].nafter = 1;
    w->job[1].after = hps_mem_new(1, sizeof(int));
    return w;
}

static void same_job(const struct hps_pool_job *a, const struct hps_pool_job *b)
{
    assert_string_equal(a->name, b->name);
    assert_string_equal(a->model, b->model);
    assert_true(a->arrive_s == b->arrive_s && a->deadline_s == b->deadline_s);
    assert_true(a->priority == b->priority && a->asked == b->asked);
    assert_int_equal(a->nafter, b->nafter);
    for (int i = 0; i < a->nafter; i++)
        assert_int_equal(a->after[i], b->after[i]);
    assert_int_equal(a->nconfig, b->nconfig);
    for (int c = 0; c < a->nconfig; c++) {
        assert_true(hps_config_same(&a->config[c], &b->config[c]));
        assert_true(a->config[c].seconds == b->config[c].seconds);
        assert_true(a->config[c].link_s == b->config[c].link_s);
    }
}

static void has_its_jobs_and_pool(void **state)
{
    struct hps_job_pool *pool = two_types(), *read = NULL;
    struct hps_workload *w = two_jobs(), *again;
    struct hps_journal *j;
    int n = 0;
    const struct hps_journal_visitor visitor = { count, &n };

    (void)state;
    remove(path);
    assert_int_equal(hps_journal_open(&j, path, &visitor), HPS_OK);
    assert_int_equal(hps_journal_add(j, 0, "pool", hps_journal_pool(pool)), HPS_OK);
    for (int k = 0; k < w->n; k++)
        assert_int_equal(hps_journal_add(j, 1, "arrive", hps_journal_job(w, k, pool)), HPS_OK);
    hps_journal_close(j);
    assert_int_equal(hps_journal_workload(&again, &read, path), HPS_OK);
    assert_int_equal(again->n, 2);
    for (int k = 0; k < 2; k++)
        same_job(&w->job[k], &again->job[k]);
    assert_int_equal(read->T, 2);
    assert_int_equal(read->nnode, 3);
    for (int t = 0; t < 2; t++) {
        assert_string_equal(read->type[t].name, pool->type[t].name);
        assert_true(read->type[t].usd_hour == pool->type[t].usd_hour);
        assert_int_equal(read->type[t].units, pool->type[t].units);
    }
    assert_memory_equal(read->units, pool->units, 6 * sizeof(int));
    hps_workload_free(again);
    hps_workload_free(w);
    hps_job_pool_free(read);
    hps_job_pool_free(pool);
    remove(path);
}

static int in_a_scratch_folder(void **state)
{
    static char folder[] = "/tmp/heterps.t_journal.XXXXXX";

    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int and_out_of_it(void **state)
{
    char folder[256];

    (void)state;
    return getcwd(folder, sizeof folder) && rmdir(folder) == 0 ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_read_as_it_was_written),
        cmocka_unit_test(goes_on_wherever_it_was_cut),
        cmocka_unit_test(ends_at_damage),
        cmocka_unit_test(has_its_jobs_and_pool),
    };

    return cmocka_run_group_tests(tests, in_a_scratch_folder, and_out_of_it);
}
