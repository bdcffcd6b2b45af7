/* date_text.c - points in time out of text, as a format says. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "data/date.h"

enum { DAY_S = 86400 };

enum field {
    YEAR, MONTH, DAY, YEARDAY, HOUR, HOUR12, AFTERNOON, MINUTE, SECOND, FRACTION, OFFSET, WEEKDAY,
    EPOCH, FIELDS
};

struct said {
    const char *at, *end;
    long long value[FIELDS];
    bool has[FIELDS];
    double fraction_s;
    bool minus;                         /* seconds before 1970: the fraction, too */
};

static bool put(struct said *t, enum field f, long long value)
{
    t->value[f] = value;
    t->has[f] = true;
    return true;
}

static bool is_digit(const struct said *t)
{
    return t->at < t->end && (unsigned char)(*t->at - '0') < 10;
}

static bool number(struct said *t, int least, int most, long long *value)
{
    int n = 0;

    for (*value = 0; n < most && is_digit(t); n++)
        *value = *value * 10 + (*t->at++ - '0');
    return n >= least;
}

/* A number of so many digits within bounds. */
static bool within(struct said *t, enum field f, int least, int most, int low, int high)
{
    long long x;

    return number(t, least, most, &x) && x >= low && x <= high && put(t, f, x);
}

static bool sign(struct said *t, char c)
{
    if (t->at == t->end || *t->at != c) return false;
    t->at++;
    return true;
}

static bool any_sign(struct said *t, const char *signs)
{
    if (t->at == t->end || !*t->at || !strchr(signs, *t->at)) return false;
    t->at++;
    return true;
}

static bool fraction(struct said *t)
{
    double unit = 0.1;

    if (!is_digit(t)) return false;
    for (; is_digit(t); t->at++, unit /= 10)
        t->fraction_s += unit * (*t->at - '0');
    t->fraction_s = t->fraction_s < 1 ? t->fraction_s : 1 - 1e-15;
    return put(t, FRACTION, 0);
}

/* Z, +HH, +HHMM, +HH:MM */
static bool offset(struct said *t)
{
    long long hours, minutes = 0;
    int way;

    if (any_sign(t, "Zz")) return put(t, OFFSET, 0);
    way = sign(t, '+') ? 1 : -1;
    if (way < 0 && !sign(t, '-')) return false;
    if (!number(t, 2, 2, &hours) || hours > 23) return false;
    if ((sign(t, ':') || is_digit(t)) && (!number(t, 2, 2, &minutes) || minutes > 59)) return false;
    return put(t, OFFSET, way * (hours * 3600 + minutes * 60));
}

/* The longest name of a list, or its first three letters, at the text; from 1. */
static bool name(struct said *t, enum field f, const char *const *names, int n)
{
    size_t left = (size_t)(t->end - t->at);

    for (int i = 0; i < n; i++) {
        size_t whole = strlen(names[i]), length = whole;
        if (left < whole || strncasecmp(t->at, names[i], whole) != 0) length = 3;
        if (left < length || strncasecmp(t->at, names[i], length) != 0) continue;
        t->at += length;
        return put(t, f, i + 1);
    }
    return false;
}

static bool month_name(struct said *t)
{
    static const char *const names[] = { "January",   "February", "March",    "April",
                                         "May",       "June",     "July",     "August",
                                         "September", "October",  "November", "December" };
    return name(t, MONTH, names, 12);
}

static bool weekday_name(struct said *t)
{
    static const char *const names[] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                         "Friday", "Saturday", "Sunday" };
    return name(t, WEEKDAY, names, 7);
}

static bool half_of_day(struct said *t)
{
    bool pm = any_sign(t, "Pp");

    return (pm || any_sign(t, "Aa")) && any_sign(t, "Mm") && put(t, AFTERNOON, pm);
}

/* Within the years that there are: what counts in thousandths of seconds is beyond them. */
static bool epoch(struct said *t)
{
    const long long low = hps_date_days(0, 1, 1) * DAY_S, high = hps_date_days(10000, 1, 1) * DAY_S;
    long long x;

    t->minus = sign(t, '-');
    if (!number(t, 1, 12, &x)) return false;
    x = t->minus ? -x : x;
    return x >= low && x < high && put(t, EPOCH, x);
}

