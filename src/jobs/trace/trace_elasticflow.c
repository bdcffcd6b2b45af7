/* trace_elasticflow.c - jobs with deadlines of ElasticFlow's simulator (pkusys/ElasticFlow): so
 * many iterations of a model with a batch that stays. A folder of tables has iterations a second on
 * one type of GPU: a file a model, a line a batch, a column a number of GPUs. What is empty, 0 or
 * nan was not measured, and cannot be had. Without such tables a job runs as it was asked for. */
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/mem.h"
#include "base/say.h"
#include "jobs/trace/trace_impl.h"

static const char *const columns[] = { "job_id", "submission_time", "num_iteration", "model_name",
                                       "deadline", "batch_size", "num_gpu", "duration", NULL };
static const char batch_column[] = "global_batch_size";

/* ---- folders of tables ---- */

struct names {
    size_t n, cap;
    char **name;
};

static void add_name(void *context, const char *name)
{
    struct names *list = context;

    if (name[0] == '.') return;
    hps_mem_grow(&list->name, &list->cap, list->n + 1, sizeof *list->name);
    list->name[list->n++] = hps_mem_text(name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void names_done(struct names *list)
{
    for (size_t i = 0; i < list->n; i++)
        hps_mem_free(list->name[i]);
    hps_mem_free(list->name);
}

static enum hps_status list(struct names *names, const char *path)
{
    *names = (struct names){ 0 };
    if (!hps_folder_list(path, names, add_name)) {
        HPS_SAY(HPS_ERROR, "%s: is no folder of tables of speeds", path);
        names_done(names);
        return HPS_INPUT;
    }
    if (names->n > 0) qsort(names->name, names->n, sizeof *names->name, by_name);
    return HPS_OK;
}

static bool is_table(const char *name)
{
    size_t n = strlen(name);

    return n > 4 && strcmp(name + n - 4, ".csv") == 0;
}

/* The folders of tables that a path means: itself, or those inside it whose name ends in _TYPE. */
static enum hps_status find_folders(struct names *folders, const char *path)
{
    struct names in;
    bool tables = false;
    enum hps_status st = list(&in, path);
    const size_t before = folders->n;

    if (st) return st;
    for (size_t i = 0; i < in.n; i++) {
        char *inside = hps_mem_print("%s/%s", path, in.name[i]);
        bool folder = strchr(in.name[i], '_') && hps_folder_is(inside);
        tables = tables || is_table(in.name[i]);
        if (folder) add_name(folders, inside);
        hps_mem_free(inside);
    }
    if (folders->n == before && tables) add_name(folders, path);
    names_done(&in);
    if (folders->n > before) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: has no tables of speeds, nor folders of them named NAME_TYPE", path);
    return HPS_DECK;
}

/* What is behind the last _ of a folder's name, else all of it; to free. */
static char *type_of(const char *folder)
{
    size_t end = strlen(folder), at;

    while (end > 1 && folder[end - 1] == '/')
        end--;
    for (at = end; at > 0 && folder[at - 1] != '/' && folder[at - 1] != '_'; at--)
        continue;
    return hps_mem_print("%.*s", (int)(end - at), folder + at);
}

/* ---- a table ---- */

static enum hps_status add_speed(struct hps_speeds *s, const struct hps_trace_table *t, int row,
                                 int column, const char *model, int type)
{
    const char *cell = hps_trace_cell(t, row, column), *header = hps_trace_cell(t, -1, column);
    char *end, *units_end;
    long units = strtol(header, &units_end, 10);
    double batch = 0, speed = strtod(cell, &end);
    enum hps_status st = hps_trace_whole(t, row, batch_column, 1, 1e12, &batch);

    if (st) return st;
    if (*end || speed < 0 || speed > 1e12 || *units_end || units < 1 || units > 1000000) {
        HPS_SAY(HPS_ERROR, "%s:%lld: '%s' is no number of iterations a second on %s GPUs", t->path,
                t->line[row + 1], cell, header);
        return HPS_DECK;
    }
    if (speed > 0)
        hps_speeds_add(s, (struct hps_speed){ .model = hps_mem_print("%s %.0f", model, batch),
                                              .type = type, .units = (int)units,
                                              .step_s = 1 / speed });
    return HPS_OK;
}

static enum hps_status load_table(struct hps_speeds *s, const char *folder, const char *name,
                                  int type)
{
    static const char *const wanted[] = { batch_column, NULL };
    struct hps_trace_table t;
    char *path = hps_mem_print("%s/%s", folder, name);
    char *model = hps_mem_print("%.*s", (int)strlen(name) - 4, name);
    enum hps_status st = hps_trace_table_load(&t, path);

    if (!st) {
        st = hps_trace_wants(&t, wanted);
        for (int row = 0; row < t.nrow && !st; row++)
            for (int c = 0; c < t.ncolumn && !st; c++)
                if (c != hps_trace_column(&t, batch_column))
                    st = add_speed(s, &t, row, c, model, type);
        hps_trace_table_done(&t);
    }
    hps_mem_free(model);
    hps_mem_free(path);
    return st;
}

static enum hps_status load_folder(struct hps_speeds *s, const char *folder, int type)
{
    struct names in;
    enum hps_status st = list(&in, folder);

    if (st) return st;
    for (size_t i = 0; i < in.n && !st; i++)
        if (is_table(in.name[i])) st = load_table(s, folder, in.name[i], type);
    names_done(&in);
    return st;
}

static enum hps_status load_speeds(struct hps_speeds *s, const struct hps_trace_opt *opt)
{
    struct names folders = { 0 };
    enum hps_status st = HPS_OK;

    for (int i = 0; i < opt->nspeeds && !st; i++)
        st = find_folders(&folders, opt->speeds[i]);
    if (st || folders.n == 0) {
        names_done(&folders);
        return st;
    }
    char **name = hps_mem_new(folders.n, sizeof *name);
    int *type = hps_mem_new(folders.n, sizeof *type);
    for (size_t i = 0; i < folders.n; i++)
        name[i] = type_of(folders.name[i]);
    st = hps_trace_types(opt->pool, (const char *const *)name, (int)folders.n, type);
    for (size_t i = 0; i < folders.n && !st; i++)
        if (type[i] >= 0) st = load_folder(s, folders.name[i], type[i]);
    hps_speeds_sort(s);
    for (size_t i = 0; i < folders.n; i++)
        hps_mem_free(name[i]);
    hps_mem_free(name);
    hps_mem_free(type);
    names_done(&folders);
    return st;
}

/* ---- jobs ---- */

static enum hps_status one(struct hps_pool_job *job, const struct hps_trace_table *t, int row,
                           const void *context)
{
    const struct hps_trace_speeds *c = context;
    double arrive = 0, deadline = 0, steps = 0, batch = 0, gpus = 0, seconds = 0;
    enum hps_status st = hps_trace_real(t, row, "submission_time", 0, 1e12, &arrive);

    if (!st) st = hps_trace_real(t, row, "deadline", arrive, 1e12, &deadline);
    if (!st) st = hps_trace_whole(t, row, "num_iteration", 1, 1e15, &steps);
    if (!st) st = hps_trace_whole(t, row, "batch_size", 1, 1e12, &batch);
    if (!st) st = hps_trace_whole(t, row, "num_gpu", 1, 1e6, &gpus);
    if (!st) st = hps_trace_real(t, row, "duration", 0, 1e12, &seconds);
    if (st) return st;
    job->name = hps_mem_text(hps_trace_cell(t, row, hps_trace_column(t, "job_id")));
    job->model = hps_mem_print("%s %.0f", hps_trace_cell(t, row, hps_trace_column(t, "model_name")),
                               batch);
    job->arrive_s = arrive;
    job->deadline_s = deadline;
    if (c->opt->nspeeds > 0)
        return hps_speeds_configs(job, &c->speeds, c->opt->pool, steps, (int)gpus, false);
    job->nconfig = 1;
    job->config = hps_mem_new(1, sizeof *job->config);
    job->config[0] = (struct hps_job_config){ .nparts = 1, .part = { { 0, (int)gpus } },
                                              .seconds = seconds, .step_s = seconds / steps };
    return HPS_OK;
}

static enum hps_status read_jobs(struct hps_workload **w, const struct hps_trace_table *t,
                                 const struct hps_trace_opt *opt)
{
    return hps_trace_each_at_speeds(w, t, opt, load_speeds, one);
}

const struct hps_trace_format hps_trace_elasticflow = { .name = "elasticflow", .columns = columns,
                                                        .takes_speeds = true, .read = read_jobs };
