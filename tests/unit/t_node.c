/* t_node: a rank's facts are those that the system tells, tidy and in bounds; a rank bound to one
 * core has one; what else keeps its processors busy is seen. */
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hw/other_load.h"

static int bits(const struct hps_node *node)
{
    int n = 0;

    for (int i = 0; i < 8 * HPS_NODE_MASK; i++)
        n += node->mask[i / 8] >> i % 8 & 1;
    return n;
}

static void facts(void **state)
{
    struct hps_node node;
    char host[256] = "";
    (void)state;

    memset(&node, 0xff, sizeof node);
    assert_int_equal(hps_node_probe(&node), HPS_OK);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    host[HPS_NODE_TEXT - 1] = '\0';
    assert_string_equal(node.host, host);
    assert_true(node.cpu[0] != ' ' && !strstr(node.cpu, "  "));
    assert_true(node.cores >= 1 && node.cores <= sysconf(_SC_NPROCESSORS_CONF));
    assert_true(bits(&node) >= node.cores);
    assert_true(node.sharing == 1 && node.threads == node.cores);
    double physical = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    assert_true(node.memory_bytes > 1e6 && node.memory_bytes <= physical * 1.001);
    for (int i = 0; i < 3; i++)
        assert_true(node.cache_bytes[i] >= 0 && node.cache_bytes[i] < 1e12);
    assert_true(node.sgemm_flops_s == 0 && node.disk_bytes_s == 0);
}

/* The program again, started on one core as a launcher does it: answers with its exit code. */
static int started_on_one_core(int cpu)
{
    struct hps_node node;

    hps_node_probe(&node);
    return node.cores == 1 && (node.mask[cpu / 8] >> cpu % 8 & 1) ? 0 : 1;
}

static void one_core(void **state)
{
    cpu_set_t before, one;
    int cpu = 0, status = -1;
    char word[16];
    (void)state;

    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(cpu, &before))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    snprintf(word, sizeof word, "%d", cpu);
    pid_t child = fork();
    if (child == 0) {
        sched_setaffinity(0, sizeof one, &one);
        execl("/proc/self/exe", "t_node", word, (char *)NULL);
        _exit(2);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void threads(void **state)
{
    struct hps_node node = { .cores = 6 };
    (void)state;

    hps_node_share(&node, 0, MPI_COMM_NULL);
    assert_true(node.sharing == 1 && node.threads == 6);
    hps_node_share(&node, 9, MPI_COMM_NULL);
    assert_int_equal(node.threads, 9);
}

static void use(void **state)
{
    double before = hps_node_cpu_s(), peak = hps_node_peak_bytes();
    volatile double x = 1;
    (void)state;

    while (hps_node_cpu_s() < before + 0.01)
        x += x * 1e-9;
    char *block = hps_mem_new(32 << 20, 1);
    memset(block, 1, 32 << 20);
    assert_true(hps_node_peak_bytes() >= peak && hps_node_peak_bytes() > 32 << 20);
    hps_mem_free(block);
}

/* Of two processors of three, what is neither idle nor waits for a disk. */
static void ticks(void **state)
{
    const char *text = "cpu  900 9 9 9 9 9 9 9 0 0\n"
                       "cpu0 100 20 30 5000 700 4 5 6 1000 0\n"
                       "cpu1 1 1 1 1 1 1 1 1 0 0\n"
                       "cpu2 10 20 30 5000 700\n"
                       "intr 7 8\n";
    unsigned char mask[HPS_NODE_MASK] = { 1 | 4 };

    (void)state;
    assert_true(hps_other_load_ticks(text, mask) == 165 + 60);
    mask[0] = 2;
    assert_true(hps_other_load_ticks(text, mask) == 6);
    mask[0] = 8;
    assert_true(isnan(hps_other_load_ticks(text, mask)));
    assert_true(isnan(hps_other_load_ticks("", mask)));
}

/* A process of its own is seen, this one is not. */
static void others(void **state)
{
    struct hps_node node;
    int type = 0;

    (void)state;
    hps_node_probe(&node);
    struct hps_pool pool = { .R = 1, .node = &node, .type_of = &type };
    pid_t child = fork();
    if (child == 0)
        for (;;)
            continue;
    struct hps_other_load began = hps_other_load_begin(&pool, MPI_COMM_NULL);
    double end = began.now_s + 1;
    while (hps_now_s() < end)
        continue;
    struct hps_other_load_found x = hps_other_load_end(&began, &pool, "in a test", MPI_COMM_NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(x.rank, 0);
    if (isnan(x.cores)) skip();         /* no /proc here */
    assert_true(x.cores > 0.1 && x.cores < node.cores + 0.1);
}

int main(int argc, char **argv)
{
    if (argc == 2)
        return started_on_one_core((int)strtol(argv[1], NULL, 10));
    const struct CMUnitTest tests[] = { cmocka_unit_test(facts), cmocka_unit_test(one_core),
                                        cmocka_unit_test(threads), cmocka_unit_test(use),
                                        cmocka_unit_test(ticks), cmocka_unit_test(others) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
