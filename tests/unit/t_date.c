/* t_date: every day from 1600 to 2400 goes to its number and back, as counted on day by day and as
 * the system's own calendar has it; dates in text are read as their format says, wherever the
 * machine is; days that no calendar has, and formats that are none, are refused. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/rng.h"
#include "data/date.h"

static int length(int year, int month)
{
    bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);

    return month == 2 ? 28 + leap : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

static void test_days(void **state)
{
    int year = 1600, month = 1, day = 1, weekday = 6, yearday = 1;      /* a Saturday */
    long long days = hps_date_days(1600, 1, 1);

    (void)state;
    assert_int_equal(days, -135140);
    for (; year <= 2400; days++) {
        int y, m, d;
        assert_true(hps_date_exists(year, month, day));
        assert_int_equal(hps_date_days(year, month, day), days);
        hps_date_of_days(days, &y, &m, &d);
        assert_true(y == year && m == month && d == day);
        struct hps_date date = { .utc_s = days * 86400 + 86399 };
        assert_int_equal(hps_date_part(&date, HPS_DATE_WEEKDAY), weekday);
        assert_int_equal(hps_date_part(&date, HPS_DATE_DAY), day);
        assert_int_equal(hps_date_part(&date, HPS_DATE_MONTH), month);
        assert_int_equal(hps_date_part(&date, HPS_DATE_YEARDAY), yearday);
        struct tm tm = { .tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day };
        assert_int_equal(timegm(&tm), days * 86400);
        assert_int_equal(tm.tm_wday, weekday % 7);
        weekday = weekday % 7 + 1;
        yearday++;
        if (++day <= length(year, month))
            continue;
        assert_false(hps_date_exists(year, month, day));
        day = 1;
        if (++month <= 12)
            continue;
        month = yearday = 1;
        year++;
    }
}

/* What strftime writes at any second of these years is read back by the same format. */
static void test_round_trips(void **state)
{
    static const char *const formats[] = {
        "%Y-%m-%d %H:%M:%S", "%F %T",          "%d/%b/%Y:%H:%M:%S %z", "%a %B %d %H:%M:%S %Y",
        "%j %Y %H %M %S",    "%Y%m%d%H%M%S%%", "%A, %I:%M:%S %p %m/%d/%Y", "%s", "%Y-%m-%dT%TZ",
    };
    const long long low = -11676096000, high = 13569465600;     /* 1600 to 2400 */

    (void)state;
    for (uint64_t i = 0; i < 20000; i++) {
        time_t at = low + (time_t)(hps_rng_real(1, i) * (double)(high - low));
        const char *format = formats[i % 9];
        struct hps_date date;
        char text[64], why[200];
        struct tm tm;
        gmtime_r(&at, &tm);
        size_t n = strftime(text, sizeof text, format, &tm);
        if (strcmp(format, "%s") == 0)                  /* strftime's is of the local time */
            n = (size_t)sprintf(text, "%lld", (long long)at);
        assert_true(hps_date_check(format, why, sizeof why));
        if (!hps_date_parse(format, text, n, &date) || date.utc_s != at)
            fail_msg("%s by %s is %lld, not %lld", text, format, date.utc_s, (long long)at);
        assert_int_equal(hps_date_part(&date, HPS_DATE_HOUR), tm.tm_hour + 1);
        assert_int_equal(hps_date_part(&date, HPS_DATE_MINUTE), tm.tm_min + 1);
        if (i % 9 == 8)
            assert_true(hps_date_parse("iso", text, n, &date) && date.utc_s == at);
    }
}

static const struct {
    const char *format, *text;
    double s;
    int hour, weekday;                  /* as shown, from 1 */
} good[] = {
    { "iso", "1970-01-01", 0, 1, 4 },
    { "iso", "2014-10-21", 1413849600, 1, 2 },
    { "iso", "2014-10-21T13:45", 1413899100, 14, 2 },
    { "iso", "2014-10-21T13:45:07Z", 1413899107, 14, 2 },
    { "iso", "2014-10-21 13:45:07.25", 1413899107.25, 14, 2 },
    { "iso", "2014-10-21t13:45:07,5z", 1413899107.5, 14, 2 },
    { "iso", "2014-10-21T13:45:00+02:00", 1413891900, 14, 2 },
    { "iso", "2014-10-21 13:45:00 +0200", 1413891900, 14, 2 },
    { "iso", "2014-10-21T23:45:00-05", 1413953100, 24, 2 },
    { "iso", "2014-10-22T00:30:00+14:00", 1413887400, 1, 3 },
    { "iso", "2000-02-29", 951782400, 1, 2 },
    { "iso", "2016-12-31T23:59:60Z", 1483228800, 1, 7 },
    { "iso", "0000-01-01", -62167219200, 1, 6 },
    { "iso", "9999-12-31T23:59:59.9999999999999999999", 253402300800, 24, 5 },
    { "%Y-%m-%d %H:%M:%S", "2014-10-21 \t 3:4:5", 1413860645, 4, 2 },
    { "%d.%m.%y", "1.2.03", 1044057600, 1, 6 },
    { "%d.%m.%y", "31.12.69", -86400, 1, 3 },
    { "%y%m%d%H", "14102100", 1413849600, 1, 2 },
    { "%Y/%j", "2016/366", 1483142400, 1, 6 },
    { "%b %d %Y", "october 21 2014", 1413849600, 1, 2 },
    { "%d-%b-%Y", "21-OCT-2014", 1413849600, 1, 2 },
    { "%m/%d/%Y %I:%M %p", "10/21/2014 12:05 am", 1413849900, 1, 2 },
    { "%m/%d/%Y %I:%M %p", "10/21/2014 12:05 PM", 1413893100, 13, 2 },
    { "%s", "-1", -1, 24, 3 },
    { "%s.%f", "-0.25", -0.25, 24, 3 },
    { "%s.%f", "-1.5", -1.5, 24, 3 },
    { "%s.%f", "-123.00000000000000000005", -123, 24, 3 },
    { "%s.%f", "1413849600.125", 1413849600.125, 1, 2 },
    { "[%d/%b/%Y:%H:%M:%S %z]", "[21/Oct/2014:13:45:00 -0700]", 1413924300, 14, 2 },
};

