/* date.c - the calendar, and the parts of a date. */
#include "data/date.h"

#include <string.h>

enum {
    DAY_S = 86400,
    YEAR_DAYS = 365,
    CYCLE_YEARS = 400,
    CYCLE_DAYS = 146097,                /* of 400 years                              */
    DAYS_TO_1970 = 719162               /* from 0001-01-01 on                        */
};

static const int days_before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365 };

static bool is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days of a year before a month, from 1 to 13. */
static int before_month(int year, int month)
{
    return days_before[month - 1] + (month > 2 && is_leap(year));
}

/* The first day of a year from -400 on: whole years before it, and their leap days. */
static long long year_begin(int year)
{
    long long y = (long long)year - 1 + CYCLE_YEARS;    /* division rounds down from here on */

    return YEAR_DAYS * y + y / 4 - y / 100 + y / 400 - CYCLE_DAYS - DAYS_TO_1970;
}

bool hps_date_exists(int year, int month, int day)
{
    return year >= 0 && year <= 9999 && month >= 1 && month <= 12 && day >= 1 &&
           day <= before_month(year, month + 1) - before_month(year, month);
}

long long hps_date_days(int year, int month, int day)
{
    return year_begin(year) + before_month(year, month) + day - 1;
}

static int year_of(long long days)
{
    int year = 1970 + (int)(days / (YEAR_DAYS + 1));    /* at most some years off */

    while (year_begin(year) > days)
        year--;
    while (year_begin(year + 1) <= days)
        year++;
    return year;
}

void hps_date_of_days(long long days, int *year, int *month, int *day)
{
    int rest;

    *year = year_of(days);
    rest = (int)(days - year_begin(*year));
    for (*month = 1; before_month(*year, *month + 1) <= rest; ++*month)
        continue;
    *day = rest - before_month(*year, *month) + 1;
}

static long long floor_div(long long a, long long b)
{
    return a / b - (a % b < 0);
}

/* Monday is 1; 1970 began on a Thursday. */
static int weekday_of(long long days)
{
    return (int)(days + 3 - 7 * floor_div(days + 3, 7)) + 1;
}

double hps_date_s(const struct hps_date *date)
{
    return (double)date->utc_s + date->fraction_s;
}

static const struct {
    const char *word;
    int most;
} parts[] = {
    [HPS_DATE_MINUTE] = { "minute", 60 },   [HPS_DATE_HOUR] = { "hour", 24 },
    [HPS_DATE_WEEKDAY] = { "weekday", 7 },  [HPS_DATE_DAY] = { "day", 31 },
    [HPS_DATE_YEARDAY] = { "yearday", 366 }, [HPS_DATE_MONTH] = { "month", 12 },
};

enum { PARTS = sizeof parts / sizeof *parts };

enum hps_date_part hps_date_part_named(const char *word)
{
    for (int i = HPS_DATE_WHOLE + 1; i < PARTS; i++)
        if (strcmp(parts[i].word, word) == 0) return (enum hps_date_part)i;
    return HPS_DATE_WHOLE;
}

const char *hps_date_part_word(enum hps_date_part part)
{
    return parts[part].word;
}

int hps_date_part_max(enum hps_date_part part)
{
    return parts[part].most;
}

int hps_date_part(const struct hps_date *date, enum hps_date_part part)
{
    long long shown_s = date->utc_s + date->offset_s, days = floor_div(shown_s, DAY_S);
    int second = (int)(shown_s - days * DAY_S), year, month, day;

    hps_date_of_days(days, &year, &month, &day);
    switch (part) {
    case HPS_DATE_MINUTE:
        return second / 60 % 60 + 1;
    case HPS_DATE_HOUR:
        return second / 3600 + 1;
    case HPS_DATE_WEEKDAY:
        return weekday_of(days);
    case HPS_DATE_DAY:
        return day;
    case HPS_DATE_YEARDAY:
        return before_month(year, month) + day;
    case HPS_DATE_MONTH:
        return month;
    case HPS_DATE_WHOLE:
        break;
    }
    return 0;
}