/* ---- formats ---- */

struct conversion {
    char letter;
    enum field field;
    int least, most, low, high;         /* a number: digits and bounds               */
    bool (*read)(struct said *);        /* else                                      */
};

static const struct conversion conversions[] = {
    { 'Y', YEAR, 4, 4, 0, 9999, NULL },
    { 'm', MONTH, 1, 2, 1, 12, NULL },
    { 'd', DAY, 1, 2, 1, 31, NULL },
    { 'H', HOUR, 1, 2, 0, 23, NULL },
    { 'M', MINUTE, 1, 2, 0, 59, NULL },
    { 'S', SECOND, 1, 2, 0, 60, NULL },
    { 'y', YEAR, 2, 2, 0, 99, NULL },
    { 'b', MONTH, 0, 0, 0, 0, month_name },
    { 'B', MONTH, 0, 0, 0, 0, month_name },
    { 'j', YEARDAY, 1, 3, 1, 366, NULL },
    { 's', EPOCH, 0, 0, 0, 0, epoch },
    { 'z', OFFSET, 0, 0, 0, 0, offset },
    { 'f', FRACTION, 0, 0, 0, 0, fraction },
    { 'I', HOUR12, 1, 2, 1, 12, NULL },
    { 'p', AFTERNOON, 0, 0, 0, 0, half_of_day },
    { 'a', WEEKDAY, 0, 0, 0, 0, weekday_name },
    { 'A', WEEKDAY, 0, 0, 0, 0, weekday_name },
};

static const struct conversion *find(char letter)
{
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++)
        if (conversions[i].letter == letter) return &conversions[i];
    return NULL;
}

/* What stands for several conversions. */
static const char *longer(char letter)
{
    return letter == 'F' ? "%Y-%m-%d" : letter == 'T' ? "%H:%M:%S" : NULL;
}

