/* data_files.c - opens one or several files as a dataset, on all ranks. */
#include <errno.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/rng.h"
#include "base/say.h"
#include "base/world.h"
#include "data/data_impl.h"

int hps_files_find(const long long *begin, int n, long long x)
{
    int low = 0, high = n;

    while (high - low > 1) {
        int f = (low + high) / 2;
        if (begin[f] <= x)
            low = f;
        else
            high = f;
    }
    return low;
}

const char *hps_data_locate(const struct hps_data *d, long long e, long long *row)
{
    int f = hps_files_find(d->files.first, d->files.n, e);

    *row = e - d->files.first[f];
    return d->file[f]->path;
}

struct hps_data *hps_data_new(const char *path, int nfile)
{
    struct hps_data *d = hps_mem_new(1, sizeof *d);
    size_t n = (size_t)nfile + 1;

    d->path = hps_mem_text(path);
    d->fd = -1;
    d->file = hps_mem_new((size_t)nfile, sizeof *d->file);
    d->files.n = nfile;
    d->files.first = hps_mem_new(4 * n, sizeof *d->files.first);
    d->files.block = d->files.first + n;
    d->files.whole = d->files.block + n;
    d->files.window = d->files.whole + n;
    return d;
}

void hps_data_count(struct hps_data *d)
{
    struct hps_files *t = &d->files;

    for (int f = 0; f < t->n; f++) {
        long long N = d->file[f]->N;
        t->first[f + 1] = t->first[f] + N;
        t->block[f + 1] = t->block[f] + (N + HPS_BLOCK_ROWS - 1) / HPS_BLOCK_ROWS;
        t->whole[f + 1] = t->whole[f] + N / HPS_BLOCK_ROWS;
        t->window[f + 1] = t->window[f] + (N + HPS_WINDOW_ROWS - 1) / HPS_WINDOW_ROWS;
    }
    d->N = t->first[t->n];
}

/* The reason why two files cannot form one dataset; NULL: they can. */
static const char *difference(const struct hps_data *a, const struct hps_data *b)
{
    if (a->D != b->D || a->nslot != b->nslot)
        return "they have other numbers of slots or dense features";
    for (int d = 0; d < a->D; d++)
        if (strcmp(a->dense_name[d], b->dense_name[d]) != 0)
            return "they have other dense features";
    for (int j = 0; j < a->nslot; j++)
        if (strcmp(a->slot[j].name, b->slot[j].name) != 0 || a->slot[j].multi != b->slot[j].multi)
            return "they have other slots";
    for (int j = 0; j < a->nslot; j++)
        if (a->slot[j].buckets != b->slot[j].buckets)
            return "their slots have other numbers of buckets";
    if (a->constants != b->constants)
        return "their dense features are scaled by other constants (import the second with "
               "--scaling FIRST)";
    if (a->rule && b->rule && a->rule != b->rule)
        return "their labels are made in other ways (attribute rule of label)";
    return NULL;
}

/* The columns are those of the first file. */
static void take_columns(struct hps_data *d)
{
    const struct hps_data *first = d->file[0];
    double positives = 0;

    d->D = first->D;
    d->nslot = first->nslot;
    d->constants = first->constants;
    d->rule = first->rule;
    d->dense_name = hps_mem_new((size_t)d->D, sizeof *d->dense_name);
    d->slot = hps_mem_new((size_t)d->nslot, sizeof *d->slot);
    for (int i = 0; i < d->D; i++)
        d->dense_name[i] = first->dense_name[i];
    for (int j = 0; j < d->nslot; j++) {
        d->slot[j] = (struct hps_slot){ .name = first->slot[j].name,
                                        .buckets = first->slot[j].buckets,
                                        .multi = first->slot[j].multi };
        for (int f = 0; f < d->files.n; f++)
            d->slot[j].ids.nrow += d->file[f]->slot[j].ids.nrow;
    }
    for (int f = 0; f < d->files.n; f++)
        positives += d->file[f]->positives * (double)d->file[f]->N;
    d->positives = positives / (double)d->N;
}

static enum hps_status look_at_all(struct hps_data **data, const struct hps_list *path)
{
    char *name;
    const char *why = NULL;
    enum hps_status s = HPS_OK;

    if (path->n == 1) return hps_data_open_one(data, path->item[0]);
    name = hps_mem_print("%s and %d more", path->item[0], path->n - 1);
    *data = hps_data_new(name, path->n);
    hps_mem_free(name);
    for (int f = 0; f < path->n && !s; f++)
        s = hps_data_open_one(&(*data)->file[f], path->item[f]);
    for (int f = 1; f < path->n && !s && !why; f++) {
        why = difference((*data)->file[0], (*data)->file[f]);
        if (why) HPS_SAY_ALL(HPS_ERROR, "%s and %s: %s", path->item[0], path->item[f], why);
    }
    if (s || why) return s ? s : HPS_DECK;
    hps_data_count(*data);
    take_columns(*data);
    return HPS_OK;
}

