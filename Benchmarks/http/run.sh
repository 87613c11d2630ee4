#!/usr/bin/env bash
# HTTPCore against nginx: requests a second and CPU time a request, in one run, the servers on core 0 and the load on core 1.
#
#   Benchmarks/http/run.sh [SECONDS [ROUNDS [ROW]]]      needs wrk, nginx and openssl; ROW is a pattern of names
#
# CPU time is the server process's own (utime + stime of /proc/PID/stat) between the start and the end of the load. Each row is measured
# ROUNDS times, nginx and ours in turn, and who is first changes, so that a machine that changes its speed changes it for both: the table
# shows the median of each, and of the ratios of the pairs.
set -euo pipefail
seconds=${1:-2}
rounds=${2:-5}
wanted=${3:-.}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
declare -A pid
cleanup() {
    kill "${pid[@]}" 2>/dev/null && wait "${pid[@]}" 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT

"$here/../../.ci/build" httpcore-echo --package-path "$here/EchoServer" >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log"; exit 1; }
binary=$(swift build -c release --package-path "$here/EchoServer" --show-bin-path)/httpcore-echo

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" 2>/dev/null
declare -A port=([nginx]=18080 [ours]=18081) tls_port=([nginx]=18443 [ours]=18444)
sed -e "s#PREFIX#$scratch#g" -e "s#TLSPORT#${tls_port[nginx]}#" -e "s#PORT#${port[nginx]}#" "$here/nginx.conf" >"$scratch/nginx.conf"
taskset -c 0 nginx -c "$scratch/nginx.conf" -e "$scratch/error.log" 2>/dev/null &
pid[nginx]=$!
LOOPS=1 CERTIFICATE="$scratch/certificate.pem" KEY="$scratch/key.pem" \
    taskset -c 0 "$binary" "127.0.0.1:${port[ours]}" "tls:127.0.0.1:${tls_port[ours]}" >/dev/null &
pid[ours]=$!
for server in nginx ours; do
    curl -s -o /dev/null --retry 50 --retry-connrefused --retry-delay 0 --retry-max-time 5 "http://127.0.0.1:${port[$server]}/healthz"
done

ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

# Prints the CPU time of a request in µs, and requests per second.
measure() { # SERVER SCHEME [SETTING…]
    local server=$1 scheme=$2 address before after
    shift 2
    case $scheme in http) address=${port[$server]} ;; https) address=${tls_port[$server]} ;; esac
    before=$(ticks "${pid[$server]}")
    taskset -c 1 wrk -t1 -c64 "-d${seconds}s" -s "$here/load.lua" "$scheme://127.0.0.1:$address/healthz" -- "$@" >"$scratch/wrk.log"
    after=$(ticks "${pid[$server]}")
    grep Non-2xx "$scratch/wrk.log" >&2 || true
    awk -v ticks=$((after - before)) -v hz="$(getconf CLK_TCK)" '/requests in/ { count = $1 } /Requests\/sec/ { rate = $2 }
        END { print ticks / hz * 1e6 / count, rate }' "$scratch/wrk.log"
}

row() { # NAME SCHEME [SETTING…]
    local name=$1 round theirs ours
    shift
    grep -qE "$wanted" <<<"$name" || return 0
    for round in $(seq "$rounds"); do
        if [ $((round % 2)) = 0 ]; then theirs=$(measure nginx "$@"); fi
        ours=$(measure ours "$@")
        if [ $((round % 2)) = 1 ]; then theirs=$(measure nginx "$@"); fi
        echo "$theirs $ours"
    done | awk -v name="$name" '
        function median(values,    i, j, swap) {
            for (i = 2; i <= NR; i++)
                for (j = i; j > 1 && values[j] < values[j - 1]; j--) { swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap }
            return NR % 2 ? values[(NR + 1) / 2] : (values[NR / 2] + values[NR / 2 + 1]) / 2
        }
        { theirs[NR] = $1; theirRate[NR] = $2; ours[NR] = $3; ourRate[NR] = $4; cost[NR] = $3 / $1; speed[NR] = $4 / $2 }
        END {
            printf "%-20s %14.2f %14.2f %7.2f %14.0f %14.0f %7.2f\n", name, median(theirs), median(ours), median(cost),
                median(theirRate), median(ourRate), median(speed)
        }'
}

printf '%-20s %14s %14s %7s %14s %14s %7s\n' "" "nginx µs/req" "ours µs/req" ratio "nginx req/s" "ours req/s" ratio
row "GET keep-alive" http
row "POST 1 KB" http body=1024
row "POST 100 KB" http body=102400
row "pipelined 16" http depth=16
row "connection each" http close=1
row "TLS GET" https
row "TLS POST 100 KB" https body=102400
row "TLS handshake each" https close=1
