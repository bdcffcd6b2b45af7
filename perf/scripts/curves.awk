# curves.awk - from "LINE X MEASURED PROMISED" a drawing into the file `svg`, each line as measured
# (solid, with dots) and as promised (dashed); LINE with _ for spaces. `title`, `under`: what X is.
# See curves.sh.
BEGIN { split("#2468c8 #d97706 #54a24b #b0412e", colour, " ") }
{
    if (!($1 in row)) { row[$1] = ++nline; name[nline] = $1; gsub(/_/, " ", name[nline]) }
    k = row[$1]
    i = ++n[k]
    x[k, i] = $2; got[k, i] = $3; said[k, i] = $4
    if ($2 > most_x) most_x = $2
    if ($3 > most) most = $3
    if ($4 > most) most = $4
}
function px(v) { return 66 + 520 * v / (1.05 * most_x) }
function py(v) { return 236 - 202 * v / (1.05 * most) }
# tick(up): a round distance of at most eight marks
function tick(up,    t) {
    for (t = 10 ^ int(log(up) / log(10) - 2); up / t > 8; t *= (sprintf("%e", t) ~ /^2/ ? 2.5 : 2));
    return t
}
function path(k, which, style,    i) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s d=\"", colour[k], style >svg
    for (i = 1; i <= n[k]; i++)
        printf "%s%.1f %.1f", (i > 1 ? "L" : "M"), px(x[k, i]),
            py(which == "got" ? got[k, i] : said[k, i]) >svg
    print "\"/>" >svg
}
function line(k,    i, y) {
    path(k, "said", " stroke-dasharray=\"5 4\"")
    path(k, "got", "")
    for (i = 1; i <= n[k]; i++)
        printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", px(x[k, i]),
            py(got[k, i]), colour[k] >svg
    y = 44 + 36 * (k - 1)
    printf "<path d=\"M600 %dh24\" stroke=\"%s\" stroke-width=\"2\"/>" \
        "<text x=\"630\" y=\"%d\">%s</text>\n", y, colour[k], y + 4, name[k] >svg
    printf "<path d=\"M600 %dh24\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"5 4\"/>" \
        "<text x=\"630\" y=\"%d\">as promised</text>\n", y + 18, colour[k], y + 22 >svg
}
function axes(    v, t) {
    t = tick(1.05 * most)
    for (v = 0; v <= 1.05 * most; v += t)
        printf "<path d=\"M66 %.1fh520\" stroke=\"#e2e6ec\"/><text x=\"60\" y=\"%.1f\" " \
            "text-anchor=\"end\">%g</text>\n", py(v), py(v) + 4, v >svg
    t = tick(1.05 * most_x)
    if (t < 1) t = 1
    for (v = 0; v <= 1.05 * most_x; v += t)
        printf "<text x=\"%.1f\" y=\"252\" text-anchor=\"middle\">%g</text>\n", px(v), v >svg
    printf "<text x=\"586\" y=\"272\" text-anchor=\"end\">%s</text>\n", under >svg
}
END {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 280\" " \
          "font-family=\"sans-serif\" font-size=\"11\">" >svg
    print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>" >svg
    printf "<text x=\"66\" y=\"18\" font-size=\"13\">%s</text>\n", title >svg
    axes()
    for (k = 1; k <= nline; k++) line(k)
    print "<path d=\"M66 34V236H586\" stroke=\"#5d6b7c\" fill=\"none\"/></svg>" >svg
}
