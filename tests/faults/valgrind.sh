#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The reader under valgrind: whole, torn, damaged and foreign files.  TAP.
#
#	valgrind.sh ISOTRACE MAKE_TRACE
set -u
isotrace=$1
make_trace=$2
if ! command -v valgrind >/dev/null 2>&1; then
	echo "1..0 # SKIP valgrind is not installed"
	exit 0
fi
# Valgrind and the sanitizers do not go together.
if nm "$isotrace" 2>/dev/null | grep -q '__asan_init\|__tsan_init'; then
	echo "1..0 # SKIP this build has a sanitizer"
	exit 0
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/isotrace-valgrind-XXXXXX") || exit 2
trap 'rm -rf "$dir"' EXIT
number=0

# check NAME STATUS ARGUMENT...: valgrind is content, and isotrace ends with the status.
check() {
	name=$1
	want=$2
	shift 2
	number=$((number + 1))
	valgrind --quiet --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,possible \
		--log-file="$dir/log" "$isotrace" show --format=ndjson "$@" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -eq "$want" ] && [ ! -s "$dir/log" ]; then
		echo "ok $number - $name"
	else
		echo "not ok $number - $name"
		echo "# exit status $status, wanted $want"
		sed 's/^/# /' "$dir/log" "$dir/err" | head -60
	fi
}

"$make_trace" "$dir/whole.itr" 3 150 || exit 2
"$make_trace" "$dir/segments" 4 300 60000 || exit 2
size=$(wc -c <"$dir/whole.itr")
head -c $((size * 2 / 3)) "$dir/whole.itr" >"$dir/torn.itr"
{
	head -c $((size / 2)) "$dir/whole.itr"
	printf 'damage'
	tail -c +$((size / 2 + 7)) "$dir/whole.itr"
} >"$dir/damaged.itr"
{
	printf 'lost'
	tail -c +5 "$dir/whole.itr"
} >"$dir/headless.itr"
echo 'this is text' >"$dir/text.itr"

check "whole" 0 "$dir/whole.itr"
check "segments" 0 "$dir/segments"
check "torn" 3 "$dir/torn.itr"
check "damaged" 3 "$dir/damaged.itr"
check "damaged, salvaged" 3 --salvage "$dir/damaged.itr"
check "headless, salvaged" 3 --salvage "$dir/headless.itr"
check "text" 4 "$dir/text.itr"
echo "1..$number"
