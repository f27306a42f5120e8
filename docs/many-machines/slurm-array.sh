#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A Slurm array: each task judges a share of the recordings in TRACES (a folder that all nodes see), and puts it into
# SHARES.  Afterwards: isotrace merge SHARES/*.ndjson
#
#	sbatch --array=1-16 --export=ALL,TRACES=/data/traces,SHARES=/data/shares slurm-array.sh
#
#SBATCH --job-name=isotrace
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
set -eu
: "${TRACES:?is the folder with the recordings}" "${SHARES:?is the folder for the shares}"
share=$SLURM_ARRAY_TASK_ID
mkdir -p "$SHARES"
# A share appears under its name when it is whole; a task that is requeued makes it again.  Findings (1) and missing
# evidence (3) are verdicts, not failures of the task.
status=0
isotrace check --shard="$share/$SLURM_ARRAY_TASK_COUNT" --memory=3G --format=ndjson "$TRACES"/*.itr >"$SHARES/$share.part" || status=$?
case $status in
0 | 1 | 3) mv "$SHARES/$share.part" "$SHARES/$share.ndjson" ;;
*) exit "$status" ;;
esac
