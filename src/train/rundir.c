/* rundir.c - one directory, one run at a time. */
#include "train/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"

const struct hps_field hps_run_fields[] = {
    HPS_FIELD(hps_run_opt, name, HPS_TEXT, "run", 0, 0, "", "names the run and its directory"),
    HPS_FIELD(hps_run_opt, seed, HPS_INT, "1", 0, 2147483647, "", "of weights, order and dropout"),
    HPS_FIELD(hps_run_opt, directory, HPS_TEXT, "", 0, 0, "",
              "where the run writes; empty: runs/NAME"),
    HPS_FIELD(hps_run_opt, threads, HPS_INT, "0", 0, 512, "",
              "threads of a rank; 0: its share of the host's cores"),
    HPS_FIELD(hps_run_opt, max_seconds, HPS_REAL, "0", 0, 1e9, "s",
              "stop with a checkpoint after this long; 0: no limit"),
    HPS_FIELD(hps_run_opt, stall_seconds, HPS_REAL, "300", 0, 1e6, "s",
              "end the run when a rank makes no progress for so long; 0: never"),
    { 0 }
};

static enum hps_status take(struct hps_rundir *dir)
{
    if (hps_folder_make(dir->path) != 0) {
        HPS_SAY(HPS_ERROR, "cannot make the run directory %s: %s", dir->path, strerror(errno));
        return HPS_OUTPUT;
    }
    char *lock = hps_rundir_file(dir, ".lock");
    dir->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    hps_mem_free(lock);
    if (dir->lock < 0) {
        HPS_SAY(HPS_ERROR, "cannot write into the run directory %s: %s", dir->path,
                strerror(errno));
        return HPS_OUTPUT;
    }
    if (flock(dir->lock, LOCK_EX | LOCK_NB) != 0) {
        HPS_SAY(HPS_ERROR, "the run directory %s is in use by another run", dir->path);
        return HPS_OUTPUT;
    }
    char *log = hps_rundir_file(dir, "log");
    enum hps_status st = hps_say_log(log);
    hps_mem_free(log);
    return st;
}

char *hps_rundir_path(const struct hps_run_opt *opt)
{
    return opt->directory[0] ? hps_mem_text(opt->directory) : hps_mem_print("runs/%s", opt->name);
}

enum hps_status hps_rundir_open(struct hps_rundir *dir, const struct hps_run_opt *opt,
                                MPI_Comm world)
{
    dir->path = hps_rundir_path(opt);
    dir->lock = -1;
    return hps_agree(world, hps_rank() == 0 ? take(dir) : HPS_OK);
}

void hps_rundir_close(struct hps_rundir *dir)
{
    if (!dir->path) return;
    if (hps_rank() == 0) hps_say_log(NULL);
    if (dir->lock >= 0) close(dir->lock);
    hps_mem_free(dir->path);
    *dir = (struct hps_rundir){ .lock = -1 };
}

char *hps_rundir_file(const struct hps_rundir *dir, const char *name)
{
    return name[0] == '/' ? hps_mem_text(name) : hps_mem_print("%s/%s", dir->path, name);
}

enum hps_status hps_rundir_put(const struct hps_rundir *dir, const char *name, const char *text)
{
    char *path = hps_rundir_file(dir, name), *part = hps_mem_print("%s.part", path);
    FILE *f = fopen(part, "w");
    bool ok = f && fputs(text, f) >= 0;
    if (f && fclose(f) != 0) ok = false;
    if (ok && rename(part, path) != 0) ok = false;
    if (!ok) {
        HPS_SAY(HPS_ERROR, "cannot write %s: %s", path, strerror(errno));
        unlink(part);
    }
    hps_mem_free(path);
    hps_mem_free(part);
    return ok ? HPS_OK : HPS_OUTPUT;
}

/* JSON has no NaN: null. */
static void real(char *to, size_t size, double x)
{
    if (x - x == 0)
        snprintf(to, size, "%.17g", x);
    else
        snprintf(to, size, "null");
}

enum hps_status hps_rundir_status(const struct hps_rundir *dir, const struct hps_rundir_state *s)
{
    char loss[40], rate[40], left[40], code[40];
    if (hps_rank() != 0) return HPS_OK;
    real(loss, sizeof loss, s->loss);
    real(rate, sizeof rate, s->examples_s);
    real(left, sizeof left, s->left_s);
    snprintf(code, sizeof code, s->exit_code < 0 ? "null" : "%d", s->exit_code);
    char *text = hps_mem_print(
        "{\"format\": \"heterps-status-1\", \"state\": \"%s\", \"step\": %lld, "
        "\"steps\": %lld, \"loss\": %s, \"examples_s\": %s, \"left_s\": %s, "
        "\"exit_code\": %s, \"time_s\": %lld, \"ranks\": %d}\n",
        s->state, s->step, s->steps, loss, rate, left, code, (long long)time(NULL), hps_nrank());
    enum hps_status st = hps_rundir_put(dir, "status.json", text);
    hps_mem_free(text);
    return st;
}
