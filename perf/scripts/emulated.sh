# shellcheck shell=sh
# emulated.sh - pools of emulated types on one machine, and plans of their stages; read behind
# lib.sh.

# resources "x4=1-2 ..." [USD]: entries of the deck, slow ones first; the others are x1. USD: an hour
# of a slow rank; not given: what it computes costs as much as on x1
resources() {
    echo 'resources:'
    for entry in $1; do
        factor=${entry%%=*}
        printf '  - {name: %s, price_usd_hour: %s, price_per: unit, ' "$factor" \
            "${2:-$(awk -v f="${factor#x}" 'BEGIN { print 0.04 / f }')}"
        printf 'emulate: {ranks: "%s", slow: %s}}\n' "${entry#*=}" "${factor#x}"
    done
    echo '  - {name: x1, match: "*", price_usd_hour: 0.04, price_per: unit}'
}

# stages "0-3:x1:1 ..." "A+B": the plan as JSON
stages() {
    pair=${2:+"\"share\": [[${2%+*}, ${2#*+}]], "}
    { sed -n 's/.*{name: \(x[0-9]*\),.*/\1/p' resources.yaml; echo --; echo "$1" | tr ' ' '\n'; } |
        awk -F '[-:]' -v pair="$pair" '
        $0 == "--" { list = 1; next }
        !list { number[$0] = n++; next }
        { for (l = $1; l <= $2; l++) of = of (l > 0 ? ", " : "") number[$3]
          s = s (s ? ", " : "") "{\"first\": " $1 ", \"last\": " $2 ", \"type\": " number[$3] \
              ", \"units\": " $4 "}" }
        END { print "{\"format\": \"heterps-plan-1\", \"method\": \"file\", \"assignment\": [" of \
                  "], " pair "\"stages\": [" s "]}" }'
}

# deck_of NAME SLOW [USD]: that network on that pool. `wide` is census_mixed's, `hard` census itself
deck_of() {
    case $1 in wide) file=census_mixed ;; hard) file=census ;; *) file=$1 ;; esac
    resources "$2" "${3:-}" >resources.yaml
    awk '/^resources:/ { skip = 1; next } skip && /^ / { next } { skip = 0; print }' \
        "inputs/$file.yaml" | cat - resources.yaml >deck.yaml
}
