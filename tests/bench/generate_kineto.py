#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a PyTorch (Kineto) profile of any size for bench_import: steps of operators with shapes, the launches within
them, their kernels on two streams, flows between both, and allocator events. The same bytes for the same arguments.

Usage: generate_kineto.py --events N [--seed S] -o FILE.json     (gzip -k FILE.json gives the packed one)
"""
import argparse
import random

OPERATORS = [("aten::linear", "[[8, 1024, 1024], [4096, 1024], [4096]]"), ("aten::mm", "[[8192, 1024], [1024, 4096]]"),
             ("aten::add_", "[[8, 1024, 1024], [8, 1024, 1024], []]"), ("aten::native_layer_norm", "[[8, 1024, 1024], [], [1024], [1024], []]"),
             ("aten::scaled_dot_product_attention", "[[8, 16, 1024, 64], [8, 16, 1024, 64], [8, 16, 1024, 64], [], [], []]")]
KERNELS = ["ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn",
           "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, at::detail::Array<char*, 3> >(int)",
           "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, c10::BFloat16 const*)"]
EVENTS_PER_OPERATOR = 6  # the operator, its launch, the kernel, both ends of the flow, a buffer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    operators = max(1, arguments.events // EVENTS_PER_OPERATOR)
    per_step = 2000
    with open(arguments.output, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85899345920}],\n'
                  '"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}, "displayTimeUnit": "ms", "baseTimeNanoseconds": 1704067200000000000,\n'
                  '"traceEvents": [\n')
        now, gpu, live, step_begin = 1e9, [1e9, 1e9], 0, 1e9

        def write(text):
            out.write(text + ",\n")

        for index in range(operators):
            name, shapes = chance.choice(OPERATORS)
            length, stream, identity = chance.uniform(8, 40), index % 2, index + 1
            write(f'{{"ph": "X", "cat": "cpu_op", "name": "{name}", "pid": 4242, "tid": 4242, "ts": {now:.3f}, "dur": {length:.3f},\n'
                  f'"args": {{"External id": {identity}, "Record function id": 0, "Ev Idx": {index}, "Input Dims": {shapes}, '
                  '"Input type": ["c10::BFloat16", "c10::BFloat16", ""]}}')
            launch = now + length * 0.3
            write(f'{{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242, "tid": 4242, "ts": {launch:.3f}, "dur": 4.125,\n'
                  f'"args": {{"External id": {identity}, "cbid": 211, "correlation": {identity}}}}}')
            begin, busy = max(gpu[stream], launch + 5), chance.uniform(5, 60)
            gpu[stream] = begin + busy + 0.8
            write(f'{{"ph": "X", "cat": "kernel", "name": "{chance.choice(KERNELS)}", "pid": 0, "tid": {7 + 13 * stream}, "ts": {begin:.3f}, "dur": {busy:.3f},\n'
                  f'"args": {{"External id": {identity}, "queued": 0, "device": 0, "context": 1, "stream": {7 + 13 * stream}, "correlation": {identity}, '
                  '"registers per thread": 128, "shared memory": 49152, "blocks per SM": 1.18, "warps per SM": 9.48, "grid": [128, 1, 1], "block": [256, 1, 1], '
                  '"est. achieved occupancy %": 12}}')
            write(f'{{"ph": "s", "id": {identity}, "pid": 4242, "tid": 4242, "ts": {launch:.3f}, "cat": "ac2g", "name": "ac2g"}}')
            write(f'{{"ph": "f", "id": {identity}, "pid": 0, "tid": {7 + 13 * stream}, "ts": {begin:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"}}')
            size = 2 ** chance.randrange(9, 24) * (1 if index % 2 == 0 else -1)
            live = max(0, live + size)
            write(f'{{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 4242, "tid": 4242, "ts": {now + 1:.3f}, '
                  f'"args": {{"Total Reserved": {2 * live}, "Total Allocated": {live}, "Bytes": {size}, "Addr": {140000000000000 + (index // 2) * 512}, "Device Id": 0, "Device Type": 1}}}}')
            now += length + chance.uniform(0, 4)
            if (index + 1) % per_step == 0 or index + 1 == operators:
                write(f'{{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#{index // per_step}", "pid": 4242, "tid": 4242, "ts": {step_begin:.3f}, "dur": {now - step_begin:.3f}, "args": {{}}}}')
                step_begin = now
        out.write('{"ph": "M", "name": "process_name", "pid": 4242, "tid": 0, "ts": 0, "args": {"name": "python"}}\n]}\n')


main()
