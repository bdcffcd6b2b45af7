/* start.c - finds the newest checkpoint that is intact and fits the deck. */
#include "app/start.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "app/layout.h"
#include "base/file.h"
#include "base/h5.h"
#include "base/mem.h"
#include "base/say.h"
#include "base/world.h"
#include "life/stop.h"

void hps_start_free(struct hps_start *s)
{
    for (int i = 0; i < s->n; i++) {
        hps_mem_free(s->path[i]);
        hps_mem_free(s->planning[i]);
        hps_cursor_done(&s->cursor[i]);
    }
    hps_mem_free(s->path);
    hps_mem_free(s->planning);
    hps_mem_free(s->cursor);
}

/* Check one file. Intact and fitting: it is a candidate. Damaged: it is reported and skipped,
 * unless it was requested by name. Of another shape, or the newest one of another course: an
 * error. Frees `path`. */
static enum hps_status consider(struct hps_job *j, struct hps_start *s, char *path, bool requested)
{
    bool damaged;
    enum hps_status st =
        hps_ckpt_peek(path, j->shape, requested || s->n > 0 ? NULL : j->course, &s->cursor[s->n],
                      &s->planning[s->n], &damaged, j->world);
    if (!st) {
        s->path[s->n++] = path;
        return HPS_OK;
    }
    hps_cursor_done(&s->cursor[s->n]);
    if (damaged && !requested) {
        HPS_SAY(HPS_WARN, "%s is damaged: the one before it is used", path);
        st = HPS_OK;
    }
    hps_mem_free(path);
    return st;
}

/* Files found by the run itself must be regular, or are not used. Rank 0 checks. */
static enum hps_status check_own(const char *path, MPI_Comm world)
{
    bool good = hps_rank() != 0 || hps_file_fits(path);

    if (!good)
        HPS_SAY(HPS_ERROR, "%s: cannot be read as a checkpoint: %s; --restart FILE takes any file",
                path, hps_file_why(errno));
    return hps_agree(world, good ? HPS_OK : HPS_INPUT);
}

static enum hps_status none_left(const struct hps_job *j)
{
    HPS_SAY(HPS_ERROR, "no whole checkpoint is left in %s; --restart never starts anew",
            j->dir.path);
    return HPS_DECK;
}

/* Any other word of --restart is a file name, or a misspelt word. Rank 0 checks. */
static enum hps_status check_restart(const char *path, MPI_Comm world)
{
    bool there = hps_rank() != 0 || access(path, F_OK) == 0;

    if (!there)
        HPS_SAY(HPS_ERROR, "--restart %s: it is neither auto nor never, and there is no such file",
                path);
    return hps_agree(world, there ? HPS_OK : HPS_INPUT);
}

enum hps_status hps_start_find(struct hps_start *s, struct hps_job *j, const char *restart)
{
    long long *step = NULL;
    bool file = strcmp(restart, "auto") != 0;
    int n = 1;
    enum hps_status st = file ? check_restart(restart, j->world)
                              : hps_ckpt_list(&j->o.ckpt, &j->dir, &step, &n, j->world);

    s->path = hps_mem_new((size_t)n, sizeof *s->path);
    s->planning = hps_mem_new((size_t)n + 1, sizeof *s->planning);
    s->cursor = hps_mem_new((size_t)n + 1, sizeof *s->cursor);
    for (int i = 0; !st && i < n; i++) {
        char *path = file ? hps_mem_text(restart) : hps_ckpt_path(&j->o.ckpt, &j->dir, step[i]);
        if (!file) st = check_own(path, j->world);
        if (st)
            hps_mem_free(path);
        else
            st = consider(j, s, path, file);
    }
    hps_mem_free(step);
    return !st && n > 0 && s->n == 0 ? none_left(j) : st;
}

static struct hps_start_layout read_was(struct hps_h5 *h)
{
    char *plan = NULL, *pool = NULL;
    struct hps_start_layout was = { NULL, NULL };

    if (!hps_h5_get_text(h, "/", "plan", &plan, true) &&
        !hps_h5_get_text(h, "/", "pool", &pool, true))
        was = (struct hps_start_layout){ hps_layout_text(plan, pool), hps_layout_origin(plan) };
    hps_mem_free(plan);
    hps_mem_free(pool);
    return was;
}

enum hps_status hps_start_layout(struct hps_start_layout *was, const struct hps_start *s,
                                 long long step)
{
    struct hps_h5 h;
    int i = 0;

    *was = (struct hps_start_layout){ NULL, NULL };
    while (i < s->n && s->cursor[i].step != step)
        i++;
    if (hps_rank() != 0 || i == s->n) return HPS_OK;
    enum hps_status st = hps_h5_open(&h, s->path[i]);
    if (st) return st;
    *was = read_was(&h);
    return hps_h5_read(&h, HPS_OK);
}

enum hps_status hps_start_load(const struct hps_start *s, struct hps_job *j,
                               struct hps_cursor *cursor)
{
    for (int i = 0; i < s->n; i++) {
        enum hps_status st = hps_ckpt_load(s->path[i], j->step, j->world);
        if (!st) {
            *cursor = s->cursor[i];
            HPS_SAY(HPS_INFO, "going on from %s, step %lld", s->path[i], cursor->step);
            return HPS_OK;
        }
        if (st != HPS_DECK) return st;
        HPS_SAY(HPS_WARN, "%s is damaged: the one before it is used", s->path[i]);
    }
    return s->n > 0 ? none_left(j) : HPS_OK;
}

enum hps_status hps_start_check_stop(const struct hps_start *s, const struct hps_job *j)
{
    enum hps_status st =
        hps_agree(j->world, s->n > 0 && hps_stop_urgent() ? HPS_AGAIN : HPS_OK);

    if (st)
        HPS_SAY(HPS_INFO, "stopping before the training goes on from step %lld: %s",
                s->cursor[0].step,
                hps_stop_requested() ? hps_stop_requested() : "a signal to another rank");
    return st;
}
