#!/bin/sh
# Text becomes datasets from the command line: census by its schema, Criteo's form from files, gzip
# and standard input alike; what is wrong ends with its code, one line that names the place, and no
# file behind it.
. "${srcdir:?}/tests/lib/lib.sh"

# lines N: made-up lines of Criteo's form
lines() {
    awk -v n="$1" 'BEGIN { OFS = "\t"
        for (i = 0; i < n; i++) {
            o = i % 4 == 0
            for (d = 0; d < 13; d++) o = o "\t" ((i + d) % 5 ? (i * 7 + d) % 300 : "")
            for (c = 0; c < 26; c++)
                o = o "\t" ((i + c) % 9 ? sprintf("%08x", i * 31 % 97 + c) : "")
            print o
        } }'
}

same() { # FILE FILE: the same content by their checksums
    a=$(heterps info "$1" --json - | sed -n 's/.*"checksum": "\(.*\)".*/\1/p')
    b=$(heterps info "$2" --json - | sed -n 's/.*"checksum": "\(.*\)".*/\1/p')
    if [ -n "$a" ] && [ "$a" = "$b" ]; then ok "$1 holds what $2 holds"; else
        fail "$1 ($a) differs from $2 ($b)"
    fi
}

nothing_left() {
    for f in o.h5* t.h5*; do
        [ ! -e "$f" ] || fail "$f is left behind"
    done
}

expect 0 '' heterps import csv --schema "$srcdir/inputs/census.schema.yaml" --output train.h5 \
    --test-output test.h5 "$srcdir/inputs/census/adult.csv.gz"
shows '^train.h5: 26049 rows'
shows '^test.h5: 6512 rows'
expect 0 '' heterps info train.h5
shows '26049 examples, 23.96 % positive; 6 dense features, 8 slots'
shows 'whole, as its checksum says'
shows 'native-country +64 +1 +466'
expect 0 '' heterps info test.h5 --json info.json
[ "$(number info.json examples)" = 6512 ] || fail "info.json: $(number info.json examples) examples"
expect 0 '' heterps info train.h5 info.json test.h5
shows '^info.json: heterps-info-1'
shows '^test.h5: a dataset of 6512 examples'
expect 0 '' heterps info train.h5 test.h5 --json -
shows '"format": "heterps-infos-1"'
[ "$(grep -c '"format": "heterps-info-1"' out)" -eq 2 ] || fail 'not a section a file'
expect 66 'none.h5' heterps info none.h5 test.h5
shows '^test.h5: a dataset'

echo '-- escape sequences of a file are shown, not sent to the terminal; letters are letters'
foreign=$(printf 'x\033[2J\302\2332J\177\377gr\303\266\303\237e.csv')
gzip -dc "$srcdir/inputs/census/adult.csv.gz" | head -n 50 >"$foreign"
expect 0 '' heterps import csv --schema "$srcdir/inputs/census.schema.yaml" --output foreign.h5 \
    "$foreign"
printf '{"format": "heterps-x\302\233", "\177": "\\u001b\302\233"}' >foreign.json
expect 0 '' heterps info foreign.h5 foreign.json
shows '^source: x\\x1b\[2J\\xc2\\x9b2J\\x7f\\xffgr.*e\.csv'
shows '^foreign.json: heterps-x\\xc2\\x9b'
expect 0 '' heterps info foreign.json --json -
shows '"format": "heterps-x\\u009b"'
shows '"\\u007f": "\\u001B\\u009b"'
expect 66 'x\\x1b\[2J\\xc2\\x9b2J\\x7f\\xffgr.*e\.csv\.h5: No such file' heterps info "$foreign.h5"

lines 3000 >a.txt
gzip -c a.txt >a.txt.gz
expect 0 '' heterps import criteo --output plain.h5 a.txt
expect 0 '' heterps import criteo --output packed.h5 a.txt.gz
same plain.h5 packed.h5
heterps import criteo --output stream.h5 - <a.txt >out 2>err || fail "standard input: $(cat err)"
same plain.h5 stream.h5
tr '\t' , <a.txt >a.csv
expect 0 '' heterps import criteo --output comma.h5 a.csv
same plain.h5 comma.h5
head -n 1000 a.txt >1.txt
tail -n 2000 a.txt >2.txt
expect 0 '' heterps import criteo --output two.h5 1.txt 2.txt
same plain.h5 two.h5
expect 0 '' heterps import criteo --output grown.h5 1.txt
expect 0 '' heterps import criteo --append --output grown.h5 2.txt
same plain.h5 grown.h5
expect 0 '' heterps import criteo --output o.h5 --test-output t.h5 --test-share 0.1 a.txt
shows '^o.h5: 2700 rows'
heterps import criteo --output in/s.h5 --test-output by/u.h5 --test-share 0.1 - <a.txt >out 2>err ||
    fail "a split of standard input into new folders: $(cat err)"