static const struct {
    const char *format, *text;
} bad[] = {
    { "iso", "" },
    { "iso", "2023-02-29" },
    { "iso", "1900-02-29" },
    { "iso", "2014-13-01" },
    { "iso", "2014-00-10" },
    { "iso", "2014-04-31" },
    { "iso", "2014-10-21T" },
    { "iso", "2014-10-21T24:00" },
    { "iso", "2014-10-21T13" },
    { "iso", "2014-10-21T13:60" },
    { "iso", "2014-10-21T13:45:61" },
    { "iso", "2014-10-21T13:45:00." },
    { "iso", "2014-10-21T13:45:00+24:00" },
    { "iso", "2014-10-21T13:45:00+2" },
    { "iso", "2014-10-21T13:45:00Zx" },
    { "iso", "2014-10-21Z" },
    { "iso", "2014-1-2" },
    { "iso", "20141021" },
    { "iso", "x2014-10-21" },
    { "iso", "12014-10-21" },
    { "%Y-%m-%d", "2014-10-21 " },
    { "%Y-%m-%d", "14-10-21" },
    { "%Y-%m-%d", "2014-10" },
    { "%Y/%j", "2015/366" },
    { "%Y/%j", "2015/0" },
    { "%a %Y-%m-%d", "Mon 2014-10-21" },
    { "%d %b %Y", "21 Okt 2014" },
    { "%m/%d/%Y %I:%M %p", "10/21/2014 13:05 PM" },
    { "%m/%d/%Y %I:%M %p", "10/21/2014 0:05 PM" },
    { "%s", "1413849600000" },
    { "%s", "1e9" },
    { "%s", "253402300800" },
    { "%s", "-62167219201" },
    { "%Y %m", "2014 10" },
};

static void test_texts(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct hps_date d;
        if (!hps_date_parse(good[i].format, good[i].text, strlen(good[i].text), &d))
            fail_msg("%s is no date by %s", good[i].text, good[i].format);
        if (fabs(hps_date_s(&d) - good[i].s) > 1e-6)
            fail_msg("%s is %.6f", good[i].text, hps_date_s(&d));
        assert_int_equal(hps_date_part(&d, HPS_DATE_HOUR), good[i].hour);
        assert_int_equal(hps_date_part(&d, HPS_DATE_WEEKDAY), good[i].weekday);
        assert_true(d.fraction_s >= 0 && d.fraction_s < 1);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hps_date d;
        if (hps_date_parse(bad[i].format, bad[i].text, strlen(bad[i].text), &d))
            fail_msg("'%s' is a date by %s", bad[i].text, bad[i].format);
    }
    struct hps_date d;                                  /* no byte behind the text is looked at */
    assert_true(hps_date_parse("iso", "2014-10-2199", 10, &d) && d.utc_s == 1413849600);
    assert_false(hps_date_parse("%Y-%m-%d", "2014-10\0-01", 11, &d));
}

/* A machine elsewhere, that speaks otherwise, reads the same. */
static void test_elsewhere(void **state)
{
    setenv("TZ", "America/New_York", 1);
    tzset();
    setlocale(LC_ALL, "de_DE.UTF-8");
    test_texts(state);
    unsetenv("TZ");
    setlocale(LC_ALL, "C");
}

static void test_formats(void **state)
{
    static const char *const wrong[] = {
        "",      "ISO",        "iso8601",     "%",         "%Y-%m-%",    "%Y-%m-%d %Q",
        "%Y-%m", "%H:%M",      "%Y %y %m %d", "%m %b %d %Y", "%F %d",    "%Y-%j-%d",
        "%s %Y", "%F %I:%M",   "%F %H %p",    "%F %H %I %p", "%F %M:%S", "%F %H:%S",
        "%F.%f", "%Y%m%d%%%", "%E",
    };
    static const char *const right[] = { "iso", "%F", "%Y %j", "%y%m%d", "%s", "%s%f", "%F%%",
                                         "%F %T.%f%z", "%a %F", "%F %I %p" };
    char why[200];

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        *why = 0;
        if (hps_date_check(wrong[i], why, sizeof why) || !*why)
            fail_msg("'%s' is taken for a format", wrong[i]);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        if (!hps_date_check(right[i], why, sizeof why))
            fail_msg("'%s': %s", right[i], why);
}

static void test_words(void **state)
{
    char words[] = HPS_DATE_WORDS, *rest = words;
    int n = 0;

    (void)state;
    for (char *word; (word = strsep(&rest, "|")); n++) {
        enum hps_date_part part = hps_date_part_named(word);
        assert_true(part != HPS_DATE_WHOLE);
        assert_string_equal(hps_date_part_word(part), word);
    }
    assert_int_equal(n, HPS_DATE_MONTH);
    assert_true(hps_date_part_named("day ") == HPS_DATE_WHOLE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days),      cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_texts),     cmocka_unit_test(test_elsewhere),
        cmocka_unit_test(test_formats),   cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