static bool convert(struct said *t, const struct conversion *c)
{
    if (c->read) return c->read(t);
    if (!within(t, c->field, c->least, c->most, c->low, c->high)) return false;
    if (c->letter == 'y') t->value[YEAR] += t->value[YEAR] < 69 ? 2000 : 1900;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool blanks(struct said *t)
{
    const char *from = t->at;

    while (t->at < t->end && is_blank(*t->at))
        t->at++;
    return t->at > from;
}

static bool read_format(struct said *t, const char *format)
{
    for (const char *f = format; *f; f++) {
        if (is_blank(*f)) {
            while (is_blank(f[1]))
                f++;
            if (!blanks(t)) return false;
        } else if (*f != '%' || f[1] == '%') {
            f += *f == '%';
            if (!sign(t, *f)) return false;
        } else if (longer(*++f) ? !read_format(t, longer(*f)) : !convert(t, find(*f))) {
            return false;
        }
    }
    return true;
}

static bool iso_day(struct said *t)
{
    return within(t, YEAR, 4, 4, 0, 9999) && sign(t, '-') && within(t, MONTH, 2, 2, 1, 12) &&
           sign(t, '-') && within(t, DAY, 2, 2, 1, 31);
}

static bool iso_time(struct said *t)
{
    if (!within(t, HOUR, 2, 2, 0, 23) || !sign(t, ':') || !within(t, MINUTE, 2, 2, 0, 59))
        return false;
    if (!sign(t, ':')) return true;
    return within(t, SECOND, 2, 2, 0, 60) && (!any_sign(t, ".,") || fraction(t));
}

static bool read_iso(struct said *t)
{
    if (!iso_day(t)) return false;
    if (t->at == t->end) return true;
    if (!any_sign(t, "Tt ") || !iso_time(t)) return false;
    if (t->at == t->end) return true;
    sign(t, ' ');
    return offset(t);
}

static bool day_of(const struct said *t, long long *days)
{
    int year = (int)t->value[YEAR], month = (int)t->value[MONTH], day = (int)t->value[DAY];
    struct hps_date date;

    if (t->has[YEARDAY])
        *days = hps_date_days(year, 1, 1) + t->value[YEARDAY] - 1;
    else if (hps_date_exists(year, month, day))
        *days = hps_date_days(year, month, day);
    else
        return false;
    date = (struct hps_date){ .utc_s = *days * DAY_S };
    return *days < hps_date_days(year + 1, 1, 1) &&
           (!t->has[WEEKDAY] || t->value[WEEKDAY] == hps_date_part(&date, HPS_DATE_WEEKDAY));
}

static bool settle(const struct said *t, struct hps_date *date)
{
    long long days, hour = t->value[HOUR];

    *date = (struct hps_date){ .utc_s = t->value[EPOCH], .fraction_s = t->fraction_s,
                               .offset_s = (int)t->value[OFFSET] };
    if (t->minus && t->fraction_s > 1e-15) {            /* less is nothing beside a 1 */
        date->utc_s--;
        date->fraction_s = 1 - t->fraction_s;
    }
    if (t->has[EPOCH]) return true;
    if (!day_of(t, &days)) return false;
    if (t->has[HOUR12]) hour = t->value[HOUR12] % 12 + 12 * t->value[AFTERNOON];
    date->utc_s = days * DAY_S + hour * 3600 + t->value[MINUTE] * 60 + t->value[SECOND] -
                  t->value[OFFSET];
    return true;
}

static bool is_iso(const char *format)
{
    return strcmp(format, "iso") == 0;
}

bool hps_date_parse(const char *format, const char *s, size_t n, struct hps_date *date)
{
    struct said t = { .at = s, .end = s + n };
    bool good = is_iso(format) ? read_iso(&t) : read_format(&t, format);

    return good && t.at == t.end && settle(&t, date);
}

/* What a format has, each once; false: `why`. */
static bool list(const char *format, bool *has, char *why, size_t size)
{
    for (const char *f = strchr(format, '%'); f; f = strchr(f + 2, '%')) {
        const struct conversion *c = find(f[1]);
        if (!f[1]) {
            snprintf(why, size, "it ends in a %% alone");
            return false;
        }
        if (longer(f[1]) && !list(longer(f[1]), has, why, size)) return false;
        if (f[1] == '%' || longer(f[1])) continue;
        if (!c || has[c->field]) {
            snprintf(why, size, c ? "%%%c is there twice, or what means the same"
                                  : "%%%c is not known (%%Y %%m %%d %%H %%M %%S %%y %%b %%j %%s "
                                    "%%z %%f %%I %%p %%a %%F %%T %%%%)", f[1]);
            return false;
        }
        has[c->field] = true;
    }
    return true;
}

static const char *contradiction(const bool *has)
{
    int others = 0;

    for (int f = 0; f < FIELDS; f++)
        others += has[f] && f != EPOCH && f != FRACTION;
    if (has[EPOCH]) return others ? "%s is a whole date: nothing but %f goes with it" : NULL;
    if (has[YEARDAY] && (has[MONTH] || has[DAY]))
        return "%j is a whole day: no month and no day go with it";
    if (!has[YEAR] || (!has[YEARDAY] && (!has[MONTH] || !has[DAY])))
        return "a whole date is wanted: year, month and day, or year and %j, or %s";
    if (has[HOUR12] != has[AFTERNOON] || (has[HOUR] && has[HOUR12]))
        return "%I and %p go together, and not with %H";
    if ((has[MINUTE] && !has[HOUR] && !has[HOUR12]) || (has[SECOND] && !has[MINUTE]) ||
        (has[FRACTION] && !has[SECOND]))
        return "%M needs an hour, %S needs %M, and %f needs %S or %s";
    return NULL;
}

bool hps_date_check(const char *format, char *why, size_t size)
{
    bool has[FIELDS] = { false };
    const char *wrong;

    if (is_iso(format)) return true;
    if (!strchr(format, '%')) {
        snprintf(why, size, "neither iso nor a format with %%Y and others");
        return false;
    }
    if (!list(format, has, why, size)) return false;
    wrong = contradiction(has);
    if (wrong) snprintf(why, size, "%s", wrong);
    return !wrong;
}
