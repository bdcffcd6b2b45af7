/* t_say: alone, messages go to standard error and results to standard output, the log has both,
 * and whoever ends the run ends it with the code that was meant. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mpi_check.h"
#include "base/quit.h"
#include "base/say.h"
#include "base/wait.h"
#include "base/world.h"

static char heard[1 << 16];

/* Run `act` in a child whose standard error we hear; its standard output is `out`. */
static int child(void (*act)(void), int out)
{
    int pipes[2], status;
    size_t n = 0;
    ssize_t got;

    assert_int_equal(pipe(pipes), 0);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(10);
        dup2(pipes[1], STDERR_FILENO);
        if (out >= 0)
            dup2(out, STDOUT_FILENO);
        else
            close(STDOUT_FILENO);
        hps_begin(NULL, NULL, false);
        act();
        _exit(hps_end(HPS_OK));
    }
    close(pipes[1]);
    while ((got = read(pipes[0], heard + n, sizeof heard - 1 - n)) > 0)
        n += (size_t)got;
    heard[n] = '\0';
    close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void speak(void)
{
    HPS_SAY(HPS_DEBUG, "not this");
    HPS_SAY(HPS_INFO, "one %d", 1);
    HPS_SAY_ALL(HPS_WARN, "two");
    HPS_SAY(HPS_ERROR, "three");
    hps_say_min(HPS_DEBUG);
    HPS_SAY(HPS_DEBUG, "four");
    hps_say_min(HPS_SILENT);
    HPS_SAY_ALL(HPS_ERROR, "nor this");
}

static void test_levels(void **state)
{
    static const char *const want[] = { "one 1", "warning: two", "error: three", "debug: four" };
    char *rest = heard, *line;
    int rank, end = 0;
    double s, last = 0;

    (void)state;
    assert_int_equal(child(speak, STDOUT_FILENO), 0);
    for (int i = 0; i < 4; i++) {
        line = strsep(&rest, "\n");
        assert_int_equal(sscanf(line, "[%d %lf] %n", &rank, &s, &end), 2);
        assert_int_equal(rank, 0);
        assert_true(s >= last && s < 10);
        last = s;
        assert_string_equal(line + end, want[i]);
    }
    assert_string_equal(rest, "");
}

static void speak_long(void)
{
    static char word[100001];

    memset(word, 'x', sizeof word - 1);
    HPS_SAY(HPS_INFO, "%s", word);
}

static void test_long(void **state)
{
    (void)state;
    assert_int_equal(child(speak_long, STDOUT_FILENO), 0);
    assert_true(strlen(heard) > 4000);
    assert_string_equal(heard + strlen(heard) - 4, "...\n");
}

static char log_path[] = "/tmp/t_say.XXXXXX";

static void speak_to_log(void)
{
    if (hps_say_log(log_path))
        _exit(1);
    HPS_SAY(HPS_INFO, "said");
    hps_out("result %d\n", 5);
    if (hps_say_log(NULL))
        _exit(2);
    HPS_SAY(HPS_INFO, "behind the log");
    if (hps_say_log("/nowhere/log") != HPS_OUTPUT)
        _exit(3);
}

static void test_log(void **state)
{
    char text[256], found[] = "/tmp/t_say.XXXXXX";
    int log = mkstemp(log_path), out = mkstemp(found), end = 0;

    (void)state;
    assert_int_equal(write(log, "before\n", 7), 7);
    assert_int_equal(child(speak_to_log, out), 0);
    assert_non_null(strstr(heard, "/nowhere/log: the log cannot be opened: No such file"));
    assert_non_null(strstr(heard, "behind the log"));
    ssize_t n = pread(log, text, sizeof text - 1, 0);
    text[n] = '\0';
    assert_int_equal(sscanf(text, "before\n[0 %*f] said\nresult 5\n%n", &end), 0);
    assert_int_equal(end, n);
    n = pread(out, text, sizeof text - 1, 0);
    text[n] = '\0';
    assert_string_equal(text, "result 5\n");
    close(log);
    close(out);
    unlink(log_path);
    unlink(found);
}

static char full_path[] = "/tmp/t_say.XXXXXX";

static void log_full(void)
{
    const struct rlimit none = { 1, RLIM_INFINITY };

    if (hps_say_log(full_path) || setrlimit(RLIMIT_FSIZE, &none) != 0)
        _exit(1);
    HPS_SAY(HPS_INFO, "said");
    HPS_SAY(HPS_INFO, "said again");
}

/* A disk that is full: a file size limit answers as one. */
static void test_log_full(void **state)
{
    int fd = mkstemp(full_path);

    (void)state;
    assert_int_equal(child(log_full, STDOUT_FILENO), 0);
    assert_non_null(strstr(heard, "warning: the log ends here: File too large"));
    assert_non_null(strstr(heard, "said again\n"));
    close(fd);
    unlink(full_path);
}

/* Text of a file: an escape sequence of a terminal, one in a single character (U+009B), a bell, a
 * line that says that it is another, letters of other languages, bytes that are none. */
#define FOREIGN "\033[2J \302\233K \a\177\r a\n[0 1.0] b\tgr\303\266\303\237e " \
                "\360\237\230\200 \377 \303 \300\257 \355\240\200 \364\220\200\200 \342\202"
#define SHOWN(line) "\\x1b[2J \\xc2\\x9bK \\x07\\x7f\\x0d a" line "[0 1.0] b\t" \
                    "gr\303\266\303\237e \360\237\230\200 \\xff \\xc3 \\xc0\\xaf \\xed\\xa0\\x80 " \
                    "\\xf4\\x90\\x80\\x80 \\xe2\\x82"

