/* t_file: the program's own files are regular ones: a link with the name of one is not followed, a
 * FIFO or a folder is an error at once; a user's text is read from whatever it lies in. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/direct_file.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/part_file.h"
#include "base/rng.h"
#include "base/thread.h"
#include "life/rundir.h"

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void is_text(const char *path, const char *want)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");

    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    assert_string_equal(text, want);
}

/* Things that are no regular file, in the place of one. */
enum { LINK, DANGLING, FIFO, FOLDER, KINDS };

static void plant(int kind, const char *path)
{
    static const char *const to[] = { "victim", "nowhere" };

    unlink(path);
    rmdir(path);
    if (kind == FIFO)
        assert_int_equal(mkfifo(path, 0666), 0);
    else if (kind == FOLDER)
        assert_int_equal(mkdir(path, 0777), 0);
    else
        assert_int_equal(symlink(to[kind], path), 0);
}

static void test_open(void **state)
{
    static const int error[KINDS] = { ELOOP, ELOOP, ENXIO, EISDIR };
    static const int flags[] = { O_RDONLY, O_WRONLY | O_APPEND | O_CREAT, O_RDWR | O_CREAT };

    (void)state;
    write_text("victim", "precious");
    for (int kind = 0; kind < KINDS; kind++) {
        plant(kind, "own");
        assert_false(hps_file_fits("own"));
        assert_int_equal(errno, error[kind]);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(hps_file_open("own", flags[i]), -1);
            assert_int_equal(errno, error[kind]);
        }
        assert_int_equal(hps_file_save("own", "text"), HPS_OUTPUT);
        assert_int_not_equal(access("own.part", F_OK), 0);
    }
    assert_int_equal(rmdir("own"), 0);
    assert_true(hps_file_fits("own"));
    is_text("victim", "precious");
    assert_int_not_equal(access("nowhere", F_OK), 0);
    int fd = hps_file_open("own", O_WRONLY | O_CREAT);
    assert_true(fd >= 0);
    close(fd);
    assert_true(hps_file_fits("own"));
}

/* What stands in the way of a new file goes, but for a folder; what a link names stays. */
static void test_new(void **state)
{
    (void)state;
    write_text("victim", "precious");
    for (int kind = 0; kind < KINDS; kind++) {
        plant(kind, "own.part");
        assert_int_equal(hps_file_save("own", "text"), kind == FOLDER ? HPS_OUTPUT : HPS_OK);
        is_text("own", "text");
    }
    is_text("victim", "precious");
    assert_int_not_equal(access("nowhere", F_OK), 0);
    rmdir("own.part");
    assert_int_equal(hps_file_save("no/such/folder", "text"), HPS_OUTPUT);
}

/* A file that is written beside its name gets it when it is whole; else nothing is left. */
static void test_part(void **state)
{
    struct hps_part_file file = hps_part_file("whole");
    bool renamed;

    (void)state;
    write_text("whole", "before");
    write_text(file.part, "half");
    assert_int_equal(hps_part_file_end(&file, HPS_DECK), HPS_DECK);
    is_text("whole", "before");
    assert_int_equal(access("whole.part", F_OK), -1);
    file = hps_part_file("whole");
    write_text(file.part, "after");
    assert_int_equal(hps_part_file_end(&file, HPS_OK), HPS_OK);
    is_text("whole", "after");
    file = hps_part_file("whole");
    assert_false(hps_part_file_commit(&file, &renamed)); /* there is no part */
    assert_false(renamed);
    assert_int_equal(errno, ENOENT);
    write_text(file.part, "again");
    assert_true(hps_part_file_commit(&file, &renamed));
    assert_true(renamed);
    hps_part_file_done(&file, true);
    is_text("whole", "again");
}

/* Every file of a run directory, with each thing in its place. */
static void test_rundir(void **state)
{
    static const char *const name[] = { "deck.yaml", "pool.json",   "profile.json", "plan.json",
                                        "log",       "status.json", "report.json",  "perf.h5",
                                        "stop",      ".lock",       ".stall",       NULL };
    struct hps_run_opt opt = { .directory = "run" };
    struct hps_rundir dir;
    char path[64];

    (void)state;
    write_text("victim", "precious");
    for (int i = 0; name[i]; i++)
        for (int kind = 0; kind < KINDS; kind++) {
            bool fits = kind == FOLDER && strcmp(name[i], ".stall") == 0;
            mkdir("run", 0777);
            snprintf(path, sizeof path, "run/%s", name[i]);
            plant(kind, path);
            enum hps_status want = fits ? HPS_OK : HPS_OUTPUT;
            assert_int_equal(hps_rundir_open(&dir, &opt, MPI_COMM_NULL), want);
            hps_rundir_close(&dir);
            unlink(path);
            rmdir(path);
        }
    is_text("victim", "precious");
    assert_int_equal(symlink("run", "elsewhere"), 0);   /* the directory itself may be a link */
    opt.directory = "elsewhere";
    assert_int_equal(hps_rundir_open(&dir, &opt, MPI_COMM_NULL), HPS_OK);
    hps_rundir_close(&dir);
    opt.directory = "victim";
    assert_int_equal(hps_rundir_open(&dir, &opt, MPI_COMM_NULL), HPS_OUTPUT);
    hps_rundir_close(&dir);
}

