#include "base/plot.h"

#include <math.h>

/* The drawing is 640 x 280; the frame leaves room for the words. */
static const double left = 66, right = 626, top = 34, bottom = 236;

static const char style[] =
    "<style>svg{background:#fff;font-family:sans-serif}text{font-size:11px;fill:#5d6b7c}"
    ".title{font-size:13px;fill:#1c2430}.grid{stroke:#e2e6ec}.frame{stroke:#5d6b7c;fill:none}"
    ".line{fill:none;stroke-width:2}.got{stroke:#2468c8}.said{stroke:#d97706;stroke-dasharray:5 3}"
    ".model{stroke:#5d6b7c;stroke-dasharray:2 3}.dot{fill:#b0412e;fill-opacity:.8}</style>\n";

static double px(const struct hps_plot *p, double x)
{
    return left + (right - left) * (x - p->x0) / (p->x1 - p->x0);
}

static double py(const struct hps_plot *p, double y)
{
    return bottom - (bottom - top) * (y - p->y0) / (p->y1 - p->y0);
}

/* 1, 2 or 5 times a power of ten, so that about `n` of them make the range. */
static double tick_of(double range, int n)
{
    double unit = pow(10, floor(log10(range / n))), k = range / n / unit;

    return unit * (k < 1.5 ? 1 : k < 3.5 ? 2 : k < 7.5 ? 5 : 10);
}

static void tick(struct hps_page *t, double x, double y, const char *anchor, double value)
{
    hps_page_add(t, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%.6g</text>", x, y, anchor,
                 fabs(value) < 1e-12 ? 0 : value);
}

static void ticks(const struct hps_plot *p)
{
    double dx = tick_of(p->x1 - p->x0, 8), dy = tick_of(p->y1 - p->y0, 5);

    for (double x = ceil(p->x0 / dx) * dx; !p->words_x && x <= p->x1 + dx * 1e-6; x += dx)
        tick(p->text, px(p, x), bottom + 16, "middle", x);
    for (double y = ceil(p->y0 / dy) * dy; !p->words_y && y <= p->y1 + dy * 1e-6; y += dy) {
        hps_page_add(p->text, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", left, py(p, y),
                     right);
        tick(p->text, left - 6, py(p, y) + 4, "end", y);
    }
}

void hps_plot_begin(const struct hps_plot *plot, const char *title, const char *x, const char *y)
{
    struct hps_page *t = plot->text;

    hps_page_add(t, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 280\""
                    " role=\"img\"><title>%s</title>", title);
    hps_page_add(t, "<text class=\"title\" x=\"%.0f\" y=\"18\">%s</text>", left, title);
    ticks(plot);
    hps_page_add(t, "<text x=\"%.0f\" y=\"272\" text-anchor=\"end\">%s</text>", right, x);
    hps_page_add(t, "<text x=\"%.0f\" y=\"18\" text-anchor=\"end\">%s</text>\n", right, y);
}

void hps_plot_dress(const struct hps_plot *plot)
{
    hps_page_add(plot->text, "%s", style);
}

void hps_plot_line(const struct hps_plot *plot, int n, const double *x, const double *y,
                   const char *style)
{
    char move = 'M';

    hps_page_add(plot->text, "<path class=\"line %s\" d=\"", style);
    for (int i = 0; i < n; i++) {
        if (!isfinite(x[i]) || !isfinite(y[i])) {
            move = 'M';
            continue;
        }
        hps_page_add(plot->text, "%c%.1f %.1f", move, px(plot, x[i]), py(plot, y[i]));
        move = 'L';
    }
    hps_page_add(plot->text, "\"/>\n");
}

void hps_plot_dot(const struct hps_plot *plot, double x, double y, double radius, const char *tip)
{
    if (!isfinite(x) || !isfinite(y)) return;
    hps_page_add(plot->text, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>",
                 px(plot, x), py(plot, y), radius);
    hps_page_xml(plot->text, tip);
    hps_page_add(plot->text, "</title></circle>\n");
}

void hps_plot_box(const struct hps_plot *plot, double xa, double xb, double ya, double yb,
                  const char *style, const char *tip)
{
    if (!(isfinite(xa) && isfinite(xb) && isfinite(ya) && isfinite(yb))) return;
    hps_page_add(plot->text, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\""
                 " height=\"%.2f\"><title>", style, px(plot, xa), py(plot, yb),
                 fmax(px(plot, xb) - px(plot, xa), 0), fmax(py(plot, ya) - py(plot, yb), 0));
    hps_page_xml(plot->text, tip);
    hps_page_add(plot->text, "</title></rect>");
}

void hps_plot_word(const struct hps_plot *plot, char way, double at, const char *word)
{
    hps_page_add(plot->text, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">",
                 way == 'x' ? px(plot, at) : left - 6, way == 'x' ? bottom + 16 : py(plot, at) + 4,
                 way == 'x' ? "middle" : "end");
    hps_page_xml(plot->text, word);
    hps_page_add(plot->text, "</text>");
}

void hps_plot_legend(const struct hps_plot *plot, int row, const char *style_of, const char *word)
{
    double x = left + 10, y = top + 12 + 15 * row;

    if (style_of[0] == 'd')
        hps_page_add(plot->text, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", x + 12,
                     y);
    else
        hps_page_add(plot->text, "<path class=\"line %s\" d=\"M%.1f %.1fh24\"/>", style_of, x, y);
    hps_page_add(plot->text, "<text x=\"%.1f\" y=\"%.1f\">", x + 32, y + 4);
    hps_page_xml(plot->text, word);
    hps_page_add(plot->text, "</text>\n");
}

void hps_plot_end(const struct hps_plot *plot)
{
    hps_page_add(plot->text, "<path class=\"frame\" d=\"M%.0f %.0fV%.0fH%.0f\"/></svg>\n", left,
                 top, bottom, right);
}
