/* rundir.c - the directory of a run: made, locked, cleaned of incomplete files. */
#include "life/rundir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/world.h"
#include "life/status_file.h"

const struct hps_field hps_run_fields[] = {
    HPS_FIELD(hps_run_opt, name, HPS_TEXT, "run", 0, 0, "", "names the run and its directory"),
    HPS_FIELD(hps_run_opt, seed, HPS_INT, "1", 0, 2147483647, "", "of weights, order and dropout"),
    HPS_FIELD(hps_run_opt, directory, HPS_TEXT, "", 0, 0, "",
              "where the run writes; empty: runs/NAME"),
    HPS_FIELD(hps_run_opt, threads, HPS_INT, "0", 0, 512, "",
              "threads of a rank; 0: its share of the host's cores"),
    HPS_FIELD(hps_run_opt, ranks_per_gpu, HPS_INT, "1", 0, 64, "",
              "ranks of a host that compute on one GPU; the rest on their cores. 0: all do that"),
    HPS_FIELD(hps_run_opt, max_seconds, HPS_REAL, "0", 0, 1e9, "s",
              "stop with a checkpoint after this long; 0: no limit"),
    HPS_FIELD(hps_run_opt, stall_seconds, HPS_REAL, "300", 0, 1e6, "s",
              "end the run when a rank makes no progress for so long; 0: never"),
    HPS_FIELD(hps_run_opt, rank_logs, HPS_BOOL, "false", 0, 1, "",
              "every rank keeps a log of its own, log.RANK, beside rank 0's"),
    HPS_FIELD(hps_run_opt, emulate_bf16, HPS_BOOL, "false", 0, 1, "",
              "for tests: products of bf16 by fp32 ones of rounded numbers, on any CPU"),
    { 0 }
};

static enum hps_status refuse(const char *path, const char *why)
{
    HPS_SAY(HPS_ERROR, "%s: %s: a run writes here, take it away", path, why);
    return HPS_OUTPUT;
}

/* The files that a run uses in its directory, beside the lock. */
static const char *const own[] = { "deck.yaml", "pool.json",   "profile.json", "plan.json", "log",
                                   "status.json", "report.json", "perf.h5",    "stop" };
enum { NOWN = sizeof own / sizeof *own };

/* Check beforehand that these names are free or regular files. */
static enum hps_status check_names(const struct hps_rundir *dir)
{
    enum hps_status st = HPS_OK;

    for (size_t i = 0; !st && i < NOWN; i++) {
        char *path = hps_rundir_file(dir, own[i]);
        if (!hps_file_fits(path)) st = refuse(path, hps_file_why(errno));
        hps_mem_free(path);
    }
    char *stall = hps_rundir_file(dir, ".stall");
    if (!st && !hps_folder_is(stall) && errno != ENOENT) st = refuse(stall, "not a folder");
    hps_mem_free(stall);
    return st;
}

/* Is this an incomplete file of a run: NAME.part, or status.json.RANK.part (record_exit)? */
static bool is_half(const char *name)
{
    int rank, end = 0;

    if (sscanf(name, "status.json.%d.part%n", &rank, &end) == 1 && end > 0 && !name[end])
        return true;
    for (size_t i = 0; i < NOWN; i++) {
        size_t n = strlen(own[i]);
        if (strncmp(name, own[i], n) == 0 && strcmp(name + n, ".part") == 0) return true;
    }
    return false;
}

/* Remove files that a killed run left incomplete. All other files are the user's, since
 * run.directory may be any folder. */
static void drop_half(void *dir, const char *name)
{
    char *path = is_half(name) ? hps_rundir_file(dir, name) : NULL;

    if (path) unlink(path);
    hps_mem_free(path);
}

static enum hps_status take(struct hps_rundir *dir)
{
    if (hps_folder_make(dir->path) != 0) {
        HPS_SAY(HPS_ERROR, "cannot make the run directory %s: %s", dir->path, strerror(errno));
        return HPS_OUTPUT;
    }
    enum hps_status st = hps_lock_take(&dir->lock, dir->path);
    if (!st) st = check_names(dir);
    if (st) return st;
    hps_folder_list(dir->path, dir, drop_half); /* a failure does not matter */
    char *log = hps_rundir_file(dir, "log");
    st = hps_say_log(log);
    hps_mem_free(log);
    return st;
}

