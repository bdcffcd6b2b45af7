/* speeds_run.c - what a job's run says of its speed: how far it came, on which units, how fast. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "jobs/speed/speeds_impl.h"

/* A file of the run; NULL: there is none, or it is no such. */
static json_t *tree_of(const char *directory, const char *name, const char *format)
{
    char *path = hps_mem_print("%s/%s", directory, name);
    json_t *tree = access(path, R_OK) == 0 ? json_load_file(path, 0, NULL) : NULL;
    const char *is = json_string_value(json_object_get(tree, "format"));

    hps_mem_free(path);
    if (is && strcmp(is, format) == 0) return tree;
    json_decref(tree);
    return NULL;
}

static double real(const json_t *tree, const char *key)
{
    return json_number_value(json_object_get(tree, key));
}

/* Units of another stage; false: these are more types than a configuration may have. */
static bool add_stage(struct hps_speed_run *run, const json_t *stage)
{
    const char *type = json_string_value(json_object_get(stage, "type"));
    int units = (int)json_integer_value(json_object_get(stage, "units")), i = 0;

    if (json_is_integer(json_object_get(stage, "shares"))) return true; /* another one's units */
    if (!type || units <= 0) return false;
    while (i < run->nparts && strcmp(run->part[i].type, type) != 0)
        i++;
    if (i == HPS_CONFIG_TYPES) return false;
    if (i == run->nparts)
        run->part[run->nparts++] = (struct hps_speed_run_part){ hps_mem_text(type), 0,
                                                                real(stage, "price_usd_hour") };
    run->part[i].units += units;
    return true;
}

static void read_stages(struct hps_speed_run *run, const json_t *stages)
{
    bool good = true;

    for (size_t s = 0; s < json_array_size(stages) && good; s++)
        good = add_stage(run, json_array_get(stages, s));
    if (!good) hps_speed_run_done(run);
}

struct hps_speed_run hps_speed_run_read(const char *directory)
{
    struct hps_speed_run run = { .left = 1 };
    json_t *status = tree_of(directory, "status.json", "heterps-status-1");
    json_t *report = tree_of(directory, "report.json", "heterps-report-1");
    double steps = real(status, "steps"), done = real(status, "checkpoint_step");
    const char *state = json_string_value(json_object_get(status, "state"));
    double got = real(report, "examples_s"), promised = real(report, "predicted_examples_s");

    if (steps > 0 && done > 0) run.left = fmax(0, 1 - done / steps);
    if (state && strcmp(state, "finished") == 0) run.left = 0;
    if (got > 0) {
        run.ratio = promised > 0 ? promised / got : 0;
        run.example_s = 1 / got;
        run.rows = real(report, "epoch_examples");
        read_stages(&run, json_object_get(report, "stages"));
    }
    json_decref(status);
    json_decref(report);
    return run;
}

void hps_speed_run_done(struct hps_speed_run *run)
{
    for (int i = 0; i < run->nparts; i++)
        hps_mem_free(run->part[i].type);
    run->nparts = 0;
}

/* Parts in the order of the pool's types, as planned configurations have them. */
static void put_part(struct hps_job_config *c, struct hps_config_part part)
{
    int i = c->nparts++;

    for (; i > 0 && c->part[i - 1].type > part.type; i--)
        c->part[i] = c->part[i - 1];
    c->part[i] = part;
}

struct hps_job_config hps_speed_run_config(const struct hps_speed_run *run,
                                           const struct hps_job_pool *pool)
{
    struct hps_job_config c = { .seconds = run->example_s };
    bool one = run->nparts == 1 && pool->T == 1 && !pool->node;

    for (int i = 0; i < run->nparts; i++) {
        int type = one ? 0 : hps_job_pool_find(pool, run->part[i].type);
        if (type < 0) return (struct hps_job_config){ 0 };
        put_part(&c, (struct hps_config_part){ type, run->part[i].units });
    }
    return c;
}
