/* plot.h - plots as SVG: data ranges x0..x1 and y0..y1, axes with round numbers or with words. */
#ifndef HPS_BASE_PLOT_H
#define HPS_BASE_PLOT_H

#include <stdbool.h>

#include "base/page.h"

struct hps_plot {
    struct hps_page *text;
    double x0, x1, y0, y1;
    bool words_x, words_y;              /* no numbers on this axis: hps_plot_word */
};
void hps_plot_begin(const struct hps_plot *plot, const char *title, const char *x, const char *y);
/* After begin: colours and fonts, for a plot that is a file of its own. */
void hps_plot_dress(const struct hps_plot *plot);
/* A line through n points, NaN leaves a gap; `style` is a class of the page: "got" (solid), "said"
 * (dashed), "model" (dotted). */
void hps_plot_line(const struct hps_plot *plot, int n, const double *x, const double *y,
                   const char *style);
/* A dot or a box; `tip` (plain text) shows under the pointer. Nothing where it is not finite. */
void hps_plot_dot(const struct hps_plot *plot, double x, double y, double radius, const char *tip);
void hps_plot_box(const struct hps_plot *plot, double xa, double xb, double ya, double yb,
                  const char *style, const char *tip);
/* A word at x under the axis (way 'x'), at y beside it ('y'). */
void hps_plot_word(const struct hps_plot *plot, char way, double at, const char *word);
/* Row `row` (0, 1, ...) of a legend in the frame's upper left: a line of this style, or a dot
 * (style "dot"), and what it is. */
void hps_plot_legend(const struct hps_plot *plot, int row, const char *style, const char *word);
void hps_plot_end(const struct hps_plot *plot);

#endif
