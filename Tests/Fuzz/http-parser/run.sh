#!/usr/bin/env bash
# Fuzzes the HTTP parser for SECONDS (60; 0 only builds):  Tests/Fuzz/http-parser/run.sh [SECONDS]
# Starts from every message of the parser's tables; finds go to the directory that is printed.
set -euo pipefail
seconds=${1:-60}
here=$(cd "$(dirname "$0")" && pwd)
corpus=${CORPUS:-$(mktemp -d)}
swift build --package-path "$here" --scratch-path "$here/.build" -Xswiftc -sanitize=fuzzer -Xswiftc -parse-as-library -Xswiftc -use-ld=lld >"$corpus.log" 2>&1 || { cat "$corpus.log"; exit 1; }
[ "$seconds" = 0 ] && exit
seed() { printf "$2" >"$corpus/$1"; }
host='Host: a\r\n'
seed get "\\0GET /a%%2Fb?c=d&e HTTP/1.1\r\n$host\r\n"
seed pipeline "\\0GET / HTTP/1.1\r\n$host\r\nPOST / HTTP/1.1\r\n${host}Content-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n"
seed chunked "\\0POST / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n5;a=\"b\\\\\"\";c\r\nhello\r\n0\r\nX: y\r\n\r\nGET"
seed absolute "\\0OPTIONS http://[::1]:80 HTTP/1.1\r\nHost: [::1]:80\r\nConnection: close, x\r\n\r\n"
seed query "\\1a/%%41?b=%%C3%%A9&c+d"
echo "corpus and finds: $corpus"
cd "$corpus"
SWIFT_BACKTRACE=enable=no "$here/.build/debug/http-fuzz" -max_total_time="$seconds" -max_len=4096 -print_final_stats=1 "$corpus"
