#!/usr/bin/env bash
# The trainings of docs/results/discourse.md and sense.md, side by side on one GPU.
#
#   scripts/discourse.py prepare; scripts/sense.py prepare     (on any machine)
#   scripts/trainings.sh                                       (here, with BOXPEN_MIRROR,
#                                                              BOXPEN_MODELS and BOXPEN_BERT)
#
# Logs are in build/logs; build/logs/done is there at the end, or build/logs/failed. No training
# alone fills a large GPU, so that all together take little longer than the longest. A training that
# was stopped goes on; none takes longer than the max_minutes of scripts/discourse.toml.
set -uo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python}
LOGS=build/logs
mkdir -p $LOGS
rm -f $LOGS/done $LOGS/failed
export PYTHONUNBUFFERED=1 OMP_NUM_THREADS=${OMP_NUM_THREADS:-3}
# Processes take turns on a GPU, unless this service lets them run at once.
command -v nvidia-cuda-mps-control >/dev/null && { nvidia-cuda-mps-control -d || true; }

lane() { # lane SCRIPT NAME...: one after the other, as long as all goes well
    local script=$1
    shift
    for name in "$@"; do
        $PYTHON "scripts/$script.py" train "$name" >"$LOGS/$script-$name.txt" 2>&1 || {
            echo "$script $name failed: $LOGS/$script-$name.txt" | tee -a $LOGS/failed >&2
            return 1
        }
    done
}

lane sense bilm bilm-graph &
lane sense bert-mini bert-mini-graph smollm2 smollm2-graph &
(
    lane discourse sentence || exit 1
    for name in cadec bert-fused thumt concat sentence-more; do
        lane discourse "$name" &
    done
    wait
    lane discourse sentence-2
) &
wait
command -v nvidia-cuda-mps-control >/dev/null && { echo quit | nvidia-cuda-mps-control || true; }
[ ! -e $LOGS/failed ] && touch $LOGS/done
