/* forms.c - the forms of the train and the test file of an import. */
#include "model/forms.h"

#include <string.h>

#include "base/mem.h"

void hps_forms_new(struct hps_forms *f, int D, int nslot)
{
    *f = (struct hps_forms){ .D = D, .nslot = nslot };
    f->name = hps_mem_new((size_t)(D + nslot), sizeof *f->name);
    for (int k = 0; k < 2; k++) {
        f->scale[k] = hps_mem_new((size_t)D, sizeof *f->scale[k]);
        f->slot[k] = hps_mem_new((size_t)nslot, sizeof *f->slot[k]);
    }
}

void hps_forms_free(struct hps_forms *f)
{
    for (int i = 0; i < f->D + f->nslot; i++)
        hps_mem_free(f->name[i]);
    for (int k = 0; k < 2; k++) {
        hps_mem_free(f->scale[k]);
        hps_mem_free(f->slot[k]);
    }
    hps_mem_free(f->name);
}

void hps_forms_dense(struct hps_forms *f, int d, const char *name)
{
    f->name[d] = hps_mem_text(name);
}

void hps_forms_slot(struct hps_forms *f, int j, const char *name, long long buckets, bool multi)
{
    f->name[f->D + j] = hps_mem_text(name);
    for (int k = 0; k < 2; k++)
        f->slot[k][j] = (struct hps_writer_slot){ .name = f->name[f->D + j], .buckets = buckets,
                                                  .multi = multi };
}

enum hps_status hps_forms_put(struct hps_forms *f, struct hps_intake *in, const char *preset)
{
    const char *words = in->opt->dense, *from = in->opt->scaling;
    const char *const *dense_name = (const char *const *)f->name;
    struct hps_scale scale;
    enum hps_status s = HPS_OK;

    hps_scale_parse(strcmp(words, "auto") == 0 ? preset : words, &scale);
    for (int k = 0; k < 2 && !s; k++) {
        for (int d = 0; d < f->D; d++)
            f->scale[k][d] = scale;
        in->form[k] = (struct hps_writer_form){ .D = f->D, .nslot = f->nslot,
                                                .dense_name = dense_name, .scale = f->scale[k],
                                                .slot = f->slot[k], .source = in->opt->source,
                                                .settled = *from };
        if (*from && f->D)
            s = hps_writer_constants(from, f->D, dense_name, f->scale[k]);
    }
    return s;
}
