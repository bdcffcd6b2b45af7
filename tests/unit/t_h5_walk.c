/* t_h5_walk: a file that leads out of itself, or on which the HDF5 library crashes or does not end,
 * is refused with its reason and nothing happens to this process; the walker that sees to it holds
 * none of our descriptors, hears no signal but SIGKILL, and is gone when we are; without it
 * whatever leads out is refused all the same. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/h5/h5_impl.h"
#include "base/mem.h"
#include "base/quit.h"

static hid_t new_file(const char *path)
{
    return (hid_t)HPS_H5(H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
}

/* A dataset of eight numbers in a new file, and what else is to be in the file. */
static void make_set(const char *path, hid_t make, void (*more)(hid_t file))
{
    const hsize_t n = 8;
    hid_t file = new_file(path), space = (hid_t)HPS_H5(H5Screate_simple(1, &n, NULL));
    hid_t set = (hid_t)HPS_H5(H5Dcreate2(file, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, make,
                                         H5P_DEFAULT));

    HPS_H5(H5Dclose(set));
    HPS_H5(H5Sclose(space));
    if (more)
        more(file);
    HPS_H5(H5Fclose(file));
}

static void link_out(hid_t file)
{
    hid_t group = (hid_t)HPS_H5(H5Gcreate2(file, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));

    HPS_H5(H5Lcreate_external("other.h5", "/x", group, "out", H5P_DEFAULT, H5P_DEFAULT));
    HPS_H5(H5Gclose(group));
}

static void link_in(hid_t file)
{
    HPS_H5(H5Lcreate_soft("/x", file, "soft", H5P_DEFAULT, H5P_DEFAULT));
    HPS_H5(H5Lcreate_soft("/nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT));
    HPS_H5(H5Lcreate_hard(file, "x", file, "hard", H5P_DEFAULT, H5P_DEFAULT));
}

static void make_outward(void)
{
    const hsize_t n = 8;
    hid_t make = (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE));
    hid_t space = (hid_t)HPS_H5(H5Screate_simple(1, &n, NULL));

    make_set("other.h5", H5P_DEFAULT, NULL);
    make_set("link.h5", H5P_DEFAULT, link_out);
    make_set("good.h5", H5P_DEFAULT, link_in);
    HPS_H5(H5Pset_external(make, "raw.bin", 0, 32));
    make_set("external.h5", make, NULL);
    HPS_H5(H5Pclose(make));
    make = (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE));
    HPS_H5(H5Pset_virtual(make, space, "other.h5", "/x", space));
    make_set("virtual.h5", make, NULL);
    HPS_H5(H5Pclose(make));
    make = (hid_t)HPS_H5(H5Pcreate(H5P_DATASET_CREATE));
    HPS_H5(H5Pset_chunk(make, 1, &n));
    HPS_H5(H5Pset_shuffle(make));
    make_set("filter.h5", make, NULL);
    HPS_H5(H5Pclose(make));
    HPS_H5(H5Sclose(space));
}

static const struct {
    const char *path, *words;
} outward[] = {
    { "link.h5", "/g/out links to another file" },
    { "external.h5", "dataset x: it is stored in other files" },
    { "virtual.h5", "dataset x: it is put together from other datasets" },
    { "filter.h5", "dataset x: it is stored with filters" },
};

