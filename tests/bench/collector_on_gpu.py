#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the collector has to show on a GPU, in one run: PyTorch jobs are trained with and without the module injected,
and everything worth keeping goes into a folder (spools, torch.profiler's trace of the same job, times, memory).

  collector_on_gpu.py --module build/lib/libfourwalls_collector.so --out FOLDER [--only NAME,NAME] [--replay cupti_replay]
  collector_on_gpu.py --read SPOOL…      counts the records, kernels, losses and messages of spools

Needs PyTorch and nothing of Fourwalls but the module. Runs (in the order of their worth, each on its own):
  raw        a small job with a graph in it, once with nodes and once without: CUPTI's buffers as they came, which decode
             again anywhere (with --replay they are, at once): bring these back whatever else is finished
  kinds      a small job with everything in it; the spool has every kind of record
  compare    the same job under the module and under torch.profiler in another process: kernels by name and count
  nccl1      all-reduce, all-gather, reduce-scatter on a communicator of one rank
  nccl2      two processes on one GPU (a trick for tests: NCCL_HOSTID), collectives paired with kernels
  graph      a CUDA graph replayed past the limit of CUPTI's device buffers
  vmm        the small job with expandable segments (cuMemCreate)
  overhead   step times with and without the module, interleaved: a large step and a launch-bound one
"""
import argparse
import collections
import gzip
import json
import os
import statistics
import struct
import subprocess
import sys

KINDS = {1: "String", 2: "Device", 3: "Context", 4: "Stream", 5: "Thread", 6: "ApiName", 7: "NvtxDomain", 8: "NvtxCategory",
         9: "NvtxSchema", 10: "NcclCommunicator", 32: "Kernel", 33: "Memcpy", 34: "Memset", 35: "Memory", 36: "MemoryPool",
         37: "ApiCall", 38: "ExternalCorrelation", 39: "Synchronization", 40: "Overhead", 41: "GraphTrace",
         42: "VirtualMemory", 64: "NvtxPush", 65: "NvtxPop", 66: "NvtxRangeStart", 67: "NvtxRangeEnd", 68: "NvtxMark",
         80: "NcclGroup", 81: "NcclCollApi", 82: "NcclP2pApi", 83: "NcclKernelLaunch", 84: "NcclColl", 85: "NcclP2p",
         96: "NvmlSample", 97: "MemoryInfo", 112: "ClockPair", 113: "StepMark", 114: "Window", 115: "Message", 116: "Loss",
         117: "OwnCost", 118: "End"}
LOSSES = {1: "CuptiDropped", 2: "BufferRefused", 3: "QueueFull", 4: "WriteFailed", 5: "RingOverwritten", 6: "TimesLost",
          7: "TimesInverted", 8: "UnknownKind", 9: "StringsFull", 10: "BufferMalformed"}


# ---- The job -------------------------------------------------------------------------------------------------------

def job(arguments):
    """Trains a decoder; prints one JSON line with step times and PyTorch's own memory figures."""
    import torch
    import torch.nn.functional as F

    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    torch.cuda.set_device(device)
    torch.manual_seed(1)
    wide, layers, heads, vocabulary = arguments.wide, arguments.layers, max(1, arguments.wide // 64), 8192

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = torch.nn.LayerNorm(wide), torch.nn.LayerNorm(wide)
            self.qkv, self.out = torch.nn.Linear(wide, 3 * wide), torch.nn.Linear(wide, wide)
            self.up, self.down = torch.nn.Linear(wide, 4 * wide), torch.nn.Linear(4 * wide, wide)

        def forward(self, x):
            b, t, _ = x.shape
            q, k, v = (y.view(b, t, heads, -1).transpose(1, 2) for y in self.qkv(self.norm1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, wide))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    model = torch.nn.Sequential(torch.nn.Embedding(vocabulary, wide), *[Block() for _ in range(layers)],
                                torch.nn.Linear(wide, vocabulary)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    tokens = torch.randint(0, vocabulary, (arguments.batch, arguments.seq + 1), device=device)

    def step():
        with torch.autocast("cuda", torch.bfloat16):
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.float().view(-1, vocabulary), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        return loss

    times = []
    profiler = None
    if arguments.profile:
        profiler = torch.profiler.profile(activities=list(torch.profiler.supported_activities()), profile_memory=True)
    for index in range(arguments.steps):
        if profiler and index == 4:
            profiler.__enter__()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.nvtx.range_push(f"step {index}")
        begin.record()
        loss = step()
        end.record()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
        times.append(begin.elapsed_time(end))
    if profiler:
        profiler.__exit__(None, None, None)
        profiler.export_chrome_trace(arguments.profile)
    if arguments.graph:
        replay(torch, device, arguments.graph)
    print(json.dumps({"step_ms": times, "loss": float(loss), "max_allocated": torch.cuda.max_memory_allocated(),
                      "max_reserved": torch.cuda.max_memory_reserved(), "device": torch.cuda.get_device_name(),
                      "torch": torch.__version__, "nccl": torch.cuda.nccl.version()}))


def replay(torch, device, times):
    x = torch.ones(1024, device=device)
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        x.add_(1)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(100):
            x.mul_(1.0001)
    for _ in range(times):
        graph.replay()
    torch.cuda.synchronize()


def collectives():
    """Collectives of the ranks that the environment names."""
    import torch
    import torch.distributed as dist

    torch.cuda.set_device(0)
    dist.init_process_group("nccl")
    world = dist.get_world_size()
    x = torch.ones(1 << 20, device="cuda")
    parts = torch.empty(world << 20, device="cuda")
    for index in range(5):
        torch.cuda.nvtx.range_push(f"step {index}")
        dist.all_reduce(x)
        dist.all_gather_into_tensor(parts, x)
        dist.reduce_scatter_tensor(x, parts)
        if world > 1:
            operation = dist.isend if dist.get_rank() == 0 else dist.irecv
            operation(x, 1 - dist.get_rank()).wait()
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    dist.destroy_process_group()
    print(json.dumps({"world": world, "nccl": torch.cuda.nccl.version()}))


# ---- Spools --------------------------------------------------------------------------------------------------------

def read_spool(path):
    """Counts of a stream spool: records by kind, kernels by name, losses, messages; checks are not checked here."""
    with open(path, "rb") as file:
        data = file.read()
    header_bytes, _, segment_bytes = struct.unpack_from("<III", data, 12)
    if data[:8] != b"FWSPOOL\n" or segment_bytes:
        return {"error": "not a stream spool"}
    kinds, names, kernels, losses, messages, ends = collections.Counter(), {0: ""}, collections.Counter(), collections.Counter(), [], False
    launches, external, correlations = set(), {}, set()
    at = header_bytes
    while at + 8 <= len(data):
        _, kind, size = struct.unpack_from("<IHH", data, at)
        if kind == 0 or at + 8 + size > len(data):
            break
        at += 8
        name = KINDS.get(kind, str(kind))
        kinds[name] += 1
        if name == "String":
            number, length = struct.unpack_from("<II", data, at)
            names[number] = data[at + 8:at + 8 + length].decode("utf-8", "replace")
        elif name == "Kernel":
            correlation, string = struct.unpack_from("<II", data, at + 36)
            kernels[names.get(string, "?")] += 1
            correlations.add(correlation)
        elif name == "Loss":
            count, = struct.unpack_from("<Q", data, at + 8)
            losses[LOSSES.get(struct.unpack_from("<I", data, at + 24)[0], "?")] += count
        elif name == "Message":
            length, = struct.unpack_from("<I", data, at + 24)
            messages.append(data[at + 32:at + 32 + length].decode("utf-8", "replace"))
        elif name == "NcclKernelLaunch":
            launches.add(struct.unpack_from("<Q", data, at)[0])
        elif name == "ExternalCorrelation":
            number, correlation, owner = struct.unpack_from("<QII", data, at)
            if owner == 1:
                external[number] = correlation
        ends = ends or name == "End"
        at += size
    paired = sum(1 for launch in launches if external.get(launch) in correlations)
    return {"records": dict(kinds), "kernels": kernels, "lost": dict(losses), "messages": messages, "ended": ends,
            "nccl_launches": len(launches), "nccl_launches_with_their_kernel": paired}


def spools_in(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".fwspool"))


def show(path):
    found = read_spool(path)
    kernels = found.pop("kernels", {})
    print(f"{path}: {json.dumps(found, indent=1)}")
    for name, count in sorted(kernels.items(), key=lambda item: -item[1])[:8]:
        print(f"  {count:8} {name[:100]}")


# ---- The runs ------------------------------------------------------------------------------------------------------

SMALL = ["--layers", "4", "--wide", "512", "--batch", "4", "--seq", "512", "--steps", "8"]
LARGE = ["--layers", "12", "--wide", "1024", "--batch", "8", "--seq", "1024", "--steps", "30"]
BOUND = ["--layers", "12", "--wide", "128", "--batch", "1", "--seq", "64", "--steps", "60"]


class Bench:
    def __init__(self, module, out, replay):
        self.module, self.out, self.replay = os.path.abspath(module), os.path.abspath(out), replay
        os.makedirs(self.out, exist_ok=True)

    def environment(self, name, more):
        folder = os.path.join(self.out, name)
        os.makedirs(folder, exist_ok=True)
        return folder, {**os.environ, "FOURWALLS_SPOOL_DIR": folder, "CUDA_INJECTION64_PATH": self.module,
                        "NVTX_INJECTION64_PATH": self.module, "NCCL_PROFILER_PLUGIN": self.module,
                        "FOURWALLS_VERBOSE": "1", **more}

    def start(self, arguments, environment=None):
        return subprocess.Popen([sys.executable, os.path.abspath(__file__), *arguments], env=environment,
                                stdout=subprocess.PIPE, text=True)

    def finish(self, process, name):
        text, _ = process.communicate(timeout=400)
        lines = [line for line in text.splitlines() if line.startswith("{")]
        if process.returncode != 0 or not lines:
            print(f"{name}: failed with {process.returncode}")
            return {}
        with open(os.path.join(self.out, f"{name}.json"), "w", encoding="utf-8") as file:
            file.write(lines[-1])
        return json.loads(lines[-1])

    def injected(self, name, arguments, more=None):
        folder, environment = self.environment(name, more or {})
        result = self.finish(self.start(arguments, environment), name)
        print(name, {key: value for key, value in result.items() if key != "step_ms"})
        for path in spools_in(folder):
            show(path)
        return folder, result

    def raw(self):
        kept = os.path.join(self.out, "raw_buffers")
        for name, without in (("raw", ""), ("raw_whole_graphs", "graph_nodes")):
            self.injected(name, ["--job", *SMALL, "--steps", "3", "--graph", "20"],
                          {"FOURWALLS_RAW": kept, "FOURWALLS_RAW_BYTES": "14M", "FOURWALLS_WITHOUT": without})
        files = sorted(name for name in os.listdir(kept) if name.endswith(".fwcupti"))
        print("raw:", ", ".join(f"{name} {os.path.getsize(os.path.join(kept, name))} bytes" for name in files) or "nothing")
        for name in files if self.replay else []:
            path = os.path.join(kept, name)
            print(subprocess.run([self.replay, path, path + ".fwspool"], capture_output=True, text=True, check=False))

    def kinds(self):
        self.injected("kinds", ["--job", *SMALL])

    def compare(self):
        folder, _ = self.injected("compare", ["--job", *SMALL], {"FOURWALLS_STEPS": "4-7"})
        trace = os.path.join(self.out, "compare_profiler.json")
        self.finish(self.start(["--job", *SMALL, "--profile", trace]), "compare_profiler")
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        theirs = collections.Counter(e["name"] for e in events if e.get("cat") == "kernel")
        total = sum(sum(read_spool(path)["kernels"].values()) for path in spools_in(folder))
        print(f"compare: {total} kernels under the module, {sum(theirs.values())} under torch.profiler, steps 4 to 7")
        with open(trace, "rb") as plain, gzip.open(trace + ".gz", "wb") as packed:
            packed.write(plain.read())
        os.remove(trace)

    def ranks(self, name, world):
        processes = []
        for rank in range(world):
            folder, environment = self.environment(name, {
                "RANK": str(rank), "WORLD_SIZE": str(world), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": "29517", **({"NCCL_HOSTID": f"fourwalls{rank}", "NCCL_SOCKET_IFNAME": "lo"} if world > 1 else {})})
            processes.append(self.start(["--collectives"], environment))
        for rank, process in enumerate(processes):
            print(name, self.finish(process, f"{name}_rank{rank}"))
        for path in spools_in(folder):
            show(path)

    def nccl1(self):
        self.ranks("nccl1", 1)

    def nccl2(self):
        self.ranks("nccl2", 2)

    def graph(self):
        self.injected("graph", ["--job", *SMALL, "--graph", "20000"], {"FOURWALLS_POOL_LIMIT": "8", "FOURWALLS_MAX_BYTES": "0"})

    def vmm(self):
        self.injected("vmm", ["--job", *SMALL], {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"})

    def overhead(self):
        for name, arguments in (("large", LARGE), ("launch_bound", BOUND)):
            medians = {"without": [], "with": []}
            for turn in range(5):
                for way in ("without", "with") if turn % 2 == 0 else ("with", "without"):
                    _, environment = self.environment("overhead", {"FOURWALLS_VERBOSE": "0"})
                    result = self.finish(self.start(["--job", *arguments], environment if way == "with" else None),
                                         f"overhead_{name}_{way}_{turn}")
                    if result:
                        medians[way].append(statistics.median(result["step_ms"][5:]))
            if medians["with"] and medians["without"]:
                plain, recorded = statistics.median(medians["without"]), statistics.median(medians["with"])
                print(f"overhead {name}: {plain:.3f} ms without, {recorded:.3f} ms with: {100 * (recorded / plain - 1):+.2f} % "
                      f"(each the median of 5 runs, without {min(medians['without']):.3f} to {max(medians['without']):.3f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module")
    parser.add_argument("--out")
    parser.add_argument("--replay")
    parser.add_argument("--only", default="raw,kinds,compare,nccl1,nccl2,graph,vmm,overhead")
    parser.add_argument("--read", nargs="+")
    parser.add_argument("--job", action="store_true")
    parser.add_argument("--collectives", action="store_true")
    for name, value in (("layers", 4), ("wide", 512), ("batch", 4), ("seq", 512), ("steps", 8), ("graph", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--profile")
    arguments = parser.parse_args()
    if arguments.read:
        for path in arguments.read:
            show(path)
    elif arguments.job:
        job(arguments)
    elif arguments.collectives:
        collectives()
    elif not arguments.module or not arguments.out:
        parser.error("--module and --out, or --read")
    else:
        bench = Bench(arguments.module, arguments.out, arguments.replay)
        for name in arguments.only.split(","):
            print(f"== {name}", flush=True)
            try:
                getattr(bench, name)()
            except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
                print(f"{name}: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
