# shellcheck shell=sh
# tiers.sh - what the scripts share that measure rows in memory and in a file; read behind networks.sh.
# $directory: where the files are (DIRECTORY; the scratch folder), on the disk that is measured.
directory=${DIRECTORY:-$HPS_TMP/rows}
mkdir -p "$directory"

# tiers KEY: the sum of a number over the tables of the report
tiers() {
    sed -n '/^ "tiers": \[/,/^ \]/p' runs/it/report.json |
        awk -v key="\"$1\":" '$1 == key { sum += $2 } END { printf "%.6g\n", sum }'
}

# bytes_of SHARE [FLOATS]: memory for that share of the rows (of $rows of $row floats, or so many),
# with the index
bytes_of() {
    awk -v s="$1" -v n="$rows" -v row="${2:-$row}" \
        'BEGIN { printf "%.0f\n", n * (5 + s * (4 * row + 15)) }'
}

# per A B; less A B; product A B: the quotient, the difference, the product
per() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.6g\n", a / b }'; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.9g\n", a - b }'; }
product() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.9g\n", a * b }'; }

# keep_io: from now on the program leaves its /proc/self/io in the file io when it ends
keep_io() {
    program=$(readlink build/heterps)
    rm build/heterps
    cat >build/heterps <<EOT
#!/bin/sh
"$program" "\$@"
status=\$?
cat /proc/\$\$/io >"$HPS_TMP/io"
exit \$status
EOT
    chmod +x build/heterps
}
io() { awk -v key="$1:" '$1 == key { print $2 }' io; }