/* Refused, and the one line that is said has the words; by whom does not matter. */
static void refuses(const char *path, const char *words)
{
    char text[1024];
    struct hps_h5 h;
    int keep = dup(2), to = open("said", O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert_true(keep >= 0 && to >= 0 && dup2(to, 2) == 2);
    enum hps_status s = hps_h5_open(&h, path);
    assert_int_equal(dup2(keep, 2), 2);
    close(keep);
    ssize_t n = pread(to, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(to);
    if (s != HPS_DECK || !strstr(text, words) || !strstr(text, path))
        fail_msg("%s: %d '%s' instead of '%s'", path, s, text, words);
    assert_true(h.file < 0);
}

static void opens(const char *path)
{
    struct hps_h5 h;
    float x[8];

    assert_int_equal(hps_h5_open(&h, path), HPS_OK);
    assert_int_equal(hps_h5_get(&h, "soft", H5T_NATIVE_FLOAT, 0, 8, 0, x), HPS_OK);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
}

static void test_outward(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof outward / sizeof *outward; i++)
        refuses(outward[i].path, outward[i].words);
    opens("good.h5");
}

/* ---- damage ---- */

static char image[1 << 16];
static size_t image_bytes;
static char *heap;              /* the collection of texts of any length, in the image */

/* As h5py writes a text. */
static void make_text(void)
{
    hid_t file = new_file("text.h5"), type = (hid_t)HPS_H5(H5Tcopy(H5T_C_S1));
    hid_t space = (hid_t)HPS_H5(H5Screate(H5S_SCALAR)), attribute;
    const char *text = "heterps-dataset-1";

    HPS_H5(H5Tset_size(type, H5T_VARIABLE));
    attribute = (hid_t)HPS_H5(H5Acreate2(file, "format", type, space, H5P_DEFAULT, H5P_DEFAULT));
    HPS_H5(H5Awrite(attribute, type, &text));
    HPS_H5(H5Fclose(file));
    HPS_H5(H5Aclose(attribute));
    HPS_H5(H5Sclose(space));
    HPS_H5(H5Tclose(type));
    FILE *f = fopen("text.h5", "r");
    image_bytes = fread(image, 1, sizeof image, f);
    fclose(f);
    heap = memmem(image, image_bytes, "GCOL", 4);
    assert_true(heap && image_bytes < sizeof image);
}

/* A byte of the collection is changed. */
static void damage(const char *path, size_t at, int value)
{
    char before = heap[at];
    FILE *f = fopen(path, "w");

    heap[at] = (char)value;
    assert_int_equal(fwrite(image, 1, image_bytes, f), image_bytes);
    assert_int_equal(fclose(f), 0);
    heap[at] = before;
}

/* The size of the text, in bytes 24 to 31 of the collection. */
static void test_damaged(void **state)
{
    struct hps_h5 h;
    char *text;

    (void)state;
    damage("crash.h5", 30, 1);
    damage("loop.h5", 24, 1);
    damage("whole.h5", 0, 'G');
    refuses("crash.h5", "damaged: the HDF5 library crashes on it");
    refuses("loop.h5", "damaged: the HDF5 library does not come to an end on it");
    assert_int_equal(hps_h5_open(&h, "whole.h5"), HPS_OK);
    assert_int_equal(hps_h5_get_text(&h, "/", "format", &text, false), HPS_OK);
    assert_string_equal(text, "heterps-dataset-1");
    hps_mem_free(text);
    assert_int_equal(hps_h5_close(&h), HPS_OK);
    FILE *f = fopen("none.h5", "w");
    assert_true(f && fputs("no HDF5", f) >= 0 && fclose(f) == 0);
    refuses("none.h5", "not a whole HDF5 file");
}

/* ---- the walker itself ---- */

static pid_t walker_pid(void)
{
    char path[64];
    int pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%d", &pid) != 1)
        pid = 0;
    if (f)
        fclose(f);
    return pid;
}

/* A file that was good is not looked through again, even where the walker could not, until it has
 * changed. */
static void test_changed(void **state)
{
    pid_t walker = walker_pid();

    (void)state;
    make_set("turn.h5", H5P_DEFAULT, link_in);
    hps_h5_walk_settle(-1);
    opens("turn.h5");
    assert_int_equal(kill(walker, SIGSTOP), 0);
    opens("turn.h5");
    assert_int_equal(kill(walker, SIGCONT), 0);
    assert_int_equal(rename("crash.h5", "turn.h5"), 0);
    refuses("turn.h5", "damaged");
    hps_h5_walk_settle(2);
}

/* What its descriptors are open on: /dev/null and one socket, and nothing of ours. */
static void test_descriptors(void **state)
{
    char path[64], to[256];
    int nsocket = 0;

    (void)state;
    if (walker_pid() == 0)
        skip();                 /* this system does not list children */
    for (int fd = 0; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)walker_pid(), fd);
        ssize_t n = readlink(path, to, sizeof to - 1);
        if (n < 0)
            continue;
        to[n] = 0;
        nsocket += strncmp(to, "socket:", 7) == 0;
        if (strcmp(to, "/dev/null") != 0 && strncmp(to, "socket:", 7) != 0)
            fail_msg("descriptor %d of the walker is %s", fd, to);
    }
    assert_int_equal(nsocket, 1);
}