char *hps_rundir_path(const struct hps_run_opt *opt)
{
    return opt->directory[0] ? hps_mem_text(opt->directory) : hps_mem_print("runs/%s", opt->name);
}

static enum hps_status start_log(const struct hps_rundir *dir)
{
    char *name = hps_mem_print("log.%d", hps_rank()), *path = hps_rundir_file(dir, name);
    enum hps_status st = hps_say_log(path);

    hps_mem_free(path);
    hps_mem_free(name);
    return st;
}

/* The status of a run that a rank aborts: the last one, with the state `failed`. */
static char *status_path;

static void record_exit(enum hps_status status)
{
    json_t *tree = hps_file_fits(status_path) ? json_load_file(status_path, 0, NULL) : NULL;
    char *part = hps_mem_print("%s.%d.part", status_path, hps_rank());

    json_object_set_new(tree, "state", json_string("failed"));
    json_object_set_new(tree, "exit_code", json_integer(status));
    json_object_set_new(tree, "time_s", json_integer((json_int_t)time(NULL)));
    char *text = json_dumps(tree, JSON_PRESERVE_ORDER);
    if (text) hps_status_write(status_path, part, text);
}

enum hps_status hps_rundir_open(struct hps_rundir *dir, const struct hps_run_opt *opt,
                                MPI_Comm world)
{
    dir->path = hps_rundir_path(opt);
    dir->lock = NULL;
    enum hps_status st = hps_agree(world, hps_rank() == 0 ? take(dir) : HPS_OK);
    if (!st && opt->rank_logs) st = hps_agree(world, hps_rank() ? start_log(dir) : HPS_OK);
    if (st) return st;
    status_path = hps_rundir_file(dir, "status.json");
    hps_on_quit(record_exit);
    return HPS_OK;
}

void hps_rundir_close(struct hps_rundir *dir)
{
    if (!dir->path) return;
    hps_on_quit(NULL);
    hps_mem_free(status_path);
    status_path = NULL;
    hps_say_log(NULL);
    hps_lock_free(dir->lock);
    hps_mem_free(dir->path);
    *dir = (struct hps_rundir){ NULL, NULL };
}

char *hps_rundir_file(const struct hps_rundir *dir, const char *name)
{
    return name[0] == '/' ? hps_mem_text(name) : hps_mem_print("%s/%s", dir->path, name);
}

enum hps_status hps_rundir_put(const struct hps_rundir *dir, const char *name, const char *text)
{
    char *path = hps_rundir_file(dir, name);
    enum hps_status st = hps_file_save(path, text);

    hps_mem_free(path);
    return st;
}

static json_t *count(long long n)
{
    return n < 0 ? json_null() : json_integer((json_int_t)n);
}

enum hps_status hps_rundir_status(const struct hps_rundir *dir, const struct hps_rundir_state *s,
                                  enum hps_level level)
{
    const char *job = getenv("SLURM_JOB_ID");

    if (hps_rank() != 0) return HPS_OK;
    json_t *tree = json_pack(
        "{ss ss sI sI so so so so so so sI si so so}", "format", "heterps-status-1", "state",
        s->state, "step", (json_int_t)s->step, "steps", (json_int_t)s->steps, "loss",
        hps_json_real(s->loss), "examples_s", hps_json_real(s->examples_s), "left_s",
        hps_json_real(s->left_s), "checkpoint_step", count(s->checkpoint), "checkpoint_time_s",
        count(s->checkpoint_time_s), "exit_code", count(s->exit_code), "time_s",
        (json_int_t)time(NULL), "ranks", hps_nrank(), "host", hps_json_word(hps_host()),
        "job", job ? hps_json_word(job) : json_null());
    char *text = json_dumps(tree, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17));
    char *path = hps_rundir_file(dir, "status.json"), *part = hps_mem_print("%s.part", path);
    bool good = hps_status_write(path, part, text ? text : "{}");
    if (!good) HPS_SAY(level, "cannot write %s: %s", path, hps_file_why(errno));
    hps_mem_free(part);
    hps_mem_free(path);
    free(text);
    json_decref(tree);
    return good ? HPS_OK : HPS_OUTPUT;
}
