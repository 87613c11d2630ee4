#!/usr/bin/env bash
# HTTPCore against nginx: requests a second and CPU time a request, in one run, each server alone on core 0 and the load on core 1.
#
#   Benchmarks/http/run.sh [SECONDS]      needs wrk, nginx and openssl
#
# CPU time is the server process's own (utime + stime of /proc/PID/stat) between the start and the end of the load.
set -euo pipefail
seconds=${1:-4}
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
server_pid=""
cleanup() {
    [ -n "$server_pid" ] && kill "$server_pid" 2>/dev/null && wait "$server_pid" 2>/dev/null
    rm -rf "$scratch"
}
trap cleanup EXIT

swift build -c release --package-path "$here/EchoServer" >"$scratch/build.log" 2>&1 || { cat "$scratch/build.log"; exit 1; }
binary=$(swift build -c release --package-path "$here/EchoServer" --show-bin-path)/httpcore-echo

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" 2>/dev/null
port=18080 tls_port=18443
sed -e "s#PREFIX#$scratch#g" -e "s#TLSPORT#$tls_port#" -e "s#PORT#$port#" "$here/nginx.conf" >"$scratch/nginx.conf"

ticks() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }

start() { # NAME
    case $1 in
    nginx) taskset -c 0 nginx -c "$scratch/nginx.conf" -e "$scratch/error.log" 2>/dev/null & ;;
    httpcore)
        LOOPS=1 CERTIFICATE="$scratch/certificate.pem" KEY="$scratch/key.pem" \
            taskset -c 0 "$binary" "127.0.0.1:$port" "tls:127.0.0.1:$tls_port" >/dev/null & ;;
    esac
    server_pid=$!
    for _ in $(seq 100); do
        curl -s -o /dev/null "http://127.0.0.1:$port/healthz" && return
        sleep 0.05
    done
    echo "$1 does not answer" >&2
    exit 1
}

stop() {
    kill "$server_pid"
    wait "$server_pid" 2>/dev/null || true
    server_pid=""
}

declare -A cpu rate
measure() { # SERVER ROW DEPTH COMMAND…
    local server=$1 row=$2 depth=$3
    shift 3
    local before after requests
    before=$(ticks "$server_pid")
    "$@" >"$scratch/wrk.log"
    after=$(ticks "$server_pid")
    requests=$(awk '/requests in/ { print $1 }' "$scratch/wrk.log")
    if grep -qE 'Non-2xx' "$scratch/wrk.log"; then echo "$server $row: $(grep Non-2xx "$scratch/wrk.log")" >&2; fi
    cpu["$server $row"]=$(awk -v t=$((after - before)) -v n="$requests" -v hz="$(getconf CLK_TCK)" 'BEGIN { printf "%.2f", t / hz * 1e6 / n }')
    rate["$server $row"]=$(awk '/Requests\/sec/ { printf "%.0f", $2 }' "$scratch/wrk.log")
}

rows=("GET keep-alive" "POST 1 KB" "POST 100 KB" "pipelined 16" "connection each" "TLS GET" "TLS POST 100 KB" "TLS handshake each")
load() { # SERVER
    local wrk="taskset -c 1 wrk -t1 -c64 -d${seconds}s -s $here/load.lua"
    local plain="http://127.0.0.1:$port/healthz" secure="https://127.0.0.1:$tls_port/healthz"
    measure "$1" "GET keep-alive" 1 $wrk "$plain" --
    measure "$1" "POST 1 KB" 1 $wrk "$plain" -- body=1024
    measure "$1" "POST 100 KB" 1 $wrk "$plain" -- body=102400
    measure "$1" "pipelined 16" 16 $wrk "$plain" -- depth=16
    measure "$1" "connection each" 1 $wrk "$plain" -- close=1
    measure "$1" "TLS GET" 1 $wrk "$secure" --
    measure "$1" "TLS POST 100 KB" 1 $wrk "$secure" -- body=102400
    measure "$1" "TLS handshake each" 1 $wrk "$secure" -- close=1
}

for server in nginx httpcore; do
    start "$server"
    load "$server"
    stop
done

printf '%-20s %14s %14s %7s %14s %14s %7s\n' "" "nginx µs/req" "ours µs/req" ratio "nginx req/s" "ours req/s" ratio
for row in "${rows[@]}"; do
    n=${cpu["nginx $row"]} o=${cpu["httpcore $row"]} nr=${rate["nginx $row"]} or=${rate["httpcore $row"]}
    printf '%-20s %14s %14s %7s %14s %14s %7s\n' "$row" "$n" "$o" "$(awk -v a="$o" -v b="$n" 'BEGIN { printf "%.2f", a / b }')" \
        "$nr" "$or" "$(awk -v a="$or" -v b="$nr" 'BEGIN { printf "%.2f", a / b }')"
done
