/* ckpt.c - the files of checkpoints: lists, checks, removes them; ckpt_state.c has their
 * content. */
#include "train/ckpt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deck_lines.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/h5.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "base/world.h"
#include "train/ckpt_state.h"

const struct hps_field hps_ckpt_fields[] = {
    HPS_FIELD(hps_ckpt_opt, directory, HPS_TEXT, "checkpoint", 0, 0, "",
              "inside the run's directory, unless absolute"),
    HPS_FIELD(hps_ckpt_opt, interval_steps, HPS_LONG, "0", 0, 1e15, "steps",
              "save every so many; 0: never"),
    HPS_FIELD(hps_ckpt_opt, interval_seconds, HPS_REAL, "600", 0, 1e9, "s",
              "save so often; 0: never"),
    HPS_FIELD(hps_ckpt_opt, keep, HPS_INT, "2", 1, 1000000, "files", "the newest stay"),
    { 0 }
};

/* The optimizer of layer l where it is not that of the section `train`; NULL: it is, or l has no
 * weights. */
static const char *optimizer_of(const struct hps_net *net, int l, const struct hps_train_opt *train)
{
    const struct hps_layer *y = &net->layer[l];
    const struct hps_opt_override *override =
        y->table >= 0 ? &net->table[y->table].override : &y->override;
    struct hps_opt_override none = { .table = override->table };
    const char *name = hps_opt_name(train, override);

    if (y->table < 0 && y->nparam == 0) return NULL;
    return strcmp(name, hps_opt_name(train, &none)) == 0 ? NULL : name;
}

char *hps_ckpt_shape(const struct hps_net *net, const struct hps_steps *steps,
                     const struct hps_train_opt *train, uint64_t seed, const char *order)
{
    struct hps_opt_override rows = { .table = true };
    char *text =
        hps_mem_print("run.seed %llu\ndata.train %lld examples\ndata.batch %lld\ndata.shuffle %s\n"
                      "train.optimizer %s\ntrain.table_optimizer %s\n",
                      (unsigned long long)seed, steps->N, steps->batch, order,
                      train->optimizer, hps_opt_name(train, &rows));
    for (int l = 0; l < net->L; l++) {
        const char *mine = optimizer_of(net, l, train);
        if (mine) {
            char *more = hps_mem_print("%smodel.%s.optimizer %s\n", text, net->layer[l].name, mine);
            hps_mem_free(text);
            text = more;
        }
    }
    for (int l = 0; l < net->L; l++) {
        const struct hps_layer *y = &net->layer[l];
        char *more = hps_mem_print("%slayer %s: %s, width %d, %zu weights\n", text, y->name,
                                   y->type->name, y->width, y->nparam);
        hps_mem_free(text);
        text = more;
    }
    for (int t = 0; t < net->ntable; t++) {
        char *more = hps_mem_print("%stable %s: %lld rows of %d\n", text, net->table[t].name,
                                   net->table[t].rows, net->table[t].dim);
        hps_mem_free(text);
        text = more;
    }
    return text;
}

char *hps_ckpt_course(const struct hps_deck *deck, const struct hps_train_opt *train,
                      const struct hps_steps *steps)
{
    static const char *const harmless[] = { "data.train", "data.test", "data.prefetch",
                                            "train.epochs", "train.steps", "train.workers",
                                            "train.record", "train.interleaving",
                                            "train.eval_interval_steps",
                                            "train.log_interval_seconds", "train.precision",
                                            NULL };
    char *data = hps_deck_lines(deck, "data", hps_data_fields, harmless);
    char *how = hps_deck_lines(deck, "train", hps_train_fields, harmless);
    char *model = hps_deck_lines(deck, "model", NULL, NULL);
    bool to_the_end = strcmp(train->decay, "none") != 0 && train->decay_steps == 0;
    char *end = to_the_end ? hps_mem_print("train.steps %lld in all\n", steps->total)
                           : hps_mem_text("");
    char *text = hps_mem_print("%s%s%s%s", data, how, end, model);

    hps_mem_free(data);
    hps_mem_free(how);
    hps_mem_free(model);
    hps_mem_free(end);
    return text;
}

char *hps_ckpt_folder(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir)
{
    return hps_rundir_file(dir, opt->directory);
}

char *hps_ckpt_path(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir, long long step)
{
    char *folder = hps_ckpt_folder(opt, dir);
    char *path = hps_mem_print("%s/step_%09lld.h5", folder, step);
    hps_mem_free(folder);
    return path;
}

