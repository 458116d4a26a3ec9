# SPDX-License-Identifier: Apache-2.0
"""Reads a rank from JSON in the Chrome trace format: PyTorch's profiler (old and new categories, NVIDIA and AMD), Ascend's
trace_view.json, and what any other tracer writes."""
import ast
import collections
import decimal
import gzip
import json
import re
import zlib

import raw_flops
import raw_model
import raw_sizes
from raw_model import COMMUNICATION, COMPUTE, COPY

COLLECTIVE_KERNEL = re.compile(
    r"nccl|rccl|::ep::(internode|intranode)::|cross_device_reduce|deep_ep|multimem_|(one|two)_shot_all_reduce|symm_mem", re.I
)
REQUEST = re.compile(r"^(?:nccl|gloo|hccl|mpi|ucc|xccl):(\w+)")
KERNELS, SETS = ("kernel", "Kernel"), ("gpu_memset", "Memset")
COPIES = ("gpu_memcpy", "Memcpy") + SETS
RUNTIME = ("cuda_runtime", "cuda_driver", "Runtime", "mtia_runtime", "xpu_runtime", "privateuse1_runtime")
HOST = ("cpu_op", "Operator", "user_annotation")
SYNC = re.compile(r"(Device|Stream|Event)Synchronize|^(cuda|hip)(Memcpy|Free|MemcpyWithStream)$|Synchronize(Stream|Device|Event)", re.I)
KEPT = 100_000  # ns: an asynchronous copy that keeps its caller for longer waits
LAUNCH = re.compile(r"LaunchKernel|GraphLaunch|LaunchCooperative|ModuleLaunch", re.I)


AUTOGRAD_NODE = re.compile(r"Backward\d*$")


def category_of(event):
    """Its category; of the profiler that PyTorch had before Kineto, which wrote none, what its process and name say."""
    category, name = event.get("cat"), str(event.get("name", ""))
    if category:
        return category
    if event.get("pid") == "CUDA functions":
        return "kernel"
    if name.startswith(("aten::", "torch::autograd::")) or (event.get("pid") == "CPU functions" and AUTOGRAD_NODE.search(name)):
        return "cpu_op"
    return "user_annotation" if event.get("pid") == "CPU functions" else None