static void speak_foreign(void)
{
    if (hps_say_log(log_path))
        _exit(1);
    HPS_SAY(HPS_ERROR, "%s|", FOREIGN);
    hps_out("%s|\n", FOREIGN);
    for (int i = 0; i < 2000; i++)
        hps_out("%s", "\303\266");                      /* across whatever is written at once */
    hps_out("%5000s|", "\302\233");
    if (hps_out_flush())
        _exit(2);
}

static void test_foreign(void **state)
{
    static char text[1 << 15];
    char found[] = "/tmp/t_say.XXXXXX", *at;
    int out = mkstemp(found);

    (void)state;
    strcpy(log_path + strlen(log_path) - 6, "XXXXXX");
    int log = mkstemp(log_path);
    assert_int_equal(child(speak_foreign, out), 0);
    assert_non_null(strstr(heard, "] error: " SHOWN("\\n") "|\n"));
    assert_int_equal(strcspn(heard, "\n"), strlen(heard) - 1);
    for (int i = 0; i < 2; i++) {
        ssize_t n = pread(i ? log : out, text, sizeof text - 1, 0);
        assert_true(n > 9000);
        text[n] = '\0';
        at = strstr(text, SHOWN("\n") "|\n\303\266\303\266");
        assert_non_null(at);
        assert_non_null(strstr(at, "   \\xc2\\x9b|"));
        assert_null(strstr(at, "\\xc3\\xb6"));
    }
    close(out);
    close(log);
    unlink(found);
    unlink(log_path);
}

static void give_results(void)
{
    for (int i = 0; i < 10000; i++)
        hps_out("a line of results, number %d\n", i);
    if (hps_out_flush() != HPS_OUTPUT || hps_out_flush() != HPS_OUTPUT)
        _exit(1);
}

/* A full disk, a reader that went away, no standard output at all: said once, and 73 at the end. */
static void test_output(void **state)
{
    static const char *const why[] = { "No space left on device", "Broken pipe",
                                       "Bad file descriptor" };
    int pipes[2], out[3] = { open("/dev/full", O_WRONLY), -1, -1 };

    (void)state;
    assert_int_equal(pipe(pipes), 0);
    close(pipes[0]);
    out[1] = pipes[1];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(child(give_results, out[i]), HPS_OUTPUT);
        char *first = strstr(heard, "error: standard output cannot be written: ");
        assert_non_null(first);
        assert_non_null(strstr(first, why[i]));
        assert_null(strstr(first + 1, "error:"));
    }
    close(out[0]);
    close(out[1]);
}

static void die(void)
{
    HPS_DIE("reason %d", 3);
}

static void quit(void)
{
    hps_say_min(HPS_SILENT);
    hps_out("kept\n");
    hps_quit(HPS_INPUT, "no input");
}

static void fail_call(void)
{
    hps_mpi_check(MPI_ERR_TAG, "MPI_Call(x)", "file.c", 12);
}

static void test_ends(void **state)
{
    char text[16] = "", found[] = "/tmp/t_say.XXXXXX";
    int out = mkstemp(found);

    (void)state;
    assert_int_equal(child(die, STDOUT_FILENO), HPS_FAIL);
    assert_non_null(strstr(heard, "error: reason 3 ("));
    assert_non_null(strstr(heard, "t_say.c:"));
    assert_int_equal(child(quit, out), HPS_INPUT);
    assert_non_null(strstr(heard, "error: no input\n"));
    assert_int_equal(pread(out, text, sizeof text - 1, 0), 5);
    assert_string_equal(text, "kept\n");
    close(out);
    unlink(found);
    assert_int_equal(child(fail_call, STDOUT_FILENO), HPS_FAIL);
    assert_non_null(strstr(heard, "MPI_Call(x): error "));
    assert_non_null(strstr(heard, "(file.c:12)"));
}

static void *shout(void *name)
{
    for (int i = 0; i < 200; i++)
        HPS_SAY(HPS_INFO, "%s%s%s%s", (char *)name, (char *)name, (char *)name, (char *)name);
    HPS_DIE("the end");
    return NULL;
}

static void shout_together(void)
{
    pthread_t thread[3];
    static char name[3][2] = { "a", "b", "c" };

    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, shout, name[i]) != 0)
            _exit(1);
    for (;;)
        pause();
}

/* Threads speak whole lines, and several that die at once end the run as one would. */
static void test_threads(void **state)
{
    char *rest = heard, *line;

    (void)state;
    assert_int_equal(child(shout_together, STDOUT_FILENO), HPS_FAIL);
    while ((line = strsep(&rest, "\n")) && *line) {
        const char *said = strstr(line, "] ");
        assert_non_null(said);
        assert_true(strcmp(said + 2, "aaaa") == 0 || strcmp(said + 2, "bbbb") == 0 ||
                    strcmp(said + 2, "cccc") == 0 || strncmp(said + 2, "error: the end", 14) == 0);
    }
}

static void test_alone(void **state)
{
    (void)state;
    assert_int_equal(hps_rank(), 0);
    assert_int_equal(hps_nrank(), 1);
    assert_int_equal(hps_agree(MPI_COMM_NULL, HPS_DECK), HPS_DECK);
    hps_barrier_sleeping(MPI_COMM_NULL);
    double s = hps_now_s();
    assert_true(hps_now_s() >= s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels), cmocka_unit_test(test_long),
        cmocka_unit_test(test_log),    cmocka_unit_test(test_log_full),
        cmocka_unit_test(test_foreign), cmocka_unit_test(test_output), cmocka_unit_test(test_ends),
        cmocka_unit_test(test_threads), cmocka_unit_test(test_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
