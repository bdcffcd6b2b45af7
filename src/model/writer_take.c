/* writer_take.c - what a dataset gives to those written after it: constants, categories. */
#include <string.h>

#include "base/mem.h"
#include "model/writer.h"

static enum hps_status check_names(const struct hps_data *data, int D, const char *const *name)
{
    bool same = data->D == D;

    for (int d = 0; d < D && same; d++)
        same = strcmp(data->dense_name[d], name[d]) == 0;
    if (same)
        return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: its dense features are not those of this import", data->path);
    return HPS_DECK;
}

enum hps_status hps_writer_constants(const char *path, int D, const char *const *dense_name,
                                     struct hps_scale *scale)
{
    struct hps_data *data;
    struct hps_h5 h;
    enum hps_status s = hps_data_open(&data, path, MPI_COMM_NULL);

    if (s)
        return s;
    s = check_names(data, D, dense_name);
    hps_data_close(data);
    if (!s)
        s = hps_h5_open(&h, path);
    if (s)
        return s;
    s = hps_scale_load(scale, D, &h);
    hps_h5_close(&h);
    for (int d = 0; d < D && !s; d++)
        scale[d] = (struct hps_scale){ .log1p = scale[d].log1p, .range = scale[d].range,
                                       .shift = scale[d].shift, .scale = scale[d].scale };
    return s;
}

enum hps_status hps_writer_index(const char *path, const char *slot, char **texts, size_t *bytes)
{
    struct hps_h5 h;
    long long n = 0;
    int width = 0;
    char *name = hps_mem_print("slots/%s/index", slot);
    enum hps_status s = hps_h5_open(&h, path);

    *texts = NULL;
    if (!s) {
        s = hps_h5_shape(&h, name, &n, &width);
        if (!s && (width != 0 || n > (64 << 20))) {
            HPS_SAY(HPS_ERROR, "%s: %s is not an index of categories", path, name);
            s = HPS_DECK;
        }
        if (!s) {
            *texts = hps_mem_new((size_t)n + 1, 1);     /* the last text is ended in any case */
            s = hps_h5_get(&h, name, H5T_NATIVE_UCHAR, 0, n, 0, *texts);
        }
        hps_h5_close(&h);
    }
    if (s) {
        hps_mem_free(*texts);
        *texts = NULL;
    }
    *bytes = (size_t)n;
    hps_mem_free(name);
    return s;
}
