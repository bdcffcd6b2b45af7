/* t_bench: every rate of a node is measured, in a fraction of a second, within what hardware can
 * be; what cannot be measured is 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "hw/bench.h"

static void rates(void **state)
{
    struct hps_dev dev;
    struct hps_node node;
    char path[] = "/tmp/t_bench_XXXXXX";
    int fd = mkstemp(path);
    char *text = hps_mem_new(1 << 20, 1);
    (void)state;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, 1 << 20), 1 << 20);
    hps_node_probe(&node);
    assert_int_equal(hps_dev_find("cpu")->open(&dev, 0, 2), HPS_OK);
    double began_s = hps_now_s();
    clock_t start = clock();                    /* of processors: others may be at work */
    assert_int_equal(hps_bench_node(&dev, &node, path), HPS_OK);
    assert_true(clock() - start < 10 * CLOCKS_PER_SEC);     /* it is about 0.1 s */
    assert_true(hps_now_s() - began_s < 60);
    assert_true(node.sgemm_flops_s > 1e7 && node.sgemm_flops_s < 1e15);
    assert_true(node.memory_bytes_s > 1e7 && node.memory_bytes_s < 1e13);
    assert_true(node.gather_rows_s > 1e4 && node.gather_rows_s < 1e11);
    assert_true(node.disk_bytes_s > 1e5 && node.disk_bytes_s < 1e13);
    assert_int_equal(hps_bench_node(&dev, &node, "/no/such/file"), HPS_OK);
    assert_true(node.disk_bytes_s == 0);
    assert_int_equal(hps_bench_node(&dev, &node, NULL), HPS_OK);
    assert_true(node.disk_bytes_s == 0);
    dev.ops->close(&dev);
    hps_mem_free(text);
    close(fd);
    unlink(path);
    assert_int_equal(hps_mem_held_bytes(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(rates) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