def unpacked(path):
    """The bytes of a file, and why it is cut if it is."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] != b"\x1f\x8b":
        return data, None
    try:
        return gzip.decompress(data), None
    except (OSError, EOFError, zlib.error) as problem:
        return zlib.decompressobj(31).decompress(data), f"gzip: {problem}"


def header_from_front(text):
    """What stands before the events of an object that ends early."""
    try:
        return json.loads(text[: text.index('"traceEvents"')].rstrip().rstrip(",") + "}", strict=False)
    except ValueError:
        return {}


def events_from_front(text):
    """Complete objects of an array that ends early."""
    decoder, at, found = json.JSONDecoder(strict=False), text.find("[", max(0, text.find('"traceEvents"'))) + 1, []
    while True:
        while at < len(text) and text[at] in ", \r\n\t":
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            return found
        found.append(value)


def document(path):
    """(header, events, why it is cut)."""
    data, cut = unpacked(path)
    text = data.decode("utf-8", "replace")
    try:
        whole = json.loads(text, strict=False, parse_float=decimal.Decimal)
    except ValueError as problem:
        # A top-level array may legally lack its "]", with or without a last comma: the format says so.
        array = text.lstrip().startswith("[")
        ends = text.rstrip().rstrip(",").endswith("}")
        return {} if array else header_from_front(text), events_from_front(text), cut or (None if array and ends else f"JSON: {problem}")
    if isinstance(whole, list):
        return {}, whole, cut
    events = whole.pop("traceEvents", None)
    return whole, events if isinstance(events, list) else [], cut


def nanoseconds(value):
    if value is None or isinstance(value, bool):
        return None
    try:
        return int(decimal.Decimal(value if isinstance(value, (int, decimal.Decimal)) else str(value)) * 1000)
    except (decimal.InvalidOperation, ValueError, OverflowError):
        return None


def literal(value):
    if not isinstance(value, str):
        return value
    for read in (json.loads, ast.literal_eval):
        try:
            return read(value)
        except (ValueError, SyntaxError):
            continue
    return value


def slices_of(events):
    """(begin, end, event) of complete events and of pairs of B and E, and how many B and E are without a partner. What
    never ends lasts until the file does."""
    found, stacks, alone, last = [], collections.defaultdict(list), 0, 0
    for event in events:
        if not isinstance(event, dict):
            continue
        phase, at = event.get("ph"), nanoseconds(event.get("ts"))
        if at is None or event.get("cat") == "Trace":
            continue
        if phase == "X":
            found.append((at, at + max(0, nanoseconds(event.get("dur")) or 0), event))
        elif phase == "B":
            stacks[event.get("pid"), event.get("tid")].append((at, event))
        elif phase == "E" and stacks[event.get("pid"), event.get("tid")]:
            begin, opened = stacks[event.get("pid"), event.get("tid")].pop()
            found.append((begin, max(begin, at), opened))
        elif phase == "E":
            alone += 1
        last = max([last, at] + [s[1] for s in found[-1:]])
    left = [entry for stack in stacks.values() for entry in stack]
    found += [(begin, max(begin, last), opened) for begin, opened in left]
    return found, alone + len(left)


def asynchronous_ends(events):
    """(begin, end) of pairs of asynchronous events, S and F, b and e of one id and name, and how many have no partner."""
    found, stacks, alone = [], collections.defaultdict(list), 0
    for event in events:
        if not isinstance(event, dict) or event.get("ph") not in ("S", "F", "b", "e"):
            continue
        at, phase = nanoseconds(event.get("ts")), event["ph"]
        key = event.get("cat"), str(event.get("id", event.get("id2"))), event.get("name")
        if at is not None and phase in "Sb":
            stacks[key].append(at)
        elif at is not None and stacks[key]:
            begin = stacks[key].pop()
            found.append((begin, max(begin, at)))
        elif at is not None:
            alone += 1
    return found, alone + sum(map(len, stacks.values()))


def header_facts(rank, header):
    job = literal(header.get("distributedInfo"))
    if isinstance(job, dict):
        rank.rank, rank.world = job.get("rank"), job.get("world_size")
        for group in job.get("pg_config") or []:
            if isinstance(group, dict) and group.get("pg_desc"):
                rank.groups[group["pg_desc"].upper()] = group.get("pg_size") or len(group.get("ranks") or [])
        rank.lists_groups = any(group.get("ranks") for group in job.get("pg_config") or [] if isinstance(group, dict))
    devices = header.get("deviceProperties") or header.get("computeProperties") or []
    if isinstance(devices, list) and devices:
        rank.device = devices[0].get("name") or None
        rank.device_bytes = devices[0].get("totalGlobalMem") or devices[0].get("memory")
        rank.devices_listed = len(devices)


def add_allocator(rank, events):
    """[memory] events of devices, or of the processor where there are no others: the running total where the file has
    it, and the rise since the first event."""
    rows, of_host = [], []
    for event in events:
        if isinstance(event, dict) and event.get("name") == "[memory]":
            args = event.get("args") or {}
            (of_host if args.get("Device Type") in (0, None) else rows).append((nanoseconds(event.get("ts")) or 0, args))
    rank.allocator_of_host = not rows and bool(of_host)
    rows = rows or of_host
    rank.allocator_events = len(rows)
    rows.sort(key=lambda row: row[0])
    totals = [args["Total Allocated"] for _, args in rows if args.get("Total Allocated") is not None]
    rank.allocated_peak = max(totals, default=None)
    level = highest = 0
    for _, args in rows:
        level += args.get("Bytes") or 0
        highest = max(highest, level)
    rank.allocated_rise = highest if rows else None


def ascend_processes(events):
    return {
        event.get("pid"): event["args"].get("name")
        for event in events
        if isinstance(event, dict) and event.get("name") == "process_name" and isinstance(event.get("args"), dict)
    }


def read(path):
    """The rank of one JSON file."""
    header, events, cut = document(path)
    rank = raw_model.Rank(path, "chrome", cut=cut)
    header_facts(rank, header)
    names = ascend_processes(events)
    ascend = "Ascend Hardware" in names.values()
    slices, alone = slices_of(events)
    pairs, unpaired = asynchronous_ends(events)
    rank.slices = len(slices)
    rank.pairs = sum(1 for e in events if isinstance(e, dict) and e.get("ph") in ("b", "S"))
    rank.asynchronous = sum(1 for e in events if isinstance(e, dict) and e.get("ph") in ("b", "n", "e", "S", "T", "F", "N", "D", "O"))
    if alone + unpaired:
        rank.unread = f"{alone + unpaired} begins or ends without a partner"
    shown = [s[:2] for s in slices] + pairs
    if shown:
        rank.span = min(s[0] for s in shown), max(s[1] for s in shown)
    launched, products = {}, raw_flops.Products()
    for begin, end, event in slices:
        if category_of(event) in RUNTIME:
            args = event.get("args") or {}
            key = args.get("correlation", args.get("External id"))
            if key is not None:
                launched[key] = begin
    for begin, end, event in slices:
        name, category = str(event.get("name", "")), category_of(event)
        rank.categories[category] += 1
        args = event.get("args") if isinstance(event.get("args"), dict) else {}
        module = category == "python_function" and re.match(r"nn\.Module: (.+)_(\d+)$", name)
        if module:
            rank.modules.setdefault(module[1], set()).add(module[2])
        rank.lists_groups = rank.lists_groups or bool(args.get("Process Group Ranks"))
        if ascend:
            add_ascend(rank, names.get(event.get("pid")), begin, end, name)
        if category in KERNELS or category in COPIES:
            kind = COPY if category in COPIES else COMMUNICATION if COLLECTIVE_KERNEL.search(name) else COMPUTE
            size = args.get("bytes", args.get("Bytes"))
            when = launched.get(args.get("correlation"))
            rank.work.append(raw_model.Work(begin, end, name, kind, when, size, args.get("device", 0)))
        elif category in RUNTIME:
            if LAUNCH.search(name):
                rank.launches.append((begin, end))
            if SYNC.search(name):
                rank.syncs.append((begin, end))
                rank.sync_names[name] += end - begin
            elif "Memcpy" in name and end - begin >= KEPT:
                rank.kept += [(begin, end)]
        if category == "mtia_ccp_events" and name.startswith("event_"):
            rank.waits.append((begin, end))
        if category == "mtia_ccp_events" and not name.startswith("event_"):
            rank.work.append(raw_model.Work(begin, end, name, COPY if name == "dma_request" else COMPUTE))
        if category in HOST:
            add_host(rank, products, begin, end, name, args)
    rank.requests = rank.requests or rank.parameters
    rank.products = products.settled()
    if not rank.work:
        rank.host = [w for w in map(host_work, slices) if w]
        calls = sum(1 for _, _, e in slices if category_of(e) in RUNTIME and LAUNCH.search(str(e.get("name", ""))))
        if calls:
            rank.unread = f"{calls} calls that launch work of which the file has none"
    add_allocator(rank, events)
    if ascend:
        rank.kind = "ascend"
    elif header.get("schemaVersion") or any(c in rank.categories for c in KERNELS + HOST + RUNTIME + ("python_function",)):
        rank.kind = "kineto"
    return rank


def host_work(entry):
    """What a thread does where no device is: an operator computes unless it asks for communication, and Gloo and MPI
    communicate on the thread itself."""
    begin, end, event = entry
    name, category = str(event.get("name", "")), category_of(event)
    if category in HOST and name.startswith(("gloo:", "mpi:")):
        return raw_model.Work(begin, end, name, COMMUNICATION)
    asks = REQUEST.match(name) or name.startswith(("c10d::", "record_param_comms"))
    return raw_model.Work(begin, end, name, COMPUTE) if category in ("cpu_op", "Operator") and not asks else None


def add_ascend(rank, process, begin, end, name):
    """The profiler's own overlap analysis says what a device does; copies are tasks of its streams."""
    kinds = {"Computing": COMPUTE, "Communication": COMMUNICATION}
    if process == "CANN" and SYNC.search(name):
        rank.syncs.append((begin, end))
        rank.sync_names[name] += end - begin
    if process == "Overlap Analysis" and name in kinds:
        rank.work.append(raw_model.Work(begin, end, name, kinds[name]))
    elif process == "Ascend Hardware" and name.startswith("MEMCPY"):
        rank.work.append(raw_model.Work(begin, end, name, COPY))


def add_host(rank, products, begin, end, name, args):
    if name.startswith("ProfilerStep") and re.search(r"\d", name):
        rank.marks.append((begin, end, name))
    request = REQUEST.match(name)
    if name == "record_param_comms" and args.get("Collective name") and not request:
        rank.parameters.append((begin, end, args["Collective name"], args.get("In msg nelems"), args.get("Process Group Name")))
    if request:
        size = args.get("In msg nelems")
        rank.requests.append((begin, end, request.group(1), size, args.get("Process Group Name")))
    raw_sizes.note(rank.sizes, name, literal(args.get("Input Dims") or args.get("Input dims")), literal(args.get("Input type")))
    products.add(begin, end, name, literal(args.get("Input Dims") or args.get("Input dims")), literal(args.get("Concrete Inputs")))
    if name.startswith(("autograd::engine", "Optimizer.step")) or "Backward" in name:
        rank.has["optimizer" if name.startswith("Optimizer.step") else "backward"] = True
    rank.ranges.setdefault(re.sub(r"\d+", "#", name), []).append((begin, end))
