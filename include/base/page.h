/* page.h - a text that grows, for people: fields of a table, insides of XML, numbers. */
#ifndef HPS_BASE_PAGE_H
#define HPS_BASE_PAGE_H

#include <stddef.h>

/* `at` is NULL or ends in 0, to free with hps_mem_free. */
struct hps_page {
    char *at;
    size_t n, cap;
};
void hps_page_add(struct hps_page *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Add at most `max` > 2 characters (UTF-8) of a word; a word that is cut ends in ".."; returns how
 * many. */
int hps_page_cut(struct hps_page *text, const char *word, int max);
/* `word` in `width` columns: cut or filled up; width < 0: to the right. */
void hps_page_fit(struct hps_page *text, const char *word, int width);
/* A word for the insides of XML, which has no control characters (base/escape.h). */
void hps_page_xml(struct hps_page *text, const char *word);
/* A real with 4 digits, without exponent where it is not too small or large; "none" for NaN. */
const char *hps_page_real(char *to, size_t size, double x);

#endif
