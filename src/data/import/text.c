/* text.c - text inputs line by line: plain files, gzip, standard input. */
#include "data/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/outputs.h"
#include "base/say.h"
#include "base/streams.h"
#include "data/unpack.h"

volatile sig_atomic_t hps_text_stop;

enum { BUFFER = 1 << 20, LOOK = 1 << 16, BEGIN = 4096 };

/* Files that are no UTF-8 text, by how they begin, and what makes such a text of them. */
static const struct {
    const char *mark;
    size_t n;
    const char *is, *todo;
} looks[] = {
    { "\xff\xfe\0\0", 4, "UTF-32", "iconv -f UTF-32 -t UTF-8" },
    { "\0\0\xfe\xff", 4, "UTF-32", "iconv -f UTF-32 -t UTF-8" },
    { "\xff\xfe", 2, "UTF-16", "iconv -f UTF-16 -t UTF-8" },
    { "\xfe\xff", 2, "UTF-16", "iconv -f UTF-16 -t UTF-8" },
    { "\x28\xb5\x2f\xfd", 4, "packed by zstd", "zstd -dc" },
    { "\xfd" "7zXZ\0", 6, "packed by xz", "xz -dc" },
    { "BZh", 3, "packed by bzip2", "bzip2 -dc" },            /* letters: see is_binary */
    { "PK\3\4", 4, "a zip archive, or a spreadsheet", "unzip -p" },
    { "\x89HDF\r\n\x1a\n", 8, "an HDF5 file", NULL },
    { "PAR1", 4, "a Parquet file", NULL },
};

static const char cr_only[] = "its lines end in \\r alone: make \\n of it (tr '\\r' '\\n')";

static enum hps_status read_some(struct hps_text *t, void *to, size_t n, size_t *got)
{
    ssize_t r;

    do {
        r = read(t->fd, to, n);
    } while (r < 0 && errno == EINTR && !hps_text_stop);
    *got = r > 0 ? (size_t)r : 0;
    if (hps_text_stop) return HPS_AGAIN;
    if (r >= 0) return HPS_OK;
    HPS_SAY(HPS_ERROR, "%s: %s", t->path, strerror(errno));
    return HPS_INPUT;
}

static enum hps_status wrong(struct hps_text *t, const char *what)
{
    HPS_SAY(HPS_ERROR, "%s:%lld: %s", t->path, t->line + 1, what);
    return HPS_DECK;
}

static enum hps_status not_text(const struct hps_text *t, const char *is, const char *todo)
{
    HPS_SAY(HPS_ERROR, "%s: this looks like %s, wanted is text in UTF-8%s%s%s", t->path, is,
            todo ? ": unpack or convert it first (" : "", todo ? todo : "", todo ? ")" : "");
    return HPS_DECK;
}

/* A text may begin with the letters of a mark, as a column's name: no text has such bytes. */
static bool is_binary(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && ((unsigned char)s[i] >= ' ' || memchr("\t\n\f\r", s[i], 4)))
        i++;
    return i < n;
}

/* Is what the buffer begins with a text? */
static enum hps_status look_at_begin(const struct hps_text *t)
{
    size_t n = t->end < BEGIN ? t->end : BEGIN;
    const char *zero;

    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (n >= looks[i].n && memcmp(t->buffer, looks[i].mark, looks[i].n) == 0 &&
            ((unsigned char)*looks[i].mark < 'A' || (unsigned char)*looks[i].mark > 'Z' ||
             is_binary(t->buffer, n)))
            return not_text(t, looks[i].is, looks[i].todo);
    zero = memchr(t->buffer, 0, n);
    if (!zero || t->gzip)                               /* or damaged: that is said in its turn */
        return HPS_OK;
    if (zero - t->buffer < 2)                           /* a letter is itself and a zero byte */
        return not_text(t, "UTF-16 without its mark",
                        zero == t->buffer ? "iconv -f UTF-16BE -t UTF-8"
                                          : "iconv -f UTF-16LE -t UTF-8");
    return not_text(t, "no text: it has zero bytes", NULL);
}

/* More text behind buffer[end]; the record and what follows moves to the front. */
static enum hps_status refill(struct hps_text *t)
{
    size_t keep = t->begin, got = 0;
    const char *why = NULL;
    enum hps_status s;

    if (keep > 0) {
        memmove(t->buffer, t->buffer + keep, t->end - keep);
        t->begin = 0;
        t->end -= keep;
        t->next -= keep;
        t->first_next -= keep;
    }
    if (t->end == t->cap) {
        size_t room = t->cap + HPS_TEXT_SLACK;
        if (t->cap >= HPS_TEXT_LINE)
            return wrong(t, t->line == 0 && memchr(t->buffer, '\r', t->end)
                                ? cr_only
                                : "a line of more than 16 MiB");
        hps_mem_grow(&t->buffer, &room, 2 * t->cap + HPS_TEXT_SLACK, 1);
        t->cap = room - HPS_TEXT_SLACK;
    }
    s = t->gzip ? hps_unpack_read(t->gzip, t->buffer + t->end, t->cap - t->end, &got, &why)
                : read_some(t, t->buffer + t->end, t->cap - t->end, &got);
    if (s == HPS_DECK)
        wrong(t, why);
    else if (s && why)
        HPS_SAY(HPS_ERROR, "%s: %s", t->path, why);
    t->end += got;
    t->ended = got == 0;
    t->status = s;
    return s;
}