static int newest_first(const void *a, const void *b)
{
    long long x = *(const long long *)a, y = *(const long long *)b;
    return (x < y) - (x > y);
}

struct steps {
    long long *step;
    size_t cap;
    int n;
};

static void take_step(void *steps, const char *name)
{
    struct steps *s = steps;
    long long step;
    int end = 0;

    if (sscanf(name, "step_%lld.h5%n", &step, &end) != 1 || end == 0 || name[end]) return;
    hps_mem_grow(&s->step, &s->cap, (size_t)s->n + 1, sizeof *s->step);
    s->step[s->n++] = step;
}

/* The steps with a complete file in the folder; a missing folder has none. False with errno: the
 * folder cannot be read. */
static bool look(const char *folder, struct steps *s)
{
    bool good = hps_folder_list(folder, s, take_step) || errno == ENOENT || errno == ENOTDIR;

    if (s->n) qsort(s->step, (size_t)s->n, sizeof *s->step, newest_first);
    return good;
}

/* Rank 0. */
static enum hps_status find_steps(const char *folder, struct steps *s)
{
    if (look(folder, s)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "the checkpoints in %s cannot be listed: %s", folder, strerror(errno));
    return HPS_INPUT;
}

enum hps_status hps_ckpt_list(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                              long long **steps, int *n, MPI_Comm world)
{
    struct steps s = { 0 };
    char *folder = hps_ckpt_folder(opt, dir);
    enum hps_status st = hps_agree(world, hps_rank() == 0 ? find_steps(folder, &s) : HPS_OK);

    hps_mem_free(folder);
    if (st) s.n = 0;
    HPS_MPI(MPI_Bcast(&s.n, 1, MPI_INT, 0, world));
    hps_mem_grow(&s.step, &s.cap, (size_t)s.n, sizeof *s.step);
    if (s.n) HPS_MPI(MPI_Bcast(s.step, s.n, MPI_LONG_LONG, 0, world));
    *steps = s.step;
    *n = s.n;
    return st;
}

void hps_ckpt_remove_old(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                         long long step, bool only_this)
{
    char *folder = hps_ckpt_folder(opt, dir);
    struct steps s = { 0 };
    int nkept = 0;

    look(folder, &s); /* files that it misses stay until the next time */
    for (int i = 0; i < s.n; i++) {
        bool stays = only_this ? s.step[i] == step : s.step[i] <= step && nkept < opt->keep;
        nkept += stays;
        if (stays) continue;
        char *path = hps_ckpt_path(opt, dir, s.step[i]);
        unlink(path);
        hps_mem_free(path);
    }
    hps_mem_free(s.step);
    hps_mem_free(folder);
}

enum hps_status hps_ckpt_unwritable(const char *folder)
{
    HPS_SAY_ALL(HPS_ERROR, "cannot write checkpoints into %s: %s", folder, hps_file_why(errno));
    return HPS_OUTPUT;
}

enum hps_status hps_ckpt_make_folder(const char *folder)
{
    if (hps_folder_make(folder) == 0 && access(folder, W_OK | X_OK) == 0) return HPS_OK;
    return hps_ckpt_unwritable(folder);
}

double hps_ckpt_bytes(const struct hps_net *net, const struct hps_train_opt *train)
{
    double sum = 65536;

    for (int l = 0; l < net->L; l++) {
        struct hps_rule rule = hps_opt_rule(train, &net->layer[l].override, hps_update_of(0, 1));
        sum += (double)net->layer[l].nparam * (1 + rule.nstate) * sizeof(float);
    }
    for (int t = 0; t < net->ntable; t++) {
        struct hps_rule rule = hps_opt_rule(train, &net->table[t].override, hps_update_of(0, 1));
        size_t row = hps_rule_stride(&rule, net->table[t].dim) * sizeof(float);
        sum += (double)net->table[t].rows * (double)row;
    }
    return sum;
}

