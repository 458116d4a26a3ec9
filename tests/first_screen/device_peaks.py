# SPDX-License-Identifier: Apache-2.0
"""Dense datasheet rates in TFLOP/s by device and precision, and rates of links. They are the vendors', not taken from
the program."""
import re

PEAKS = [
    (r"V100-(?:SXM|DGXS)", {"f32": 15.7, "f16": 125, "f64": 7.8}),
    (r"V100-PCIE", {"f32": 14, "f16": 112, "f64": 7}),
    (r"A100-(?:SXM|PCIE)|A100 80GB PCIe", {"f32": 19.5, "tf32": 156, "f16": 312, "bf16": 312, "f64": 9.7, "int8": 624}),
    (r"H100 80GB HBM3|H100 SXM", {"f32": 66.9, "tf32": 494.7, "f16": 989.4, "bf16": 989.4, "fp8": 1979}),
    (r"H100 PCIe", {"f32": 51, "tf32": 378, "f16": 756, "bf16": 756, "fp8": 1513}),
    (r"B200", {"f32": 80, "tf32": 1125, "f16": 2250, "bf16": 2250, "fp8": 4500, "fp4": 9000}),
    (r"MI300X", {"f32": 163.4, "tf32": 653.7, "f16": 1307.4, "bf16": 1307.4, "fp8": 2614.9}),
    (r"MI210", {"f32": 22.6, "f16": 181, "bf16": 181}),
    (r"MI250", {"f32": 45.3, "f16": 362.1, "bf16": 362.1}),
    (r"RTX 3070 Ti", {"f32": 21.7, "tf32": 21.7, "f16": 87}),
    (r"RTX 5000 Ada.*Laptop", {"f32": 42.6}),
]


def peaks_of(device):
    """{precision: FLOP/s}; None: a device that is not in this list."""
    for pattern, rates in PEAKS:
        if device and re.search(pattern, device):
            return {name: value * 1e12 for name, value in rates.items()}
    return None


# One direction of the link between devices of one machine, in GB/s: NVLink as the vendors add it up, halved; PCIe.
LINKS = [(r"V100-(?:SXM|DGXS)", 150), (r"V100-PCIE", 15.75), (r"A100-SXM|A100-PG509", 300), (r"A100-PCIE", 31.5), (r"H100 80GB HBM3", 450), (r"RTX 30", 15.75)]


def link_of(device):
    """Bytes per second; None: a device that is not in this list."""
    return next((rate * 1e9 for pattern, rate in LINKS if device and re.search(pattern, device)), None)