same o.h5 in/s.h5
same t.h5 by/u.h5
rm -r in by
rm -f o.h5 t.h5

expect 64 'unknown format' heterps import nothing --output o.h5 a.txt
expect 64 'output is missing' heterps import criteo a.txt
expect 64 'unknown option' heterps import criteo --outptu o.h5 a.txt
expect 64 'buckets 1: ' heterps import criteo --output o.h5 --buckets 1 a.txt
expect 64 'ids is not for criteo: slot, libsvm' heterps import criteo --output o.h5 --ids hash a.txt
expect 64 'csv needs --schema' heterps import csv --output o.h5 a.txt
expect 66 'missing.txt: No such file' heterps import criteo --output o.h5 missing.txt
: >empty.txt
expect 65 'no rows' heterps import criteo --output o.h5 empty.txt
sed '2s/\t.*//' 1.txt >short.txt
expect 0 'short.txt:2: 1 columns instead of 40' heterps import criteo --output o.h5 short.txt
rm -f o.h5
expect 65 'more than the share of 0 ' heterps import criteo --bad-share 0 --output o.h5 short.txt
head -c 4000 a.txt.gz >cut.gz
expect 65 'cut.gz:[0-9]*: the gzip data end too early' heterps import criteo --output o.h5 cut.gz
expect 73 'cannot make the folder a.txt/no: ' heterps import criteo --output a.txt/no/o.h5 a.txt
if [ "$(id -u)" != 0 ]; then
    mkdir -p folder
    chmod a-w folder
    expect 73 'folder/o.h5.part: Permission denied' heterps import criteo --output folder/o.h5 a.txt
fi
nothing_left

# What is read is not overwritten; a device is not replaced by a file.
ln -s /dev/null device
ln a.txt same.txt
for verb in 'import criteo' "generate $srcdir/inputs/census.yaml --rows 9"; do
    case $verb in import*) from=a.txt ;; *) from= ;; esac
    # shellcheck disable=SC2086 # words
    expect 73 'not a regular file' heterps $verb --output device $from
done
expect 64 'a.txt is read, .* too: --output same.txt' heterps import criteo --output same.txt a.txt
expect 64 'cannot be written too' heterps import criteo --output o.h5 --test-output a.txt a.txt
cmp a.txt same.txt || fail 'the input was changed'
printf 'label: {column: y}\ncolumns:\n  - {column: a, dense: none}\n' >s.yaml
printf 'k,a\n1,5\n' >j.csv
printf 'y,k\n1,1\n0,1\n' >y.csv
{ cat s.yaml && echo 'join: {file: j.csv, on: k}'; } >joined.yaml
expect 0 '' heterps import csv --schema joined.yaml --output const.h5 y.csv
cp y.csv y.csv.h5.part
sums=$(cat s.yaml joined.yaml j.csv const.h5 y.csv y.csv.h5.part | cksum)
# each of the files that an import reads: refused, whatever its name, and untouched
for o in 's.yaml s.yaml' 'joined.yaml j.csv' 'joined.yaml const.h5' 'joined.yaml joined.yaml'; do
    ln -f "${o#* }" hard
    expect 64 "${o#* } is read, it cannot be written too: --output hard" heterps import csv \
        --schema "${o% *}" --scaling const.h5 --output hard y.csv
    ln -sf "${o#* }" soft
    expect 64 "${o#* } is read, it cannot be written too: --test-output soft" heterps import csv \
        --schema "${o% *}" --scaling const.h5 --output o.h5 --split file --test-output soft y.csv
done
expect 64 'whose .part it is' heterps import csv --schema joined.yaml --output y.csv.h5 \
    y.csv.h5.part
expect 64 'y.csv is read' heterps import csv --schema joined.yaml --append --output y.csv y.csv
"$HETERPS" import csv --schema joined.yaml --output y.csv - <y.csv >out 2>err
[ $? -eq 64 ] || fail "standard input is the output: $(cat err)"
[ "$sums" = "$(cat s.yaml joined.yaml j.csv const.h5 y.csv y.csv.h5.part | cksum)" ] ||
    fail 'a file that was read was written'
rm y.csv.h5.part
expect 64 '--output o.h5 and --test-output ./o.h5 are one file' heterps import criteo \
    --output o.h5 --test-output ./o.h5 a.txt
