#!/bin/sh
# style.sh - how long the functions of the source are.
cd "$(dirname "$0")/../.." || exit 1
. perf/scripts/lib.sh

title 'Functions'
export srcdir
note tests/rules/style.sh
"$srcdir/tests/rules/style.sh" >out || note 'a rule is broken: tests/rules/style.sh says which'
line=$(grep '^[0-9]* functions: median' out) || give_up 'tests/rules/style.sh gives no figures'
figure() { echo "$line" | sed -n "s/.*$1.*/\\1/p"; }
median=$(figure 'median \([0-9]*\) lines')
under=$(figure ' \([0-9.]*\) % under 60')
longest=$(figure 'longest \([0-9]*\)')
header functions 'median, lines' 'under 60 lines, %' 'longest, lines'
row "${line%% *}" "$median" "$under" "$longest"
printf '\nCommands:\n\n    tests/rules/style.sh\n\n'
# shellcheck disable=SC2317 # called by goal
short() { [ "$median" -le 15 ] && [ "${under%%.*}" -ge 90 ] && [ "$longest" -le 100 ]; }
goal 'median at most 15, 90 % under 60, none over 100' short
the_end
