# curve.awk - from "WHO BATCH EXAMPLES_S" a table, and a drawing into the file `svg`; see curve.sh.
BEGIN {
    k = split("gemms|the GEMMs alone|#888|ranks|2 ranks x 1 thread|#2468c8|" \
              "threads|1 rank x 2 threads|#54a24b|one|1 rank x 1 thread|#72b7b2|" \
              "torch|PyTorch|#d97706|compiled|PyTorch, compiled|#b0412e|" \
              "fbgemm|FBGEMM with PyTorch|#b279a2", part, "|")
    for (i = 1; i <= k; i += 3) {
        who[++nwho] = part[i]; text[nwho] = part[i + 1]; colour[nwho] = part[i + 2]
    }
}
{
    rate[$1, $2] = $3; has[$1] = 1
    if (!($2 in known)) { known[$2]; batch[++n] = $2 }
    if ($3 > most) most = $3
}
function log2(x) { return log(x) / log(2) }
function ratio(x, y) { return x > 0 && y > 0 ? sprintf("%.2f", x / y) : "-" }
function px(b) { return 66 + 560 * (log2(b) - log2(batch[1])) / (log2(batch[n] / batch[1]) + 1e-9) }
function py(x) { return 236 - 202 * x / (1.05 * most) }
function table(    i, j, rule, best) {
    printf "| batch |"; rule = "| --- |"
    for (j = 1; j <= nwho; j++)
        if (has[who[j]]) { printf " %s |", text[j]; rule = rule " --- |" }
    print " of the GEMMs alone | efficiency |"
    print rule " --- | --- |"
    for (i = 1; i <= n; i++) {
        printf "| %d |", batch[i]
        for (j = 1; j <= nwho; j++)
            if (has[who[j]]) printf (rate[who[j], batch[i]] ? " %.4g |" : " - |"), rate[who[j], batch[i]]
        best = rate["ranks", batch[i]]
        if (rate["threads", batch[i]] > best) best = rate["threads", batch[i]]
        printf " %s | %s |\n", ratio(best, rate["gemms", batch[i]]),
            ratio(rate["ranks", batch[i]], 2 * rate["one", batch[i]])
    }
}
function line(j,    i, move) {
    printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" d=\"", colour[j] >svg
    move = "M"
    for (i = 1; i <= n; i++) {
        if (!rate[who[j], batch[i]]) { move = "M"; continue }
        printf "%s%.1f %.1f", move, px(batch[i]), py(rate[who[j], batch[i]]) >svg
        move = "L"
    }
    printf "\"/><path d=\"M644 %dh24\" stroke=\"%s\" stroke-width=\"2\"/>", 44 + 18 * row, colour[j] >svg
    printf "<text x=\"674\" y=\"%d\">%s</text>\n", 48 + 18 * row++, text[j] >svg
}
function drawing(    i, j, tick, v) {
    print "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 280\" " \
          "font-family=\"sans-serif\" font-size=\"11\">" >svg
    print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>" >svg
    printf "<text x=\"66\" y=\"18\" font-size=\"13\">%s</text>\n", title >svg
    for (tick = 1; most / 1000 / tick > 8; tick *= (tick ~ /^2/ ? 2.5 : 2));
    for (v = 0; v <= 1.05 * most / 1000; v += tick)
        printf "<path d=\"M66 %.1fh560\" stroke=\"#e2e6ec\"/><text x=\"60\" y=\"%.1f\" " \
               "text-anchor=\"end\">%g</text>\n", py(1000 * v), py(1000 * v) + 4, v >svg
    for (i = 1; i <= n; i++)
        printf "<text x=\"%.1f\" y=\"252\" text-anchor=\"middle\">%d</text>\n", px(batch[i]), batch[i] >svg
    print "<text x=\"626\" y=\"272\" text-anchor=\"end\">examples of a step</text>" >svg
    for (j = 1; j <= nwho; j++)
        if (has[who[j]]) line(j)
    print "<path d=\"M66 34V236H626\" stroke=\"#5d6b7c\" fill=\"none\"/></svg>" >svg
}
END { table(); drawing() }