/* Is there space? Checked beforehand: a full disk would fail all ranks late in a write. */
static enum hps_status check_space(const char *folder, double need)
{
    struct statvfs fs;
    struct rlimit most;
    double have;

    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY &&
        (double)most.rlim_cur < need) {
        HPS_SAY(HPS_ERROR, "no space for %s: a checkpoint needs %.3g MB, a file may have %.3g MB "
                           "(ulimit -f)",
                folder, need * 1e-6, (double)most.rlim_cur * 1e-6);
        return HPS_OUTPUT;
    }
    if (statvfs(folder, &fs) != 0) return HPS_OK;
    have = (double)fs.f_bavail * (double)fs.f_frsize;
    if (have >= need) return HPS_OK;
    HPS_SAY(HPS_ERROR, "no space left in %s: a checkpoint needs %.3g MB, there are %.3g MB", folder,
            need * 1e-6, have * 1e-6);
    return HPS_OUTPUT;
}

/* Remove .part files of a run that was killed: the lock guarantees that nobody is writing them. */
static void clear_parts(const char *folder)
{
    DIR *d = opendir(folder);
    if (!d) return;
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        long long step;
        int end = 0;
        if (sscanf(e->d_name, "step_%lld.h5.part%n", &step, &end) == 1 && end && !e->d_name[end])
            unlinkat(dirfd(d), e->d_name, 0);
    }
    closedir(d);
}

enum hps_status hps_ckpt_ready(const struct hps_ckpt_opt *opt, const struct hps_rundir *dir,
                               double bytes, MPI_Comm world)
{
    enum hps_status st = HPS_OK;

    if (hps_rank() == 0) {
        char *folder = hps_ckpt_folder(opt, dir);
        st = hps_ckpt_make_folder(folder);
        clear_parts(folder);
        if (!st) st = check_space(folder, bytes);
        hps_mem_free(folder);
    }
    return hps_agree(world, st);
}

/* Print the first line in which two texts differ. */
static enum hps_status check_shape(const char *path, const char *have, const char *expected)
{
    while (*have && *expected) {
        size_t a = strcspn(have, "\n"), b = strcspn(expected, "\n");
        if (a != b || memcmp(have, expected, a) != 0) break;
        have += a + (have[a] != 0);
        expected += b + (expected[b] != 0);
    }
    HPS_SAY(HPS_ERROR, "%s does not fit the deck: it has '%.*s', the deck '%.*s'", path,
            (int)strcspn(have, "\n"), have, (int)strcspn(expected, "\n"), expected);
    return HPS_DECK;
}

static enum hps_status check_course(const char *path, const char *began, const char *now)
{
    struct hps_deck_change c;

    if (!hps_deck_differ(began, now, &c)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "the deck was changed: the run began with %s %s, now it is %s; put it back, "
                       "or begin with --restart never, or go on with --restart %s",
            c.key, c.before, c.now, path);
    hps_deck_change_free(&c);
    return HPS_DECK;
}

/* Files of before there was a choice have none: fp32. */
static enum hps_precision precision_of(struct hps_h5 *h)
{
    enum hps_precision is = HPS_FP32;
    char *word = NULL;

    if (!hps_h5_get_text(h, "/", "precision", &word, true))
        for (enum hps_precision p = HPS_FP32; p <= HPS_BF16; p++)
            if (strcmp(word, hps_dev_precision_word(p)) == 0) is = p;
    hps_mem_free(word);
    return is;
}

static enum hps_status get_longs(struct hps_h5 *h, const char *name, long long n, long long **x)
{
    *x = hps_mem_new((size_t)n, sizeof **x);
    return hps_h5_get(h, name, H5T_NATIVE_LLONG, 0, n, 0, *x);
}

/* The batches that were trained before their turn, and the workers' clocks. */
static enum hps_status get_done(struct hps_h5 *h, struct hps_cursor *c)
{
    enum hps_status st = hps_h5_get_long(h, "/", "ndone", &c->ndone, false);

    if (st) return st;
    if (c->ndone < 0 || c->ndone > INT_MAX || c->workers < 1 || c->workers > INT_MAX) {
        c->ndone = 0;
        return HPS_DECK;
    }
    if (c->ndone > 0) st = get_longs(h, HPS_CKPT_DONE, c->ndone, &c->done);
    if (!st && hps_h5_has(h, HPS_CKPT_NUMBER))
        st = get_longs(h, HPS_CKPT_NUMBER, c->workers, &c->number);
    return st;
}

