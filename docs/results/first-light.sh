#!/usr/bin/env bash
# Measures docs/results/first-light.json: thirteen problems of KernelBench, at least one of each family in which a compiler
# leaves time behind, and a layer each of an encoder and a decoder in bfloat16. STROP_KERNELBENCH names KernelBench.
#
#   docs/results/first-light.sh                        to the end
#   docs/results/first-light.sh --time-limit 9m        in slices; said again, it goes on
#
# family                                        problems
# fp32 matrix products                          1/1
# products followed by a linear reduction       2/14
# structured products                           1/14
# pooling                                       1/42
# norms, softmax, losses                        1/40
# scans                                         1/89
# depthwise and grouped convolutions            1/85
# convolutions and their layout                 1/50 2/69
# convolutions followed by pooling or norms     2/92
# 3D and transposed convolutions                2/91
# launch-bound models                           3/32
# attention                                     3/31
set -euo pipefail
: "${STROP_KERNELBENCH:?names a checkout of KernelBench, or its problems as JSONL}"
cd "$(dirname "$0")/../.."
exec "${PYTHON:-python3}" -m strop bench kernelbench examples/bf16=bf16 \
    --only 1/1,1/14,1/40,1/42,1/50,1/85,1/89,2/14,2/69,2/91,2/92,3/31,3/32,encoder_block,decoder_block \
    --budget 30s --out docs/results/first-light.json "$@"
