/* report_messages.c - kinds of messages that travelled encoded: how much it saved, and changed. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "train/report/report_impl.h"

void hps_report_put_messages(json_t *j, const struct hps_report_input *f)
{
    json_t *list = json_array();

    for (int kind = 0; kind < HPS_MESSAGES; kind++) {
        const struct hps_message_count *c = &f->traffic.messages[kind];
        if (!f->traffic.codec[kind]) continue;
        json_t *one = json_object();
        hps_report_put_word(one, "kind", hps_message_name[kind]);
        hps_report_put_word(one, "codec", f->traffic.codec[kind]);
        hps_report_put_real(one, "bytes", c->bytes);
        hps_report_put_real(one, "plain_bytes", c->plain_bytes);
        hps_report_put_real(one, "error", hps_message_error(c));
        if (strcmp(f->traffic.codec[kind], "topk") == 0)
            hps_report_put_real(one, "residual", f->traffic.residual);
        hps_report_append(list, one);
    }
    hps_report_put(j, "messages", list);
}

void hps_report_put_rows(json_t *j, const struct hps_report_input *f)
{
    const struct hps_message_count *c = &f->traffic.rows;
    json_t *one = c->bytes > 0 ? json_object() : json_null();

    if (c->bytes > 0) {
        hps_report_put_real(one, "bytes", c->bytes);
        hps_report_put_real(one, "plain_bytes", c->plain_bytes);
        hps_report_put_real(one, "error", hps_message_error(c));
    }
    hps_report_put(j, "rows_at_rest", one);
}

static bool has_rows(const json_t *r)
{
    return json_is_object(json_object_get(r, "rows_at_rest"));
}

static bool is_ids(const json_t *one)
{
    return strcmp(hps_report_word(one, "kind"), hps_message_name[HPS_MESSAGE_IDS]) == 0;
}

/* The lines of messages and rows at rest. Ids, the last kind, share the line of the one before. */
int hps_report_nmessages(const json_t *r)
{
    const json_t *list = json_object_get(r, "messages");
    int n = (int)json_array_size(list);

    n -= n > 1 && is_ids(json_array_get(list, (size_t)n - 1));
    return n + has_rows(r);
}

void hps_report_table_messages(struct hps_page *t, const json_t *r)
{
    const json_t *list = json_object_get(r, "messages");
    size_t n = json_array_size(list);

    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(list, i);
        double error = hps_report_real(one, "error");
        const char *before = i == 0 ? "messages: " : is_ids(one) ? "; " : "\nmessages: ";
        hps_page_add(t, "%s%s %s, %.3g MB of %.3g", before, hps_report_word(one, "kind"),
                     hps_report_word(one, "codec"), 1e-6 * hps_report_real(one, "bytes"),
                     1e-6 * hps_report_real(one, "plain_bytes"));
        if (!isnan(error)) hps_page_add(t, ", error %.2g", error);
        if (json_object_get(one, "residual"))
            hps_page_add(t, ", residual %.2g", hps_report_real(one, "residual"));
    }
    if (n > 0) hps_page_add(t, "\n");
    if (!has_rows(r)) return;
    const json_t *rows = json_object_get(r, "rows_at_rest");
    hps_page_add(t, "rows at rest: %.3g MB of %.3g, error %.2g\n",
                 1e-6 * hps_report_real(rows, "bytes"),
                 1e-6 * hps_report_real(rows, "plain_bytes"), hps_report_real(rows, "error"));
}
