# SPDX-License-Identifier: Apache-2.0
"""Reads each picture from a slow disk, without workers."""
import sys
import time

import torch
from torch.profiler import ProfilerActivity, profile, schedule


class Images(torch.utils.data.Dataset):
    def __len__(self):
        return 16 * 8

    def __getitem__(self, index):
        time.sleep(.002)
        return torch.ones(256), index % 10


def main(out):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=.01)
    with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=6, repeat=1),
                 with_stack=True) as profiler:
        for images, labels in torch.utils.data.DataLoader(Images(), batch_size=16):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            profiler.step()
    profiler.export_chrome_trace(out)


main(sys.argv[1])
