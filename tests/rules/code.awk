# code.awk - the rules of the house on C text, comments and strings taken out first. One file a run.
# Prints what breaks a rule as FILE:LINE: REASON, and "length N FILE:LINE" for each function.

# The file by its place in the source, whatever the tarball is called.
function place(name) { return name ~ /\/(src|include)\// ? substr(name, match(name, /(src|include)\//)) : name }

function wrong(line, why) { print FILENAME ":" line ": " why; bad = 1 }

# One line without comments, strings and characters; `inside` carries a comment over lines.
function strip(s,    out, c, two, i, n, quote) {
    out = ""; quote = ""; n = length(s)
    for (i = 1; i <= n; i++) {
        c = substr(s, i, 1); two = substr(s, i, 2)
        if (inside) { if (two == "*/") { inside = 0; i++ } }
        else if (quote != "") { if (c == "\\") i++; else if (c == quote) { quote = ""; out = out c } }
        else if (two == "/*") { inside = 1; i++ }
        else if (two == "//") break
        else { if (c == "\"" || c == "'") quote = c; out = out c }
    }
    return out
}

# Each call of a family in the text so far: what stands before it decides.
function calls(line, text, pattern, macro, why,    rest, before, name) {
    rest = text; before = last
    while (match(rest, pattern)) {
        before = before substr(rest, 1, RSTART - 1)
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (name !~ /^MPI_(Wtime|Wtick|Aint_)/ && before !~ macro) wrong(line, name " ... " why)
        before = before name
    }
}

function statement(line, text, pattern, why) {
    if (text ~ "^[ \t]*" pattern && last ~ /(^|[;{})]|else|#.*)[ \t]*$/) wrong(line, why)
}

BEGIN { maximum = 60; inside = 0; last = "" }
FNR == 1 { file = place(FILENAME) }

{
    if (length($0) > 100) wrong(FNR, "a line of " length($0) " columns")
    if ($0 ~ /[ \t]$/) wrong(FNR, "blanks at the end of the line")
    code = strip($0)
}

file !~ /base\/say\.[ch]$/ && code ~ /(^|[^a-zA-Z0-9_])(printf|fprintf|vprintf|vfprintf|puts|putchar|perror)[ \t]*\(/ {
    wrong(FNR, "only say.c prints")
}
file !~ /base\/quit\.c$/ && code ~ /(^|[^a-zA-Z0-9_])(exit|_exit|_Exit|quick_exit|abort|MPI_Abort)[ \t]*\(/ {
    wrong(FNR, "only quit.c ends the program")
}
file !~ /base\/(world|quit)\.c$/ && code ~ /(^|[^a-zA-Z0-9_])MPI_COMM_WORLD([^a-zA-Z0-9_]|$)/ {
    wrong(FNR, "only world.c names MPI_COMM_WORLD")
}
code ~ /(^|[^a-zA-Z0-9_])(malloc|calloc|realloc|strdup|strndup)[ \t]*\(/ && file !~ /base\/mem\.c$/ {
    wrong(FNR, "memory comes from hps_mem_new")
}
code ~ /^[ \t]*#[ \t]*(el)?if.*HAVE_/ && file !~ /(base\/file\/deep_read|hw\/dev|hw\/cpu\/(gemm|bf16)|hw\/node\/node|comm\/reduce|app\/version)\.c$/ {
    wrong(FNR, "what a build has is asked in the lists only")
}
file !~ /base\/(quit|mpi_check)\.c$/ {
    calls(FNR, code, "(P?MPI_[A-Z][a-z]+[A-Za-z_]*|MPI_T_[a-z_]+)[ \t]*\\(", "HPS_MPI\\([ \t]*$", "outside HPS_MPI")
}
{
    statement(FNR, code, "H5[A-Z]+[a-z_0-9]+[ \t]*\\(", "the result of an HDF5 call is ignored")
    statement(FNR, code, "(cuda|cublas|nccl|nvml)[A-Z][A-Za-z_]*[ \t]*\\(", "the result of a CUDA call is ignored")
    statement(FNR, code, "PAPI_[a-z_]+[ \t]*\\(", "the result of a PAPI call is ignored")
}

# A short if stands on one line where no else follows, as .clang-format has it (WithoutElse).
{
    follows = code ~ /^[ \t]*else([^a-zA-Z0-9_]|$)/
    if (split_if && !follows) wrong(split_if, "a short if on two lines")
    if (joined_if && follows) wrong(joined_if, "an if with an else on one line")
    split_if = joined_if = 0
    if (head && !inside && code ~ /;[ \t]*$/ && code !~ /^[ \t]*(if|for|while|do|switch|else|case|default)([^a-zA-Z0-9_]|$)/) {
        tail = $0
        gsub(/^[ \t]+/, "", tail)
        sub(/[ \t]+\/\*/, " /*", tail)
        if (length(head) + 1 + length(tail) <= 100) split_if = FNR - 1
    }
    head = code ~ /^[ \t]*if \(.*\)$/ && $0 !~ /\/[*\/]/ && gsub(/\(/, "(", code) == gsub(/\)/, ")", code) ? $0 : ""
    if (code ~ /^[ \t]*if \(.*\) .*;[ \t]*$/) joined_if = FNR
}

# A function: a line that begins at the margin, its brace at the margin, its end at the margin.
code ~ /^[a-zA-Z_].*\(/ && code !~ /;[ \t]*$/ { start = FNR }
code ~ /^\{/ && start { open = start; start = 0 }
code ~ /^\}/ && open {
    n = FNR - open + 1
    print "length " n " " FILENAME ":" open
    if (n > maximum) wrong(open, "a function of " n " lines")
    open = 0
}
code !~ /^[ \t]*$/ { last = code }

END { if (FNR > 500) wrong(FNR, "a file of " FNR " lines"); exit bad }