static void test_signals(void **state)
{
    static const int group[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2 };

    (void)state;
    if (walker_pid() == 0)
        skip();
    for (size_t i = 0; i < sizeof group / sizeof *group; i++)
        assert_int_equal(kill(walker_pid(), group[i]), 0);
    test_outward(state);
}

/* Gone, or not buried yet. */
static bool is_dead(pid_t pid)
{
    char path[64], state = 'Z';

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%*d %*s %c", &state) != 1)
        state = 'Z';
    if (f)
        fclose(f);
    return state == 'Z' || state == 'X';
}

/* When this process is killed the walker goes, too: the pipe that both would hold is at its end. */
static void test_parent_dies(void **state)
{
    int pipes[2];
    pid_t child, walker = 0;

    (void)state;
    if (walker_pid() == 0)
        skip();
    assert_int_equal(pipe(pipes), 0);
    child = fork();
    if (child == 0) {
        hps_h5_walk_begin();
        walker = walker_pid();
        if (write(pipes[1], &walker, sizeof walker) == (ssize_t)sizeof walker)
            raise(SIGKILL);
        hps_leave(HPS_FAIL);
    }
    close(pipes[1]);
    assert_int_equal(read(pipes[0], &walker, sizeof walker), sizeof walker);
    assert_int_equal(read(pipes[0], &child, 1), 0);
    waitpid(child, NULL, 0);
    assert_true(walker > 0);
    for (int i = 0; i < 1000 && !is_dead(walker); i++)
        usleep(10000);
    assert_true(is_dead(walker));
    close(pipes[0]);
}

/* Killed by somebody else: that is said once, and we look ourselves. */
static void test_lost(void **state)
{
    (void)state;
    if (walker_pid() == 0)
        skip();
    assert_int_equal(kill(walker_pid(), SIGKILL), 0);
    refuses("link.h5", "no other process looks through HDF5 files first");
    assert_int_equal(walker_pid(), 0);      /* and buried */
    test_outward(state);
}

static void test_ended(void **state)
{
    (void)state;
    hps_h5_walk_end();
    hps_h5_walk_begin();
    opens("good.h5");
    hps_h5_walk_end();
    hps_h5_walk_end();
    assert_int_equal(walker_pid(), 0);
    test_outward(state);
}

static int nothing_held(void **state)
{
    (void)state;
    return hps_mem_held_bytes() != 0;
}

/* The walker has one second for a file, and this process as long as it likes; its children write
 * core files nowhere. The files are made before the library is told to know no external links. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_outward),     cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_changed),     cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_signals),     cmocka_unit_test(test_parent_dies),
        cmocka_unit_test(test_lost),        cmocka_unit_test(test_ended),
    };
    struct rlimit before, second;

    getrlimit(RLIMIT_CPU, &before);
    second = before;
    second.rlim_cur = 1;
    setrlimit(RLIMIT_CPU, &second);
    hps_h5_walk_begin();
    setrlimit(RLIMIT_CPU, &before);
    make_outward();
    make_text();
    return cmocka_run_group_tests(tests, NULL, nothing_held);
}
