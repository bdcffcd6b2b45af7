/* info_dataset.c - prints the content of a dataset and verifies its checksum. */
#include <math.h>
#include <string.h>

#include "app/info/info_impl.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"
#include "data/writer.h"

/* The scaling of the dense features; false: the dataset does not state it. */
static bool load_scaling(struct hps_h5 *h, int D, struct hps_scale *scale)
{
    char *text;

    if (D == 0 || hps_h5_get_text(h, "dense", "scaling", &text, true)) return false;
    hps_mem_free(text);
    return hps_scale_load(scale, D, h) == HPS_OK;
}

static json_t *dense_feature(const char *name, const struct hps_scale *s)
{
    json_t *j = json_pack("{s:o}", "name", hps_json_word(name));

    if (s)
        json_object_update_new(j, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:I}", "scaling",
                                            hps_scale_word(s), "shift", hps_json_real(s->shift),
                                            "scale", hps_json_real(s->scale), "min",
                                            hps_json_real(s->min), "max", hps_json_real(s->max),
                                            "mean", hps_json_real(s->mean), "std",
                                            hps_json_real(s->seen > 0 ? sqrt(s->m2 / s->seen) : 0),
                                            "missing", (json_int_t)s->missing));
    return j;
}

static json_t *print_dense(struct hps_h5 *h, const struct hps_data *d, bool quiet)
{
    struct hps_scale *scale = hps_mem_new((size_t)d->D, sizeof *scale);
    bool known = load_scaling(h, d->D, scale);
    json_t *list = json_array();

    if (!quiet && d->D)
        hps_out("\n%-24s %-14s %12s %12s %12s %12s %10s\n", "dense", "scaling", "min", "max",
                "mean", "std", "missing");
    for (int i = 0; i < d->D; i++) {
        const struct hps_scale *s = &scale[i];
        json_array_append_new(list, dense_feature(d->dense_name[i], known ? s : NULL));
        if (!quiet && known)
            hps_out("%-24s %-14s %12.5g %12.5g %12.5g %12.5g %10.0f\n", d->dense_name[i],
                    hps_scale_word(s), s->min, s->max, s->mean,
                    s->seen > 0 ? sqrt(s->m2 / s->seen) : 0, s->missing);
        else if (!quiet)
            hps_out("%s\n", d->dense_name[i]);
    }
    hps_mem_free(scale);
    return list;
}

static json_t *count_or_null(struct hps_h5 *h, const char *group, const char *name)
{
    long long count;

    if (hps_h5_get_long(h, group, name, &count, true)) return json_null();
    if (count >= 0) return json_integer(count);
    HPS_SAY(HPS_WARN, "%s: attribute %s of %s is %lld: no count", h->path, name, group, count);
    return json_null();
}

static json_t *print_slots(struct hps_h5 *h, const struct hps_data *d, bool quiet)
{
    json_t *list = json_array();

    if (!quiet && d->nslot)
        hps_out("\n%-24s %14s %14s %10s %10s\n", "slot", "buckets", "ids/example", "missing",
                "unknown");
    for (int j = 0; j < d->nslot; j++) {
        const struct hps_slot *s = &d->slot[j];
        char *group = hps_mem_print("slots/%s", s->name);
        json_t *missing = count_or_null(h, group, "missing");
        json_t *unknown = count_or_null(h, group, "unknown");
        if (!quiet)
            hps_out("%-24s %14lld %14.4g %10lld %10lld\n", s->name, s->buckets,
                    (double)s->ids.nrow / (double)d->N, (long long)json_integer_value(missing),
                    (long long)json_integer_value(unknown));
        json_array_append_new(list, json_pack("{s:o, s:I, s:b, s:I, s:o, s:o}", "name",
                                              hps_json_word(s->name), "buckets",
                                              (json_int_t)s->buckets, "multi", (int)s->multi,
                                              "ids", (json_int_t)s->ids.nrow, "missing", missing,
                                              "unknown", unknown));
        hps_mem_free(group);
    }
    return list;
}

static json_t *text_or_null(struct hps_h5 *h, const char *object, const char *name)
{
    char *text;
    json_t *j;

    if (hps_h5_get_text(h, object, name, &text, true)) return json_null();
    j = hps_json_word(text);
    hps_mem_free(text);
    return j;
}

/* NaN: not stated. */
static double teacher_auc(struct hps_h5 *h)
{
    double auc;

    if (hps_h5_get_real(h, "/", "teacher_auc", 1, &auc, true)) return NAN;
    if (auc >= 0 && auc <= 1) return auc;
    HPS_SAY(HPS_WARN, "%s: attribute teacher_auc is %g: no AUC", h->path, auc);
    return NAN;
}

static void tell(struct hps_h5 *h, const struct hps_data *d, bool checked, bool quiet, json_t *into)
{
    json_t *source = text_or_null(h, "/", "source"), *rule = text_or_null(h, "label", "rule");
    double auc = teacher_auc(h);

    if (!quiet) {
        hps_out("%s: a dataset of %lld examples, %.2f %% positive; %d dense features, %d slots\n",
                d->path, d->N, 100 * d->positives, d->D, d->nslot);
        if (json_is_string(source)) hps_out("source: %s\n", json_string_value(source));
        if (json_is_string(rule)) hps_out("label: %s\n", json_string_value(rule));
        if (auc == auc) hps_out("AUC of its teacher: %.6f\n", auc);
        hps_out("content: %s\n", checked ? "whole, as its checksum says" : "has no checksum");
    }
    json_object_set_new(into, "kind", json_string("heterps-dataset-1"));
    json_object_set_new(into, "examples", json_integer(d->N));
    json_object_set_new(into, "positives", hps_json_real(d->positives));
    json_object_set_new(into, "source", source);
    json_object_set_new(into, "checksum", text_or_null(h, "/", "checksum"));
    json_object_set_new(into, "label", rule);
    json_object_set_new(into, "teacher_auc", hps_json_real(auc));
    json_object_set_new(into, "dense", print_dense(h, d, quiet));
    json_object_set_new(into, "slots", print_slots(h, d, quiet));
}

enum hps_status hps_info_dataset(const char *path, bool quiet, json_t *into)
{
    struct hps_data *data;
    struct hps_h5 h;
    bool checked;
    enum hps_status s = hps_data_open(&data, path, MPI_COMM_NULL);

    if (s) return s;
    s = hps_writer_verify(data, &checked);
    if (!s) s = hps_h5_open(&h, path);
    if (!s) {
        tell(&h, data, checked, quiet, into);
        s = hps_h5_read(&h, HPS_OK);
    }
    hps_data_close(data);
    return s;
}
