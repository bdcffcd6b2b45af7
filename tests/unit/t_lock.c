/* t_lock: a folder is one run's also where its file system knows no locks, and is not given up when
 * the file system does not answer for a while. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"
#include "life/lock.h"

static _Atomic bool no_locks, no_answer;

/* In the place of the C library's. */
int flock(int fd, int operation)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    (void)operation;
    if (!no_locks) return fcntl(fd, F_OFD_SETLK, &whole) == 0 ? 0 : (errno = EWOULDBLOCK, -1);
    errno = ENOSYS;
    return -1;
}

int stat(const char *restrict path, struct stat *restrict s)
{
    if (!no_answer) return fstatat(AT_FDCWD, path, s, 0);
    errno = EIO;
    return -1;
}

/* One holds it, another one asks. */
static void refuses(void)
{
    struct hps_lock *one, *two;

    assert_int_equal(hps_lock_take(&one, "."), HPS_OK);
    assert_int_equal(hps_lock_take(&two, "."), HPS_OUTPUT);
    assert_null(two);
    hps_lock_free(one);
    assert_int_equal(hps_lock_take(&two, "."), HPS_OK);
    hps_lock_free(two);
}

static void by_lock(void **state)
{
    (void)state;
    refuses();
}

static void by_pulse(void **state)
{
    (void)state;
    no_locks = true;
    refuses();
    no_locks = false;
}

static void silence(void **state)
{
    struct hps_lock *one;

    (void)state;
    assert_int_equal(hps_lock_take(&one, "."), HPS_OK);
    no_answer = true;
    hps_sleep_s(2.5); /* longer than from one pulse to the next */
    no_answer = false;
    hps_lock_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(by_lock), cmocka_unit_test(by_pulse),
                                        cmocka_unit_test(silence) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
