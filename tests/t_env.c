/* t_env: a variable is what it was set to, and nothing else, nor anything where it is not set. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/env.h"

static void values(void **state)
{
    (void)state;
    unsetenv("HPS_T_ENV");
    assert_false(hps_env_is("HPS_T_ENV", "1"));
    assert_false(hps_env_is("HPS_T_ENV", ""));
    setenv("HPS_T_ENV", "1", 1);
    assert_true(hps_env_is("HPS_T_ENV", "1"));
    assert_false(hps_env_is("HPS_T_ENV", "10") || hps_env_is("HPS_T_ENV", ""));
    setenv("HPS_T_ENV", "", 1);
    assert_true(hps_env_is("HPS_T_ENV", "") && !hps_env_is("HPS_T_ENV", "1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
