#include "jobs/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/say.h"

#define FORMAT "heterps-journal-1"

struct hps_journal {
    char *path;
    int fd;
};

/* ---- reading ---- */

/* The object of a line, NULL where it is none or lacks what each record has. */
static json_t *record_of(const char *line, size_t length)
{
    json_error_t error;
    json_t *record = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    const json_t *t = json_object_get(record, "t");

    if (json_is_number(t) && json_number_value(t) >= 0 &&
        json_is_string(json_object_get(record, "event")))
        return record;
    json_decref(record);
    return NULL;
}

/* The first line of a journal says that it is one. */
static bool is_journal(const char *text, const char *end)
{
    const char *line = memchr(text, '\n', (size_t)(end - text));
    json_error_t error;
    json_t *first = line ? json_loadb(text, (size_t)(line - text), 0, &error) : NULL;
    const char *format = json_string_value(json_object_get(first, "format"));
    bool is = format && strcmp(format, FORMAT) == 0;

    json_decref(first);
    return is;
}

/* Visits the whole records of a text; *whole [out]: the bytes until the first damaged one. */
static enum hps_status visit_all(const char *path, const char *text, size_t length,
                                 const struct hps_journal_visitor *visitor, size_t *whole)
{
    const char *end = text + length, *at = memchr(text, '\n', length);
    enum hps_status st = HPS_OK;
    int records = 0;

    for (at++; at < end && !st; records++) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        json_t *record = line ? record_of(at, (size_t)(line - at)) : NULL;
        if (!record) {
            HPS_SAY(HPS_WARN, "%s: line %d is damaged: the %d records before it count", path,
                    records + 2, records);
            break;
        }
        st = visitor->visit(visitor->context, record);
        json_decref(record);
        at = line + 1;
    }
    *whole = (size_t)(at - text);
    return st;
}

static enum hps_status read_text(const char *path, const char *text, size_t length,
                                 const struct hps_journal_visitor *visitor, size_t *whole)
{
    if (is_journal(text, text + length)) return visit_all(path, text, length, visitor, whole);
    HPS_SAY(HPS_ERROR, "%s: is no journal: its first line has not the format %s", path, FORMAT);
    return HPS_DECK;
}

enum hps_status hps_journal_read(const char *path, const struct hps_journal_visitor *visitor)
{
    size_t length, whole;
    char *text;
    enum hps_status st = hps_json_read(&text, &length, path);

    if (st) return st;
    st = read_text(path, text, length, visitor, &whole);
    hps_mem_free(text);
    return st;
}

/* ---- writing ---- */

static enum hps_status cannot(const struct hps_journal *j, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s: cannot be %s: %s", j->path, what, strerror(errno));
    return HPS_OUTPUT;
}

static enum hps_status write_all(const struct hps_journal *j, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(j->fd, text, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot(j, "written");
        text += n;
        length -= (size_t)n;
    }
    return fsync(j->fd) == 0 ? HPS_OK : cannot(j, "written");
}

/* Removes what is damaged, into a file beside it. */
static enum hps_status cut(const struct hps_journal *j, const char *rest, size_t whole)
{
    char *aside = hps_mem_print("%s.damaged", j->path);
    enum hps_status st = hps_json_write(aside, rest);

    hps_mem_free(aside);
    if (!st && ftruncate(j->fd, (off_t)whole) != 0) st = cannot(j, "cut");
    return st;
}

/* What the file has; one of a controller that was killed before its first line was whole is new. */
static enum hps_status begin(struct hps_journal *j, const struct hps_journal_visitor *visitor)
{
    static const char first[] = "{\"format\": \"" FORMAT "\"}\n";
    size_t length, whole = 0;
    char *text;
    enum hps_status st = hps_json_read(&text, &length, j->path);

    if (st) return st;
    if (length < sizeof first - 1 && strncmp(text, first, length) == 0) {
        if (ftruncate(j->fd, 0) != 0) st = cannot(j, "cut");
        if (!st) st = write_all(j, first, sizeof first - 1);
        if (!st && !hps_folder_sync_of(j->path)) st = cannot(j, "written");
    } else {
        st = read_text(j->path, text, length, visitor, &whole);
        if (!st && whole < length) st = cut(j, text + whole, whole);
    }
    hps_mem_free(text);
    return st;
}

enum hps_status hps_journal_open(struct hps_journal **journal, const char *path,
                                 const struct hps_journal_visitor *visitor)
{
    struct hps_journal *j = hps_mem_new(1, sizeof *j);

    j->path = hps_mem_text(path);
    j->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    enum hps_status st = j->fd < 0 ? cannot(j, "opened") : begin(j, visitor);
    *journal = st ? NULL : j;
    if (st) hps_journal_close(j);
    return st;
}

enum hps_status hps_journal_add(struct hps_journal *journal, double t, const char *event,
                                json_t *fields)
{
    json_t *record = json_object();

    json_object_set_new(record, "t", json_real(t));
    json_object_set_new(record, "event", json_string(event));
    if (fields) json_object_update(record, fields);
    json_decref(fields);
    char *text = json_dumps(record, JSON_REAL_PRECISION(17));
    json_decref(record);
    char *line = hps_mem_print("%s\n", text);
    free(text);
    enum hps_status st = write_all(journal, line, strlen(line));
    hps_mem_free(line);
    return st;
}

void hps_journal_close(struct hps_journal *journal)
{
    if (!journal) return;
    if (journal->fd >= 0) close(journal->fd);
    hps_mem_free(journal->path);
    hps_mem_free(journal);
}