/* The end of the line that begins at `at` of the buffer, which may move: counted from `begin`. */
static enum hps_status find_end(struct hps_text *t, size_t from, size_t *end, bool *found)
{
    enum hps_status s = HPS_OK;
    size_t looked = from;

    *found = false;
    while (!s) {
        const char *line_end = memchr(t->buffer + t->begin + looked, '\n',
                                      t->end - t->begin - looked);
        if (line_end) {
            *end = (size_t)(line_end - t->buffer) - t->begin;
            *found = true;
            return HPS_OK;
        }
        looked = t->end - t->begin;
        if (t->ended) break;
        s = refill(t);
    }
    *end = t->end - t->begin;
    return s;
}

static void give(struct hps_text *t, size_t end, bool found, char **line, size_t *n)
{
    *line = t->buffer + t->begin;
    *n = end;
    if (*n > 0 && (*line)[*n - 1] == '\r') --*n;
    t->next = t->begin + end + found;
}

enum hps_status hps_text_next(struct hps_text *t, char **line, size_t *n)
{
    size_t end;
    bool found;
    enum hps_status s;

    *line = NULL;
    if (t->status) return t->status;
    t->begin = t->next;
    s = find_end(t, 0, &end, &found);
    if (s || (!found && end == 0)) return s;
    give(t, end, found, line, n);
    t->first_next = t->next;
    if (t->line++ == 0 && !found && memchr(*line, '\r', *n)) {
        t->line = 0;
        *line = NULL;
        return t->status = wrong(t, cr_only);           /* the whole text is one line */
    }
    t->first_line = t->line;
    return HPS_OK;
}

enum hps_status hps_text_more(struct hps_text *t, char **line, size_t *n)
{
    size_t end, from = t->next - t->begin;
    bool found = false;
    enum hps_status s = HPS_OK;

    *line = NULL;
    if (from < HPS_TEXT_RECORD) s = find_end(t, from, &end, &found);
    if (s) return s;
    if (from >= HPS_TEXT_RECORD || (!found && end == from)) {
        t->next = t->first_next;                        /* the record was its first line only */
        t->line = t->first_line;
        return HPS_OK;
    }
    give(t, end, found, line, n);
    t->line++;
    return HPS_OK;
}

/* The first bytes tell; they are the unpacker's first input. */
static enum hps_status look_for_gzip(struct hps_text *t)
{
    static const unsigned char magic[2] = { 0x1f, 0x8b };
    enum hps_status s = HPS_OK;
    size_t got = 1;

    while (t->end < 2 && got > 0 && !s) {
        s = read_some(t, t->buffer + t->end, LOOK - t->end, &got);
        t->end += got;
    }
    if (s || t->end < 2 || memcmp(t->buffer, magic, 2) != 0) return s;
    hps_unpack_new(&t->gzip, t->fd, t->buffer, t->end);
    t->end = 0;
    return HPS_OK;
}

static enum hps_status skip_mark(struct hps_text *t)
{
    enum hps_status s = HPS_OK;

    while (t->end < 8 && !t->ended && !s)
        s = refill(t);
    if (!s) s = look_at_begin(t);
    if (!s && t->end >= 3 && memcmp(t->buffer, "\xef\xbb\xbf", 3) == 0)
        t->next = 3;                                    /* some programs mark UTF-8 like this */
    return s;
}

static enum hps_status begin(struct hps_text *t)
{
    enum hps_status s = hps_outputs_read(t->fd, t->path, false);

    t->cap = BUFFER;
    t->buffer = hps_mem_new(t->cap + HPS_TEXT_SLACK, 1);
    if (!s) s = look_for_gzip(t);
    if (!s) s = skip_mark(t);
    if (s) hps_text_close(t);
    return s;
}

enum hps_status hps_text_open_fd(struct hps_text *t, int fd, const char *path)
{
    *t = (struct hps_text){ .path = path, .fd = dup(fd) };
    if (t->fd < 0 || (lseek(t->fd, 0, SEEK_SET) != 0 && errno != ESPIPE)) {
        HPS_SAY(HPS_ERROR, "%s: %s", path, strerror(errno));
        return HPS_INPUT;
    }
    return begin(t);
}

enum hps_status hps_text_standard(void)
{
    if (!hps_streams_no_input()) return hps_outputs_read(STDIN_FILENO, "standard input", false);
    HPS_SAY(HPS_ERROR, "standard input is not open for reading, and '-' is to be read");
    return HPS_INPUT;
}

enum hps_status hps_text_open(struct hps_text *t, const char *path)
{
    bool standard = strcmp(path, "-") == 0;
    enum hps_status s;

    *t = (struct hps_text){ .path = standard ? "standard input" : path, .fd = -1 };
    s = standard ? hps_text_standard() : HPS_OK;
    if (s) return s;
    t->fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (t->fd >= 0) return begin(t);
    HPS_SAY(HPS_ERROR, "%s: %s", t->path, strerror(errno));
    return HPS_INPUT;
}

void hps_text_close(struct hps_text *t)
{
    hps_unpack_free(t->gzip);
    hps_mem_free(t->buffer);
    if (t->fd >= 0) close(t->fd);
    t->gzip = NULL;
    t->buffer = NULL;
    t->fd = -1;
}