expect 64 'are one file' heterps import criteo --output new/o.h5 --test-output new/o.h5.part a.txt
expect 64 'const.h5 is read, it cannot be written too: --json const.h5' \
    heterps info --json const.h5 const.h5
expect 64 'wants --first N, a whole number from 0 on' heterps generate any.yaml --rows 9 \
    --first -1 --output o.h5
: >mine.yaml
expect 64 'mine.yaml is read' heterps generate mine.yaml --rows 9 --output mine.yaml
# nor is what an empty file lacks said of no file
expect 65 'mine.yaml:1:1: .*must be given' heterps generate mine.yaml --rows 9 --output o.h5
expect 65 'mine.yaml:1:1: .*no section .label' heterps import csv --schema mine.yaml --output o.h5 \
    y.csv
echo 'label: {column: y}' >mine.yaml
expect 65 'mine.yaml:1:1: columns: the schema has no columns' heterps import csv --output o.h5 \
    --schema mine.yaml y.csv
expect 64 'are one file' heterps report . --json x --html x
nothing_left

# An output that is a link is written where it leads to, there or not; the link stays.
mkdir far
ln -s far/real.h5 near.h5
ln -s near.h5 nearer.h5
expect 0 '' heterps import criteo --output nearer.h5 1.txt
expect 0 '' heterps import criteo --append --output nearer.h5 2.txt
same plain.h5 far/real.h5
expect 0 '' heterps info far/real.h5 --json nearer.json
ln -s "$PWD/far/info.json" link.json
expect 0 '' heterps info far/real.h5 --json link.json
cmp far/info.json nearer.json || fail 'the link of --json was not followed'
for link in near.h5 nearer.h5 link.json; do [ -L $link ] || fail "$link is no link any more"; done
ln -s round.h5 again.h5
ln -s again.h5 round.h5
expect 73 'round.h5: Too many levels of symbolic links' heterps import criteo --output round.h5 \
    a.txt
ln -s a.txt o.h5.part
expect 73 'o.h5.part: not a regular file: it is in the way' heterps import criteo --output o.h5 \
    a.txt
rm o.h5.part
cmp a.txt same.txt || fail 'the input was changed through a link'
nothing_left

# A closed standard stream is not replaced by the next file that is opened.
expect 66 'standard input is not open' sh -c '"$0" import criteo --output o.h5 - <&-' "$HETERPS"
expect 66 'standard input is not open' sh -c '"$0" import criteo --split file --test-output t.h5 \
    --output o.h5 - <&-' "$HETERPS"
expect 73 '' sh -c '"$0" import criteo --output out.h5 a.txt >&- 2>&-' "$HETERPS"
same plain.h5 out.h5
nothing_left

# Stopped in the midst: the signal's own end, nothing left.
mkfifo pipe
"$HETERPS" import criteo --output o.h5 pipe >out 2>err &
job=$!
exec 3>pipe
cat a.txt >&3
sleep 0.3
kill -TERM $job                         # while it waits for more
wait $job
rc=$?
exec 3>&-
if [ $rc -eq 143 ]; then ok "SIGTERM ends an import"; else fail "SIGTERM: $rc"; fi
nothing_left
"$HETERPS" import criteo --output o.h5 pipe >out 2>err &
job=$!
exec 3>pipe
head -c 20000 a.txt.gz >&3              # and while the thread that unpacks does
sleep 0.3
kill -TERM $job
wait $job
rc=$?
exec 3>&-
if [ $rc -eq 143 ]; then ok "SIGTERM ends one from gzip"; else fail "SIGTERM, gzip: $rc"; fi
nothing_left

# Slot text by its names, from standard input too; avazu split by time; the option that is not its.
printf 'click:%s dense_feature:0.5 1:7 2:%s 2:9\n' 0 3 1 4 1 5 >slot.txt
expect 0 '' heterps import slot --output slot.h5 slot.txt
shows '^slot.h5: 3 rows'
expect 0 '' heterps info slot.h5
shows '3 examples, 66.67 % positive; 1 dense features, 2 slots'
heterps import slot --output slot_in.h5 - <slot.txt >out 2>err || fail "slot text: $(cat err)"
same slot.h5 slot_in.h5
expect 64 'this format has no column' heterps import slot --split hour --output o.h5 \
    --test-output t.h5 slot.txt
expect 64 'for --test-output, which is missing' heterps import avazu --split hour --output o.h5 \
    slot.txt
nothing_left

# Damage that only the checksum sees.
cp plain.h5 bad.h5
size=$(wc -c <bad.h5)
printf '\001' | dd of=bad.h5 bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s plain.h5 bad.h5 || expect 65 'bad.h5' heterps info bad.h5
verdict