static void *write_late(void *path)
{
    hps_sleep_s(0.02);
    FILE *f = fopen(path, "w");
    hps_sleep_s(0.02);
    if (f) {
        fputs("late", f);
        fclose(f);
    }
    return NULL;
}

static void test_read(void **state)
{
    pthread_t writer;
    char *text;
    size_t n;

    (void)state;
    write_text("victim", "precious");
    plant(LINK, "link");
    assert_true(hps_file_read(&text, &n, 100, "link"));
    assert_int_equal(n, 8);
    assert_memory_equal(text, "precious", 8);
    hps_mem_free(text);
    assert_true(hps_file_read(&text, &n, 5, "victim"));
    assert_true(n > 5);
    hps_mem_free(text);
    assert_false(hps_file_read(&text, &n, 5, "."));
    assert_int_equal(errno, EISDIR);
    assert_false(hps_file_read(&text, &n, 5, "nowhere"));
    assert_int_equal(errno, ENOENT);
    plant(FIFO, "fifo");
    assert_int_equal(pthread_create(&writer, NULL, write_late, "fifo"), 0);
    assert_true(hps_file_read(&text, &n, 100, "fifo"));
    pthread_join(writer, NULL);
    assert_int_equal(n, 4);
    assert_memory_equal(text, "late", 4);
    hps_mem_free(text);
    assert_false(hps_file_read(&text, &n, 100, "fifo"));
    assert_string_equal(hps_file_why(errno), "nobody writes to this pipe");
}

/* ---- direct I/O: pieces of all sizes at all places give the file that memory has ---- */

enum { WHOLE = 20 << 20, NPIECE = 3 };

static uint64_t draw(uint64_t n)
{
    static uint64_t index;

    return hps_rng_below(7, index++, n);
}

static void put_drawn(struct hps_direct_file *f, unsigned char *want)
{
    static const size_t sizes[] = { 1, 511, 4096, 100000, 1 << 20, (1 << 20) + 1, 5 << 20 };
    struct iovec piece[NPIECE];
    size_t at = draw(4 << 20), end;

    if (draw(2) == 0) at -= at % 4096;
    end = at;
    for (int i = 0; i < NPIECE; i++) {
        piece[i] = (struct iovec){ want + end, sizes[draw(sizeof sizes / sizeof *sizes)] };
        memset(want + end, (int)draw(256), piece[i].iov_len);
        want[end] ^= 1;
        end += piece[i].iov_len;
    }
    assert_true(hps_direct_put_pieces(f, piece, NPIECE, at));
}

enum way { AS_IT_IS, NONE, IN_NAME_ALONE, WAYS };

/* A file system may have direct I/O, not have it, or refuse the write: memory that is not aligned
 * is refused like that. */
static void open_as(struct hps_direct_file *f, enum way way, char *memory)
{
    assert_true(hps_direct_open(f, "large"));
    if (way == IN_NAME_ALONE) f->buffer = memory + 64;
    if (way != NONE || f->direct < 0) return;
    close(f->direct);
    f->direct = -1;
}

static void test_direct(void **state)
{
    unsigned char *want = hps_mem_new(WHOLE, 1), *got = hps_mem_new(WHOLE, 1);
    char *memory = hps_mem_new(5 << 20, 1);
    struct hps_direct_file f;

    (void)state;
    assert_false(hps_direct_open(&f, "nowhere"));
    assert_int_equal(errno, ENOENT);
    for (enum way way = AS_IT_IS; way < WAYS; way++) {
        int fd = hps_file_new("large", 0);
        assert_int_equal(ftruncate(fd, WHOLE), 0);
        memset(want, 0, WHOLE);
        open_as(&f, way, memory);
        for (int i = 0; i < 12; i++)
            put_drawn(&f, want);
        if (way == IN_NAME_ALONE) f.buffer = NULL;
        assert_true(hps_direct_put(&f, "end", 3, WHOLE - 3));
        memcpy(want + WHOLE - 3, "end", 3);
        assert_true(hps_direct_sync(&f));
        assert_true(hps_direct_close(&f));
        assert_int_equal(pread(fd, got, WHOLE, 0), WHOLE);
        assert_memory_equal(got, want, WHOLE);
        close(fd);
    }
    hps_mem_free(want);
    hps_mem_free(got);
    hps_mem_free(memory);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_open), cmocka_unit_test(test_new),
                                        cmocka_unit_test(test_part),
                                        cmocka_unit_test(test_rundir),
                                        cmocka_unit_test(test_read),
                                        cmocka_unit_test(test_direct) };
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
