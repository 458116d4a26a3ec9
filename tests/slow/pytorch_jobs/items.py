# SPDX-License-Identifier: Apache-2.0
"""Counts right answers one by one, and reads a tensor's value for each."""
import sys

import torch
from torch.profiler import ProfilerActivity, profile, schedule


def accuracy(outputs, labels):
    right = 0
    for output, label in zip(outputs, labels):
        if output.argmax().item() == label.item():
            right += 1
    return right


def main(out):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=.01)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=5, repeat=1),
                 with_stack=True) as profiler:
        for _ in range(7):
            images, labels = torch.randn(32, 256), torch.randint(10, (32,))
            optimizer.zero_grad()
            outputs = model(images)
            torch.nn.functional.cross_entropy(outputs, labels).backward()
            optimizer.step()
            accuracy(outputs.detach(), labels)
            profiler.step()
    profiler.export_chrome_trace(out)


main(sys.argv[1])
