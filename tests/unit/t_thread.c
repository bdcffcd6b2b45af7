/* t_thread: a thread hears no signals; who waits for a condition is woken by whoever signals it, or
 * by the steady clock when the time has come and no sooner. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/thread.h"

static const double nap_s = 0.05, long_s = 60;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t turned;
    bool on;
} lamp = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void *blocked(void *arg)
{
    sigset_t *mask = arg;

    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return NULL;
}

static void no_signals(void **state)
{
    pthread_t thread;
    sigset_t theirs, mine;

    (void)state;
    assert_int_equal(hps_thread_start(&thread, blocked, &theirs), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
    assert_true(sigismember(&theirs, SIGTERM) && sigismember(&theirs, SIGUSR1));
    assert_false(sigismember(&mine, SIGTERM) || sigismember(&mine, SIGUSR1));
}

static void clock_goes_on(void **state)
{
    double began = hps_steady_s();

    (void)state;
    hps_sleep_s(nap_s);
    assert_true(hps_steady_s() - began >= nap_s && hps_steady_s() - began < long_s);
}

static void time_comes(void **state)
{
    double until = hps_steady_s() + nap_s;

    (void)state;
    pthread_mutex_lock(&lamp.lock);
    while (hps_cond_wait(&lamp.turned, &lamp.lock, until))
        assert_true(hps_steady_s() < until + long_s);
    assert_true(hps_steady_s() >= until && hps_steady_s() < until + long_s);
    assert_false(hps_cond_wait(&lamp.turned, &lamp.lock, until)); /* it has come already */
    pthread_mutex_unlock(&lamp.lock);
}

static void *turn_on(void *arg)
{
    (void)arg;
    hps_sleep_s(nap_s);
    pthread_mutex_lock(&lamp.lock);
    lamp.on = true;
    pthread_cond_signal(&lamp.turned);
    pthread_mutex_unlock(&lamp.lock);
    return NULL;
}

static void is_woken(void **state)
{
    double until = hps_steady_s() + long_s;
    pthread_t thread;
    bool early = true;

    (void)state;
    assert_int_equal(hps_thread_start(&thread, turn_on, NULL), 0);
    pthread_mutex_lock(&lamp.lock);
    while (!lamp.on && early)
        early = hps_cond_wait(&lamp.turned, &lamp.lock, until);
    pthread_mutex_unlock(&lamp.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(lamp.on && early && hps_steady_s() < until);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_signals), cmocka_unit_test(clock_goes_on),
        cmocka_unit_test(time_comes), cmocka_unit_test(is_woken),
    };
    hps_cond_init(&lamp.turned);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