static enum hps_status peek(struct hps_h5 *h, const char *path, const char *shape,
                            const char *course, struct hps_cursor *c, char **planning,
                            bool *damaged)
{
    char *format = NULL, *have = NULL, *began = NULL;
    enum hps_status st = hps_h5_get_text(h, "/", "format", &format, false);
    if (!st && strcmp(format, "heterps-checkpoint-1") != 0) {
        HPS_SAY(HPS_ERROR, "%s is no checkpoint: its format is '%s'", path, format);
        st = HPS_DECK;
    }
    if (!st) st = hps_h5_get_text(h, "/", "shape", &have, false);
    if (!st) st = hps_h5_get_text(h, "/", "course", &began, false);
    if (!st) st = hps_h5_get_long(h, "/", "step", &c->step, false);
    if (!st) st = hps_h5_get_long(h, "/", "examples", &c->examples, false);
    if (!st) st = hps_h5_get_long(h, "/", "updates", &c->updates, false);
    if (!st) st = hps_h5_get_long(h, "/", "workers", &c->workers, false);
    if (!st) st = hps_h5_get_long(h, "/", "next", &c->next, false);
    if (!st) st = get_done(h, c);
    if (!st) st = hps_h5_get_real(h, "/", "seconds", 1, &c->seconds, false);
    if (!st) st = hps_h5_get_real(h, "/", "usd", 1, &c->usd, false);
    if (!st) st = hps_h5_get_real(h, "/", "usd_idle", 1, &c->usd_idle, false);
    if (!st) st = hps_h5_get_real(h, "/", "train_loss", 1, &c->train_loss, false);
    if (!st) st = hps_h5_get_text(h, "/", "planning", planning, false);
    if (!st) c->precision = precision_of(h);
    *damaged = st != HPS_OK;
    if (!st && strcmp(have, shape) != 0) st = check_shape(path, have, shape);
    if (!st && course) st = check_course(path, began, course);
    if (st) {
        hps_mem_free(*planning);
        *planning = NULL;
    }
    hps_mem_free(format);
    hps_mem_free(have);
    hps_mem_free(began);
    return st;
}

static void bcast_longs(long long **x, long long n, MPI_Comm world)
{
    if (!*x) *x = hps_mem_new((size_t)n, sizeof **x);
    HPS_MPI(MPI_Bcast(*x, (int)n, MPI_LONG_LONG, 0, world));
}

static void bcast_cursor(struct hps_cursor *c, MPI_Comm world)
{
    long long *done = c->done, *number = c->number;
    bool clocks;

    HPS_MPI(MPI_Bcast(c, (int)sizeof *c, MPI_BYTE, 0, world));
    clocks = c->number != NULL;                 /* of rank 0 */
    c->done = done;
    c->number = number;
    if (c->ndone > 0) bcast_longs(&c->done, c->ndone, world);
    if (clocks) bcast_longs(&c->number, c->workers, world);
}

enum hps_status hps_ckpt_peek(const char *path, const char *shape, const char *course,
                              struct hps_cursor *cursor, char **planning, bool *damaged,
                              MPI_Comm world)
{
    enum hps_status st = HPS_OK;
    int bad = 0, length = 0;

    *planning = NULL;
    cursor->done = cursor->number = NULL;
    cursor->ndone = 0;
    if (hps_rank() == 0) {
        struct hps_h5 h;
        st = hps_h5_open(&h, path);
        *damaged = st == HPS_DECK;
        if (!st) {
            st = peek(&h, path, shape, course, cursor, planning, damaged);
            st = hps_h5_read(&h, st);
        }
        bad = *damaged;
        length = *planning ? (int)strlen(*planning) + 1 : 0;
    }
    st = hps_agree(world, st);
    HPS_MPI(MPI_Bcast(&bad, 1, MPI_INT, 0, world));
    bcast_cursor(cursor, world);
    HPS_MPI(MPI_Bcast(&length, 1, MPI_INT, 0, world));
    *damaged = bad;
    if (length && hps_rank() != 0) *planning = hps_mem_new((size_t)length, 1);
    if (length) HPS_MPI(MPI_Bcast(*planning, length, MPI_CHAR, 0, world));
    return st;
}

void hps_cursor_done(struct hps_cursor *c)
{
    hps_mem_free(c->done);
    hps_mem_free(c->number);
    c->done = c->number = NULL;
    c->ndone = 0;
}

enum hps_status hps_ckpt_load(const char *path, struct hps_step *step, MPI_Comm world)
{
    struct hps_h5 h;
    enum hps_status st = hps_agree(world, hps_h5_open(&h, path));
    if (st) return st;
    st = hps_ckpt_state_get(&h, step, world);
    return hps_agree(world, hps_h5_read(&h, st));
}
