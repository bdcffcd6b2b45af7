/* report_messages.c - kinds of messages that travelled encoded: how much it saved, and changed. */
#include "base/json.h"
#include "train/report/report_impl.h"

static bool is_on(const struct hps_run_traffic *t, int kind)
{
    return t->codec[kind] && hps_codec_converts(t->codec[kind]);
}

void hps_report_put_messages(json_t *j, const struct hps_report_input *f)
{
    json_t *list = json_array();

    for (int kind = 0; kind < HPS_MESSAGES; kind++) {
        const struct hps_message_count *c = &f->traffic.messages[kind];
        if (!is_on(&f->traffic, kind)) continue;
        json_t *one = json_object();
        hps_report_put_word(one, "kind", hps_message_name[kind]);
        hps_report_put_word(one, "codec", f->traffic.codec[kind]->name);
        hps_report_put_real(one, "bytes", c->bytes);
        hps_report_put_real(one, "fp32_bytes", c->fp32_bytes);
        hps_report_put_real(one, "error", hps_message_error(c));
        hps_report_append(list, one);
    }
    hps_report_put(j, "messages", list);
}

int hps_report_nmessages(const json_t *r)
{
    return (int)json_array_size(json_object_get(r, "messages"));
}

void hps_report_table_messages(struct hps_page *t, const json_t *r)
{
    const json_t *list = json_object_get(r, "messages");
    char text[32];

    for (int i = 0; i < hps_report_nmessages(r); i++) {
        const json_t *one = json_array_get(list, (size_t)i);
        hps_page_add(t, "messages: %s as %s, %.4g MB instead of %.4g, error %s\n",
                     hps_report_word(one, "kind"), hps_report_word(one, "codec"),
                     1e-6 * hps_report_real(one, "bytes"),
                     1e-6 * hps_report_real(one, "fp32_bytes"),
                     hps_page_real(text, sizeof text, hps_report_real(one, "error")));
    }
}
