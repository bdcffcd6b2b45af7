/* fuzz_import.c - what the targets of the importers and the reader share. */
#include "fuzz_import.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "data/data.h"
#include "data/writer.h"

static char folder[64], output[128], test_output[128];

static void leave(void)
{
    unlink(output);
    unlink(test_output);
    unlink(fuzz_file("in", NULL, 0));
    unlink(fuzz_file("schema", NULL, 0));
    unlink(fuzz_file("join.csv", NULL, 0));
    unlink(fuzz_file("set.h5", NULL, 0));
    rmdir(folder);
}

static void begin(void)
{
    if (*folder)
        return;
    hps_begin(NULL, NULL, false);
    hps_say_min(HPS_SILENT);
    snprintf(folder, sizeof folder, "/dev/shm/heterps.XXXXXX");
    if (!mkdtemp(folder)) {
        snprintf(folder, sizeof folder, "/tmp/heterps.XXXXXX");
        if (!mkdtemp(folder))
            HPS_DIE("no scratch folder");
    }
    snprintf(output, sizeof output, "%s/o.h5", folder);
    snprintf(test_output, sizeof test_output, "%s/t.h5", folder);
    atexit(leave);
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size)
{
    static char path[128];
    int fd;

    begin();
    snprintf(path, sizeof path, "%s/%s", folder, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || (size > 0 && write(fd, data, size) != (ssize_t)size))
        HPS_DIE("no scratch file");
    close(fd);
    return path;
}

struct hps_import_opt fuzz_options(void)
{
    begin();
    return (struct hps_import_opt){
        .output = output, .test_output = "", .schema = "", .scaling = "", .source = "fuzz",
        .split = "", .split_at = "", .test_share = 0.4, .seed = 1, .buckets = 100, .ids = "keep",
        .labels = "binary", .label_name = "click", .dense_names = "dense_feature",
        .dense_columns = 3, .dense = "log1p+zscore", .header = "auto", .delimiter = "auto",
        .bad_share = 1
    };
}

const char *fuzz_test_output(void)
{
    begin();
    return test_output;
}

void fuzz_read(const char *path, int may_refuse)
{
    struct hps_data *data;
    bool told, slot[64];
    const struct hps_batch *batch;
    struct hps_reader *r;
    enum hps_status s = hps_data_open(&data, path, MPI_COMM_NULL);

    if (s && may_refuse)
        return;
    if (s || data->nslot > 64)
        HPS_DIE("%s does not open", path);
    if (!may_refuse && (hps_writer_verify(data, &told) || !told))
        HPS_DIE("%s is not what its checksum says", path);
    memset(slot, true, sizeof slot);
    struct hps_order order = hps_order_of(data->N, true, 1);
    struct hps_steps steps = hps_steps_of(data->N, 100, 3, 1, 0);
    struct hps_reader_opt opt = { .label = true, .dense = true, .slot = slot,
                                  .part = 0, .parts = 1, .ahead = 1 };
    long long rows = 0, N = data->N;
    hps_reader_new(&r, data, &order, &steps, &opt, 0);
    while (!(s = hps_reader_next(r, &batch)) && batch)
        for (int m = 0; m < 3; m++)
            rows += batch[m].B;
    hps_reader_free(r);
    hps_data_close(data);
    if ((s && !may_refuse) || (!s && rows != N))
        HPS_DIE("%s: %lld rows of %lld, status %d", path, rows, N, (int)s);
}

void fuzz_import(const char *format, const struct hps_import_opt *opt, const uint8_t *data,
                 size_t size)
{
    char *input[] = { hps_mem_text(fuzz_file("in", data, size)) };
    struct hps_import_result result;
    struct stat facts;
    enum hps_status s;

    unlink(output);
    unlink(test_output);
    s = hps_import_find(format)->run(opt, 1, input, &result);
    if (!s) {
        fuzz_read(output, false);
        if (*opt->test_output)
            fuzz_read(test_output, false);
    } else if (stat(output, &facts) == 0 || stat(test_output, &facts) == 0) {
        HPS_DIE("refused, but there is a file");
    }
    hps_mem_free(input[0]);
    if (hps_mem_held_bytes() > 0)
        HPS_DIE("%zu bytes are held", hps_mem_held_bytes());
}