/* Rank 0 opens first, so that an error of the file is reported once. Another rank reports what it
 * alone cannot open (a folder that is not shared). */
static enum hps_status open_paths(struct hps_data **data, const struct hps_list *path,
                                  MPI_Comm world)
{
    int rank = 0;
    enum hps_status s = HPS_OK;

    *data = NULL;
    if (world != MPI_COMM_NULL) HPS_MPI(MPI_Comm_rank(world, &rank));
    if (rank == 0) s = look_at_all(data, path);
    s = hps_agree(world, s);
    if (!s && rank != 0) s = look_at_all(data, path);
    s = hps_agree(world, s);
    if (s) {
        hps_data_close(*data);
        *data = NULL;
    }
    return s;
}

enum hps_status hps_data_open(struct hps_data **data, const char *path, MPI_Comm world)
{
    const struct hps_list one = { 1, &path };

    return open_paths(data, &one, world);
}

/* Paths, each ended by a zero. */
struct paths {
    char *text;
    size_t bytes, cap;
};

static void add_path(struct paths *p, const char *path)
{
    size_t n = strlen(path) + 1;

    hps_mem_grow(&p->text, &p->cap, p->bytes + n, 1);
    memcpy(p->text + p->bytes, path, n);
    p->bytes += n;
}

/* Stop at a folder that cannot be read: it may have matching files. */
static int stop_at(const char *folder, int error)
{
    (void)folder;
    errno = error;
    return error != ENOENT;
}

/* A name itself, or the files that it matches. */
static enum hps_status find_paths(struct paths *p, const char *name)
{
    glob_t found = { 0 };
    int rc = 0;

    if (!strpbrk(name, "*?[") || access(name, F_OK) == 0) {
        add_path(p, name);
        return HPS_OK;
    }
    rc = glob(name, 0, stop_at, &found);
    int why = errno;
    for (size_t i = 0; rc == 0 && i < found.gl_pathc; i++)
        add_path(p, found.gl_pathv[i]);
    globfree(&found);
    if (rc == 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: %s", name,
            rc == GLOB_NOMATCH ? "no file has such a name" : strerror(why));
    return HPS_INPUT;
}

/* Rank 0 expands the patterns, and all ranks open the same files. */
static enum hps_status tell_paths(struct paths *p, const struct hps_list *names, MPI_Comm world)
{
    enum hps_status s = HPS_OK;
    int bytes;

    for (int i = 0; i < names->n && hps_rank() == 0 && !s; i++)
        s = find_paths(p, names->item[i]);
    s = hps_agree(world, s);
    if (s || world == MPI_COMM_NULL) return s;
    bytes = (int)p->bytes;
    HPS_MPI(MPI_Bcast(&bytes, 1, MPI_INT, 0, world));
    p->bytes = (size_t)bytes;
    hps_mem_grow(&p->text, &p->cap, p->bytes, 1);
    HPS_MPI(MPI_Bcast(p->text, bytes, MPI_CHAR, 0, world));
    return HPS_OK;
}

enum hps_status hps_data_open_all(struct hps_data **data, const struct hps_list *names,
                                  MPI_Comm world)
{
    struct paths p = { 0 };
    struct hps_list path = { 0 };
    enum hps_status s = tell_paths(&p, names, world);

    *data = NULL;
    for (size_t at = 0; at < p.bytes && !s; at += strlen(p.text + at) + 1)
        path.n++;
    path.item = hps_mem_new((size_t)path.n, sizeof *path.item);
    for (size_t at = 0, n = 0; at < p.bytes && !s; at += strlen(p.text + at) + 1)
        path.item[n++] = p.text + at;
    if (!s) s = open_paths(data, &path, world);
    hps_mem_free(path.item);
    hps_mem_free(p.text);
    return s;
}

bool hps_data_interleaved(const struct hps_data_opt *opt)
{
    return strcmp(opt->files, "in_turn") == 0;
}

char *hps_data_order_text(const struct hps_data *data, const struct hps_data_opt *opt)
{
    uint64_t lengths = hps_rng_key(0, opt->files);

    if (data->files.n == 1 || !opt->shuffle) return hps_mem_text(opt->shuffle ? "true" : "false");
    for (int f = 0; f < data->files.n; f++)
        lengths = hps_rng_sub(lengths, (uint64_t)data->file[f]->N);
    return hps_mem_print("true, %d files %s (%016llx)", data->files.n, opt->files,
                         (unsigned long long)lengths);
}
