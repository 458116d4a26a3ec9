#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the engine's training step on a GPU against PyTorch eager on the same network, in turns on the same GPU, and what
recording costs the engine.

Usage: cuda_against_pytorch.py --cli DIR/fourwalls-cli [--only gpt|resnet] [--rounds 6] [--steps 12]
Every round runs, in changing order, the engine without a trace, the engine with one, and PyTorch; the first quarter of each
one's steps is dropped (allocation, choice of algorithms). Prints, per network, medians, the median of the per-round ratios
engine / PyTorch with a 95 % bootstrap interval, MFU of both (by the GPU's own fastest 8192 x 8192 product in this run), the
overhead of recording, and the peak of memory of both. docs/cuda.md says how the programs come to the GPU's machine."""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NETWORKS = {
    # name: model description, batch, optimizer
    "gpt": (os.path.join(HERE, "gpt_12x1024.json"), 8, "adamw"),
    "resnet": (os.path.join(ROOT, "resources/presets/models/resnet50.json"), 64, "sgd"),
}


def torch_gpt(torch, spec, batch):
    """The same network: learned positions, layer norm before each block, GELU in its tanh form, tied output head."""
    from torch import nn
    import torch.nn.functional as F

    class Block(nn.Module):
        def __init__(self, c, f, heads):
            super().__init__()
            self.heads = heads
            self.norm1, self.norm2 = nn.LayerNorm(c), nn.LayerNorm(c)
            self.qkv, self.out = nn.Linear(c, 3 * c), nn.Linear(c, c)
            self.up, self.down = nn.Linear(c, f), nn.Linear(f, c)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (z.view(b, t, self.heads, c // self.heads).transpose(1, 2) for z in self.qkv(self.norm1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
            return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            c = spec["hidden"]
            self.tokens, self.positions = nn.Embedding(spec["vocabulary"], c), nn.Embedding(spec["sequence"], c)
            self.blocks = nn.ModuleList(Block(c, spec["ffn_hidden"], spec["heads"]) for _ in range(spec["layers"]))
            self.norm = nn.LayerNorm(c)

        def forward(self, ids, targets):
            x = self.tokens(ids) + self.positions.weight
            for block in self.blocks:
                x = block(x)
            logits = F.linear(self.norm(x), self.tokens.weight)
            return F.cross_entropy(logits.float().view(-1, spec["vocabulary"]), targets.view(-1))

    model = Gpt().cuda()
    ids = torch.randint(256, (batch, spec["sequence"] + 1), device="cuda")
    return model, (ids[:, :-1].contiguous(), ids[:, 1:].contiguous())


def torch_resnet(torch, spec, batch):
    import torch.nn.functional as F
    from torchvision.models import resnet50
    network = resnet50(num_classes=spec["classes"]).cuda().to(memory_format=torch.channels_last)

    class WithLoss(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.network = network

        def forward(self, images, targets):
            return F.cross_entropy(self.network(images).float(), targets)

    size = spec["image_size"]
    images = torch.randn(batch, 3, size, size, device="cuda").to(memory_format=torch.channels_last)
    return WithLoss(), (images, torch.randint(spec["classes"], (batch,), device="cuda"))


def run_torch(name, steps):
    """In a process of its own: prints the steps' times, the peak of memory and the GPU's fastest product."""
    import torch
    path, batch, optimizer = NETWORKS[name]
    with open(path) as f:
        spec = json.load(f)
    model, data = (torch_gpt if name == "gpt" else torch_resnet)(torch, spec, batch)
    parameters = list(model.parameters())
    if optimizer == "adamw":
        update = torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    else:
        update = torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=1e-4)
    times = []
    for _ in range(steps):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(*data)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        update.step()
        update.zero_grad(set_to_none=True)
        loss.item()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    peak = torch.cuda.max_memory_allocated()
    del model, parameters, update, loss
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    fastest = 1e9
    for _ in range(10):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        a @ b
        torch.cuda.synchronize()
        fastest = min(fastest, time.perf_counter() - begin)
    print(json.dumps({"step_ms": times, "peak_bytes": peak, "flops": 2 * 8192**3 / fastest, "gpu": torch.cuda.get_device_name(),
                      "torch": torch.__version__}))


def library_folders():
    """cuBLASLt and cuDNN as PyTorch brought them, where the toolkit has not put them in the system's folders."""
    import glob
    import site
    folders = []
    for base in set(site.getsitepackages() + [os.path.dirname(os.path.dirname(p)) for p in sys.path if p.endswith("site-packages")] + sys.path):
        for library in ("libcublasLt.so*", "libcudnn.so*"):
            folders += [os.path.dirname(p) for p in glob.glob(os.path.join(base, "nvidia", "*", "lib", library))]
    return ":".join(sorted(set(folders)))


def run_engine(cli, name, steps, output=None):
    path, batch, optimizer = NETWORKS[name]
    command = [cli, "record", "--device", "cuda", "--precision", "bf16", "--model", path, "--batch", str(batch), "--steps",
               str(steps), "--optimizer", optimizer, "--json"] + (["-o", output] if output else ["--no-trace"])
    environment = dict(os.environ)
    environment.setdefault("FOURWALLS_CUDA_LIBRARIES", library_folders())
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr.strip()[-600:]}")
    return json.loads(result.stdout)


def settled(times):
    return times[max(1, len(times) // 4):]


def flops_of(name):
    """Of one step: 6 per parameter and token with the attention's products (causal ones half), 3 x 4.09 GMAC x 2 an image."""
    path, batch, _ = NETWORKS[name]
    with open(path) as f:
        spec = json.load(f)
    if name == "resnet":
        return 3 * 2 * 4.089e9 * batch * (spec["image_size"] / 224) ** 2
    c, t, layers = spec["hidden"], spec["sequence"], spec["layers"]
    matrices = layers * (4 * c * c + 2 * c * spec["ffn_hidden"]) + spec["vocabulary"] * c
    return batch * t * (6 * matrices + 6 * layers * c * t)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cli", help="fourwalls-cli, with libfourwalls_cuda.so beside it")
    parser.add_argument("--only", choices=sorted(NETWORKS))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--torch", choices=sorted(NETWORKS), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.torch:
        return run_torch(args.torch, args.steps)
    if not args.cli:
        parser.error("--cli is needed")
    random.seed(1)
    report = {}
    for name in [args.only] if args.only else sorted(NETWORKS):
        silent, traced, theirs, ratios, overheads = [], [], [], [], []
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "run.fourwalls")
            for i in range(args.rounds):
                results = {}
                turns = ["silent", "traced", "torch"]
                for which in turns[i % 3:] + turns[:i % 3]:
                    if which == "torch":
                        out = subprocess.run([sys.executable, os.path.abspath(__file__), "--torch", name, "--steps", str(args.steps)],
                                             capture_output=True, text=True)
                        if out.returncode:
                            sys.exit(f"PyTorch: {out.stderr.strip()[-600:]}")
                        results[which] = json.loads(out.stdout.splitlines()[-1])
                    else:
                        results[which] = run_engine(args.cli, name, args.steps, file if which == "traced" else None)
                median = {k: statistics.median(settled(v["step_ms"])) for k, v in results.items()}
                silent.append(median["silent"])
                traced.append(median["traced"])
                theirs.append(median["torch"])
                ratios.append(median["silent"] / median["torch"])
                overheads.append(median["traced"] / median["silent"] - 1)
                torch_facts = results["torch"]
                print(f"{name} round {i}: engine {median['silent']:.2f} ms, recorded {median['traced']:.2f} ms, PyTorch "
                      f"{median['torch']:.2f} ms", file=sys.stderr)
            metrics = subprocess.run([args.cli, "metrics", file, "--json"], capture_output=True, text=True)
            check = subprocess.run([args.cli, "check", file, "--json"], capture_output=True, text=True)
        resampled = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(2000))
        flops, peak = flops_of(name), torch_facts["flops"]
        facts = json.loads(metrics.stdout) if metrics.returncode == 0 else {}
        report[name] = {
            "gpu": torch_facts["gpu"], "torch": torch_facts["torch"], "engine_ms": statistics.median(silent),
            "recorded_ms": statistics.median(traced), "pytorch_ms": statistics.median(theirs),
            "ratio": statistics.median(ratios), "ratio_low": resampled[50], "ratio_high": resampled[1949],
            "overhead": statistics.median(overheads), "engine_mfu": flops / statistics.median(silent) * 1e3 / peak,
            "pytorch_mfu": flops / statistics.median(theirs) * 1e3 / peak, "peak_flops": peak,
            "trace_mfu": facts.get("mfu"), "trace_overhead": facts.get("recorder_overhead_fraction"),
            "dropped": facts.get("dropped"), "engine_peak_bytes": facts.get("peak_bytes", [{}])[0].get("total"),
            "pytorch_peak_bytes": torch_facts["peak_bytes"], "sound": check.returncode == 0, "rounds": args.rounds}
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
