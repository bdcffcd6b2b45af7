/* report.c - writes the report at the end of a run, and prints it again from its files. */
#include "train/report.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/mpi_check.h"
#include "base/say.h"
#include "train/report/report_impl.h"

/* The earlier report of this run, to add to; NULL: there is none, or, with a message, it cannot be
 * read. */
static json_t *earlier(const char *path)
{
    enum { MAX_BYTES = 256 << 20 };
    size_t length = 0;
    char *text = NULL;
    json_t *old = NULL;
    bool there = hps_file_fits(path) && access(path, F_OK) == 0;
    const char *why = there || errno == ENOENT ? NULL : hps_file_why(errno);

    if (there && !hps_file_read(&text, &length, MAX_BYTES, path)) why = hps_file_why(errno);
    if (text) old = json_loadb(text, length, 0, NULL);
    hps_mem_free(text);
    if (strcmp(hps_report_word(old, "format"), "heterps-report-1") == 0) return old;
    json_decref(old);
    if (there && !why) why = "it is no report";
    if (why) HPS_SAY(HPS_WARN, "%s: %s: the new report is of this start alone", path, why);
    return NULL;
}

/* Rank 0: print the table, write report.json, decide whether perf.h5 is kept. *text to free. */
static enum hps_status tell(const struct hps_report_input *f, const struct hps_report_counts *c,
                            const char *json_path, const char *perf_path, char **text, bool *keep)
{
    json_t *old = earlier(json_path), *report = hps_report_json(f, c, old);
    char *table = hps_report_table(report);

    *keep = old && f->start.seconds == 0 && access(perf_path, R_OK) == 0;
    json_decref(old);
    hps_out("\n%s", table);
    hps_mem_free(table);
    *text = hps_json_text(report);
    enum hps_status s = hps_file_save(json_path, *text), out = hps_out_flush();
    return s ? s : out;
}

enum hps_status hps_report_write(const struct hps_report_input *facts, MPI_Comm world)
{
    struct hps_report_counts *c = hps_report_gather(facts->plans.before, world);
    char *json_path = NULL, *perf_path = NULL, *text = NULL;
    enum hps_status s = HPS_OK, dumped = HPS_OK;
    bool keep = false;

    if (c) {                                    /* rank 0 */
        json_path = hps_mem_print("%s/report.json", facts->directory);
        perf_path = hps_mem_print("%s/perf.h5", facts->directory);
        s = tell(facts, c, json_path, perf_path, &text, &keep);
    }
    if (world != MPI_COMM_NULL) HPS_MPI(MPI_Bcast(&keep, 1, MPI_C_BOOL, 0, world));
    if (!keep) dumped = hps_report_dump(facts, c, text, perf_path, world);
    hps_mem_free(text);
    hps_mem_free(perf_path);
    hps_mem_free(json_path);
    hps_report_counts_free(c);
    s = hps_agree(world, s);
    return s ? s : dumped;
}

/* Does report.json have the parts of a report? */
static enum hps_status load(json_t **report, const char *path)
{
    static const char *const lists[] = { "regions", "stages", "types",
                                         "idle",    "layers", "plans" };
    enum hps_status s = hps_json_load(report, path, "heterps-report-1");

    if (s) return s;
    struct hps_json_at at = { path, "", *report };
    bool good = true;
    for (size_t i = 0; good && i < sizeof lists / sizeof *lists; i++)
        good = hps_json_get_list(&at, lists[i]) != NULL;
    if (good && !json_is_object(json_object_get(*report, "plan")))
        good = hps_json_wrong(&at, "plan", "must be an object");
    if (good && hps_report_whole(*report, "steps") < 0)
        good = hps_json_wrong(&at, "steps", "must be a whole number");
    if (good) return HPS_OK;
    json_decref(*report);
    return HPS_DECK;
}

static enum hps_status show_json(json_t *report, const char *to)
{
    char *text = hps_json_text(json_incref(report));
    enum hps_status s = HPS_OK;

    if (strcmp(to, "-") == 0)
        hps_out("%s", text);
    else
        s = hps_json_write(to, text);
    hps_mem_free(text);
    return s;
}

static enum hps_status show_html(const json_t *report, const char *perf_path, const char *to)
{
    struct hps_perf *perf;
    enum hps_status s = hps_perf_read(&perf, perf_path);

    if (s) return s;
    char *page = hps_report_html(report, perf);
    s = hps_json_write(to, page);
    hps_mem_free(page);
    hps_perf_free(perf);
    return s;
}

/* A run that is running or was killed has a status and no report. */
static bool unfinished(const char *directory, const char *report)
{
    char *path = hps_mem_print("%s/status.json", directory);
    bool look = access(report, F_OK) != 0 && errno == ENOENT && hps_file_fits(path);
    json_t *status = look ? json_load_file(path, 0, NULL) : NULL;
    const char *state = json_string_value(json_object_get(status, "state"));
    long long step = json_integer_value(json_object_get(status, "step"));
    long long steps = json_integer_value(json_object_get(status, "steps"));

    if (state)
        HPS_SAY(HPS_ERROR, "%s has no report yet: the run is '%s', step %lld of %lld; the report "
                           "is written when it stops or ends",
                directory, state, step, steps);
    json_decref(status);
    hps_mem_free(path);
    return state;
}

/* A file of the run directory must be regular, or missing. */
static enum hps_status check_own(const char *path)
{
    if (hps_file_fits(path)) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: cannot be read: %s", path, hps_file_why(errno));
    return HPS_INPUT;
}

enum hps_status hps_report_show(const char *directory, const char *json, const char *html,
                                const char *trace)
{
    json_t *report;
    struct stat st;

    if (stat(directory, &st) != 0 || !S_ISDIR(st.st_mode)) {
        HPS_SAY(HPS_ERROR, "%s: there is no such run directory", directory);
        return HPS_INPUT;
    }
    char *json_path = hps_mem_print("%s/report.json", directory);
    char *perf_path = hps_mem_print("%s/perf.h5", directory);
    enum hps_status s = check_own(json_path);
    if (!s) s = check_own(perf_path);
    if (!s) s = unfinished(directory, json_path) ? HPS_INPUT : load(&report, json_path);
    if (!s) {
        if (!json || strcmp(json, "-") != 0) {
            char *table = hps_report_table(report);
            hps_out("%s", table);
            hps_mem_free(table);
        }
        if (json) s = show_json(report, json);
        if (!s && html) s = show_html(report, perf_path, html);
        if (!s && trace) s = hps_report_trace(perf_path, trace);
        json_decref(report);
    }
    hps_mem_free(perf_path);
    hps_mem_free(json_path);
    return s ? s : hps_out_flush();
}
