#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The engine's ResNet in PyTorch: same layers, same loss, same SGD with momentum, clipping and learning rates, and the
same generated images, so that losses can be compared and steps timed side by side (one thread by default).

Prints "step I loss L norm N ms T" per step; making the images is not timed. Weights come from a model.safetensors
written by the engine."""
import argparse
import json
import math
import os
import struct
import sys
import time

MASK = (1 << 64) - 1
BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


def mix64(z):
    z = (z + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


class Stream:
    """model/base/random.h"""

    def __init__(self, seed, stream):
        self.base = mix64(mix64(seed) ^ stream)

    def bits(self, i):
        return mix64((self.base + i) & MASK)

    def below(self, i, bound):
        return (self.bits(i) * bound) >> 64

    def uniform(self, i):
        return (self.bits(i) >> 11) * 2.0 ** -53

    def uniforms(self, count, np):
        with np.errstate(over="ignore"):
            z = np.arange(count, dtype=np.uint64) + np.uint64((self.base + 0x9E3779B97F4A7C15) & MASK)
            z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z = z ^ (z >> np.uint64(31))
        return (z >> np.uint64(11)).astype(np.float64) * 2.0 ** -53


def named(seed, text):
    h = 0xCBF29CE484222325
    for c in text.encode():
        h = ((h ^ c) * 0x100000001B3) & MASK
    return Stream(seed, h)


def image(seed, sample, label, size, np):
    """profiler/engine/train/image_data.cpp"""
    pattern = Stream(mix64(seed) ^ label, 0x70617474)
    own = Stream(mix64(seed) ^ sample, 0x6F776E)
    noise, waves, most = 0.5, 3, 6
    colour = math.sqrt((1 - noise * noise) * 2 / waves)
    count = 3 * size * size
    pixels = ((own.uniforms(count, np) - 0.5) * noise * math.sqrt(12.0)).reshape(3, size, size)
    turn = 2 * math.pi * np.arange(size) / size
    for wave in range(waves):
        at = wave * 8
        down, across = pattern.below(at, most + 1), 1 + pattern.below(at + 1, most)
        lean = 1.0 if pattern.bits(at + 2) & 1 else -1.0
        shift = 2 * math.pi * own.uniform(count + wave)
        plane = np.cos((turn * down + shift)[:, None] + (turn * across * lean)[None, :])
        for c in range(3):
            pixels[c] += (colour if pattern.bits(at + 3 + c) & 1 else -colour) * plane
    return pixels


def load_safetensors(path, torch):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        data = bytearray(f.read())
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        tensors[name] = torch.frombuffer(data[begin:end], dtype=torch.float32).clone().reshape(entry["shape"])
    return tensors


def build(torch, depth, classes):
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, channels, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(4 * width)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = None
            if stride != 1 or channels != 4 * width:
                self.downsample = nn.Sequential(nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            y += x if self.downsample is None else self.downsample(x)
            return self.relu(y)

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            channels = 64
            for stage, blocks in enumerate(BLOCKS[depth]):
                layer = []
                for block in range(blocks):
                    layer.append(Bottleneck(channels, 64 << stage, 2 if stage > 0 and block == 0 else 1))
                    channels = 4 * (64 << stage)
                setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
            self.fc = nn.Linear(channels, classes)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.fc(x.mean((2, 3)))

    return ResNet()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weights", help="model.safetensors; random weights without it")
    parser.add_argument("--depth", type=int, default=50, choices=sorted(BLOCKS))
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--channels-last", action="store_true", help="PyTorch's other order of an image's elements")
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = str(args.threads)
    try:
        import numpy as np
        import torch
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 77
    torch.set_num_threads(args.threads)
    model = build(torch, args.depth, args.classes)
    if args.weights:
        missing = model.load_state_dict(load_safetensors(args.weights, torch), strict=False)
        unexplained = [k for k in missing.missing_keys if not k.endswith("num_batches_tracked")] + missing.unexpected_keys
        if unexplained:
            print(f"{args.weights}: does not fit, see {unexplained[0]}", file=sys.stderr)
            return 1
    form = torch.channels_last if args.channels_last else torch.contiguous_format
    dtype = torch.float64 if args.double else torch.float32
    model = model.to(dtype).to(memory_format=form).train()
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.SGD([{"params": matrices, "weight_decay": args.decay}, {"params": vectors, "weight_decay": 0.0}],
                                lr=args.lr, momentum=0.9)
    labels = named(args.seed, "image labels")
    warmup = max(1.0, float(int(0.1 * args.steps + 0.5)))
    for step in range(args.steps):
        samples = range(step * args.batch, (step + 1) * args.batch)
        targets = [labels.below(i, args.classes) for i in samples]
        pixels = np.stack([image(args.seed, i, t, args.size, np) for i, t in zip(samples, targets)])
        x = torch.from_numpy(pixels.astype(np.float32)).to(dtype).contiguous(memory_format=form)
        y = torch.tensor(targets)
        if step < warmup:
            rate = args.lr * (step + 1) / warmup
        else:
            progress = min(1.0, (step - warmup) / max(1.0, args.steps - 1.0 - warmup))
            rate = args.lr * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        value = loss.item()
        print(f"step {step} loss {value:.9g} norm {norm.item():.7g} ms {(time.perf_counter() - begin) * 1e3:.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
