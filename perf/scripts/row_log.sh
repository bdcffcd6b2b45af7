#!/bin/sh
# row_log.sh - rows in a file on a node-local disk: random reads of rows through the row log, beside
# what the disk of TMPDIR gives alone at a depth of 128, measured in turn; what is written for rows
# that are updated. ROWS (10,000,000) of BYTES (128), batches of BATCHES (2000 10000) rows, ROUNDS
# (7) of READS (200,000); UPDATES (100,000,000) in batches of the last. 4.5 GB of the disk, some ten
# minutes.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh
. perf/scripts/networks.sh
rows=${ROWS:-10000000} bytes=${BYTES:-128} batches=${BATCHES:-2000 10000} rounds=${ROUNDS:-7}
reads=${READS:-200000} updates=${UPDATES:-100000000}

smaller() { awk -v a="$1" -v b="$2" 'BEGIN { print a + 0 < b + 0 ? a : b }'; }
# of NAME: a number of the run
of() { awk -v name="$1" '$1 == name { print $2 }' out; }

build_tool row_log
title 'Rows on a disk: read at random, and updated'
header batch 'the disk alone, reads/s' 'the row log: one read at a time' 'two under way' \
    'over the disk alone: one' two 'processor, us a read: alone' one two 'bytes a read'
for batch in $batches; do
    last=$updates
    [ "$batch" = "${batches##* }" ] || last=0
    said build/row_log . "$rows" "$bytes" "$batch" "$rounds" "$reads" "$last"
    row "$batch" "$(of alone_reads_s)" "$(of one_reads_s)" "$(of two_reads_s)" \
        "$(of one_ratio)" "$(of two_ratio)" "$(of alone_cpu_us)" "$(of one_cpu_us)" \
        "$(of two_cpu_us)" "$(of two_bytes)"
    least=$(smaller "${least:-9}" "$(of two_ratio)")
    most=$(larger "${most:-0}" "$(of two_bytes)")
done
echo
header rows 'bytes written over those appended' 'rows copied for one appended' \
    'rows appended a second' 'of which waiting' "file over the rows' bytes"
for name in zipf uniform; do
    row $name "$(of ${name}_written)" "$(of ${name}_cleaned)" "$(of ${name}_rows_s)" \
        "$(of ${name}_waited)" "$(of file)"
done
written=$(of zipf_written)
cat <<EOT

Reads are of 4 KiB pages with direct I/O, by io_uring; the disk alone: by a loop that does nothing with them.
Ratios are medians of rounds, each beside the disk of that moment. Updates are the distinct rows of batches drawn
by Zipf 1.05 over scattered rows, or uniformly; the second half of them is counted. Bytes written are those of
whole pages: heads, row numbers and rows copied while segments are cleaned.

EOT
goal "two reads under way: at least 0.9 of the disk's own rate ($least)" at_most 0.9 "$least"
goal "bytes read for a page, at most 1.01 of its own ($most)" at_most "$most" 4137
goal "bytes written for rows drawn by Zipf 1.05, at most 1.6 of theirs ($written)" \
    at_most "$written" 1.6
commands
the_end
