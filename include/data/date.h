/* date.h - parses dates and times: ISO 8601, or a format like that of strptime. Locale and time
 * zone of the machine do not matter: a text without an offset is in UTC.
 *
 * "iso": YYYY-MM-DD, and behind a T or a blank perhaps HH:MM, :SS, a fraction (.5 or ,5), and an
 * offset: Z, +HH, +HHMM or +HH:MM. Any other format has conversions:
 *     %Y year (4 digits)          %m month, %d day (1 or 2)    %j day of the year (1 to 3)
 *     %y year, 69 to 68 are 1969 to 2068 (2 digits)            %F is %Y-%m-%d
 *     %b or %B month, %a or %A day of the week, as in English, whole or of three letters
 *     %H hour, %M minute, %S second (1 or 2)                   %T is %H:%M:%S
 *     %I hour of 12, with %p: AM or PM                         %f digits of a fraction of a second
 *     %s seconds since 1970 in UTC                             %z offset, as in iso      %% is %
 * A blank matches one or more blanks, other characters match themselves. The calendar is Gregorian,
 * years 0 to 9999. Second 60 is the first of the next minute. */
#ifndef HPS_DATA_DATE_H
#define HPS_DATA_DATE_H

#include <stdbool.h>
#include <stddef.h>

struct hps_date {
    long long utc_s;            /* whole seconds since 1970-01-01T00:00:00Z              */
    double fraction_s;          /* in [0, 1)                                             */
    int offset_s;               /* of the text's clock, east of UTC                      */
};

/* Is this a format: all conversions known and unique, a complete date, no contradiction? If not,
 * `why` has the reason. Pure. */
bool hps_date_check(const char *format, char *why, size_t size);

/* Parse all of s[0..n) by a checked format. False: no match, or a day that does not exist. Pure. */
bool hps_date_parse(const char *format, const char *s, size_t n, struct hps_date *date);

/* Seconds since 1970-01-01T00:00:00Z, within what a double can hold. Pure. */
double hps_date_s(const struct hps_date *date);

/* Days since 1970-01-01 of an existing day, and the inverse. Pure. */
bool hps_date_exists(int year, int month, int day);
long long hps_date_days(int year, int month, int day);
void hps_date_of_days(long long days, int *year, int *month, int *day);

/* Parts of a date by the clock of the text, numbered from 1: minute 0 is 1, hour 0 is 1, Monday is
 * 1. */
enum hps_date_part {
    HPS_DATE_WHOLE,             /* no part                                               */
    HPS_DATE_MINUTE,
    HPS_DATE_HOUR,
    HPS_DATE_WEEKDAY,
    HPS_DATE_DAY,
    HPS_DATE_YEARDAY,
    HPS_DATE_MONTH
};

#define HPS_DATE_WORDS "minute|hour|weekday|day|yearday|month"

/* HPS_DATE_WHOLE for a word that is none of HPS_DATE_WORDS, and the word of a part. Pure. */
enum hps_date_part hps_date_part_named(const char *word);
const char *hps_date_part_word(enum hps_date_part part);
/* The largest number that a part can have, and its number in a date. Pure. */
int hps_date_part_max(enum hps_date_part part);
int hps_date_part(const struct hps_date *date, enum hps_date_part part);

#endif
