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
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/part_file.h"
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
                                        cmocka_unit_test(test_read) };
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
