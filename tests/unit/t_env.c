/* t_env: a variable is what it was set to, and nothing else, nor anything where it is not set; it
 * counts where it is a number from 1 on, the whole of it, that an int can hold. */
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

static void counts(void **state)
{
    static const struct { const char *text; int n; } is[] = {
        { "1", 1 }, { "48", 48 }, { "2147483647", 2147483647 }, { "2147483648", 0 }, { "0", 0 },
        { "-2", 0 }, { "", 0 }, { "two", 0 }, { "2x", 0 }, { "99999999999999999999", 0 }
    };

    (void)state;
    unsetenv("HPS_T_ENV");
    assert_int_equal(hps_env_count("HPS_T_ENV"), 0);
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        setenv("HPS_T_ENV", is[i].text, 1);
        assert_int_equal(hps_env_count("HPS_T_ENV"), is[i].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(values), cmocka_unit_test(counts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
