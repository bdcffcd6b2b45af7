/* stall.c - reports of ranks, a file each, and the line that summarises them. */
#include "life/stall.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/folder.h"
#include "base/mem.h"

/* ---- the reports ---- */

static char *file_of(const char *folder, int rank)
{
    return hps_mem_print("%s/%d", folder, rank);
}

void hps_stall_put(const char *folder, int rank, const struct hps_stall_report *w)
{
    char *path = file_of(folder, rank), *part = hps_mem_print("%s.part", path);
    char *text = hps_mem_print("%lld\n%s\n%s\n%s\n", w->step, w->region, w->waits_for, w->killed);

    mkdir(folder, 0777);
    if (hps_folder_is(folder)) hps_file_replace(path, part, text);
    hps_mem_free(text);
    hps_mem_free(part);
    hps_mem_free(path);
}

void hps_stall_remove(const char *folder, int rank)
{
    char *path = file_of(folder, rank);

    if (hps_folder_is(folder)) unlink(path);
    rmdir(folder); /* fails while other ranks have a report there */
    hps_mem_free(path);
}

bool hps_stall_any(const char *folder)
{
    return access(folder, F_OK) == 0;
}

/* Read a line, without its end. */
static bool line(FILE *f, char *to, size_t size)
{
    if (!fgets(to, (int)size, f)) return false;
    to[strcspn(to, "\n")] = 0;
    return true;
}

static void read_word(const char *folder, int rank, struct hps_stall_report *w)
{
    char *path = file_of(folder, rank), number[32];
    int fd = hps_file_open(path, O_RDONLY);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

    *w = (struct hps_stall_report){ false };
    if (f && line(f, number, sizeof number) && line(f, w->region, sizeof w->region) &&
        line(f, w->waits_for, sizeof w->waits_for) && line(f, w->killed, sizeof w->killed)) {
        w->step = strtoll(number, NULL, 10);
        w->answered = true;
    }
    if (f)
        fclose(f);
    else if (fd >= 0)
        close(fd);
    hps_mem_free(path);
}

int hps_stall_first(const char *folder, int R)
{
    for (int r = 0; r < R; r++) {
        char *path = file_of(folder, r);
        bool there = access(path, F_OK) == 0;
        hps_mem_free(path);
        if (there) return r;
    }
    return -1;
}

void hps_stall_get(const char *folder, int R, struct hps_stall_report *word)
{
    for (int r = 0; r < R; r++)
        read_word(folder, r, &word[r]);
}

void hps_stall_clear(const char *folder)
{
    DIR *d = hps_folder_is(folder) ? opendir(folder) : NULL;

    if (!d) return;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    rmdir(folder);
}

/* ---- the line ---- */

void hps_stall_ranks(char *to, size_t size, int n, const int *rank)
{
    size_t at = 0;

    *to = 0;
    for (int i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n && rank[j] == rank[j - 1] + 1; j++)
            ;
        char one[32];
        int k = j - i > 1 ? snprintf(one, sizeof one, "%d-%d", rank[i], rank[j - 1])
                          : snprintf(one, sizeof one, "%d", rank[i]);
        if (at + (size_t)k + 5 >= size) {
            snprintf(to + at, size - at, "...");
            return;
        }
        at += (size_t)snprintf(to + at, size - at, "%s%s", i ? "," : "", one);
    }
}

enum kind { SILENT, ALONE, WAITS, KINDS };

static enum kind kind_of(const struct hps_stall_report *w)
{
    return !w->answered ? SILENT : *w->waits_for ? WAITS : ALONE;
}

/* Is a rank in a list like "0-3,5"? */
static bool lists(const char *list, int rank)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        long a = strtol(list, &end, 10), b = a;
        if (*end == '-') b = strtol(end + 1, &end, 10);
        if (a <= rank && rank <= b) return true;
        list = *end ? end + 1 : end;
    }
    return false;
}

bool hps_stall_killed(int R, const struct hps_stall_report *word, int rank)
{
    for (int r = 0; r < R; r++)
        if (lists(word[r].killed, rank)) return true;
    return false;
}

/* The ranks that a rank waits for; where some of them do not answer or do not wait, those alone. */
static void describe_peers(int R, const struct hps_stall_report *word, int r, char *to, size_t size)
{
    int *who = hps_mem_new((size_t)R, sizeof *who), n = 0;

    for (int i = 0; i < R; i++)
        if (kind_of(&word[i]) != WAITS && lists(word[r].waits_for, i)) who[n++] = i;
    if (n > 0)
        hps_stall_ranks(to, size, n, who);
    else
        snprintf(to, size, "%s", word[r].waits_for);
    hps_mem_free(who);
}

/* Append "; rank 1 on node ..." to the text, which is freed; `waits_for`: the ranks it waits
 * for. */
static char *add_who(char *text, int r, const char *host, const struct hps_stall_report *w,
                     const char *waits_for)
{
    char *more =
        kind_of(w) == ALONE
            ? hps_mem_print("%s; rank %d on %s is in %s", text, r, host, w->region)
            : hps_mem_print("%s; rank %d on %s waits in %s for rank%s %s", text, r, host,
                            w->region, strpbrk(waits_for, "-,.") ? "s" : "", waits_for);
    hps_mem_free(text);
    return more;
}

static char *add(char *text, int R, const struct hps_stall_report *word, int r, const char *host)
{
    char waits_for[sizeof word->waits_for] = "";

    if (word[r].answered) {
        if (kind_of(&word[r]) == WAITS) describe_peers(R, word, r, waits_for, sizeof waits_for);
        return add_who(text, r, host, &word[r], waits_for);
    }
    char *more = hps_mem_print("%s; rank %d on %s %s", text, r, host,
                               hps_stall_killed(R, word, r) ? "was killed" : "does not answer");
    hps_mem_free(text);
    return more;
}

char *hps_stall_text_alone(int rank, const char *host, const struct hps_stall_report *w)
{
    char *text = add_who(hps_mem_print("after step %lld", w->step), rank, host, w, w->waits_for);

    if (!*w->killed) return text;
    char *more = hps_mem_print("%s; killed were %s", text, w->killed);
    hps_mem_free(text);
    return more;
}

static char *add_kind(char *text, int R, const struct hps_stall_report *word,
                      const char (*host)[HPS_STALL_HOST], enum kind kind)
{
    static const char *const what[] = { "do not answer", "wait for nobody", "wait" };
    int n = 0;

    for (int r = 0; r < R; r++)
        if (kind_of(&word[r]) == kind && n++ < HPS_STALL_NAMED)
            text = add(text, R, word, r, host[r]);
    if (n <= HPS_STALL_NAMED) return text;
    char *more = hps_mem_print("%s; %d more %s", text, n - HPS_STALL_NAMED, what[kind]);
    hps_mem_free(text);
    return more;
}

char *hps_stall_text(int R, const struct hps_stall_report *word, const char (*host)[HPS_STALL_HOST])
{
    long long min_step = -1;
    bool all_wait = R > 1;

    for (int r = 0; r < R; r++) {
        if (word[r].answered && (min_step < 0 || word[r].step < min_step)) min_step = word[r].step;
        all_wait = all_wait && kind_of(&word[r]) == WAITS;
    }
    char *text = hps_mem_print("after step %lld%s", min_step,
                               all_wait ? "; all wait: a message does not arrive" : "");
    for (int kind = SILENT; kind < KINDS; kind++)
        text = add_kind(text, R, word, host, (enum kind)kind);
    return text;
}
