# SPDX-License-Identifier: Apache-2.0
"""The stages of the check, in the order of their worth. Each gets the run (run.py) and says by its `check` what passed."""
import json
import os
import shutil

import verdicts

TINY = ["--layers", "2", "--wide", "256", "--batch", "2", "--seq", "256"]
SMALL = ["--layers", "4", "--wide", "512", "--batch", "4", "--seq", "512"]
LARGE = ["--layers", "12", "--wide", "1024", "--batch", "8", "--seq", "1024"]
BOUND = ["--layers", "12", "--wide", "128", "--batch", "1", "--seq", "64"]  # by launches


def facts(run):
    """Where this is: GPU, driver, libraries, rights."""
    ran = run.shell("facts", 60, """
        nvidia-smi --query-gpu=name,driver_version,memory.total,mig.mode.current,compute_mode,clocks.sm,power.limit --format=csv
        uname -r; nproc; getconf GNU_LIBC_VERSION; nvcc --version 2>/dev/null | tail -n 1
        grep CapEff /proc/self/status; grep -s RmProfilingAdminOnly /proc/driver/nvidia/params
        ldconfig -p | grep -E 'libcupti|libcublasLt|libcudnn.so|libnccl.so'; true""")
    run.quote(ran.text)
    ran = run.python("torch", 120, ["-c", "import sys, torch; print(sys.version.split()[0], torch.__version__, torch.version.cuda,"
                                         " torch.cuda.nccl.version(), torch.cuda.get_device_name())"])
    run.quote(ran.text)
    run.judge("PyTorch sees the GPU", ran)
    run.judge("fourwalls-cli starts", run.cli("version", 10, ["--version"]))


def raw(run):
    """CUPTI's buffers as they came, and the spool that the program decodes of them: with these every later question can be
    worked on without the machine."""
    kept = run.folder("raw")
    for name, without in (("nodes", ""), ("whole_graphs", "graph_nodes")):
        run.recorded(f"raw_{name}", 70, ["train.py", *SMALL, "--steps", "3", "--graph", "20"], ["--detail", "normal"], FOURWALLS_RAW=kept,
                     FOURWALLS_RAW_BYTES="14M", FOURWALLS_WITHOUT=without, FOURWALLS_VERBOSE="1")
    files = sorted(name for name in os.listdir(kept) if name.endswith(".fwcupti"))
    run.check(f"raw buffers: {len(files)} files", [] if len(files) == 2 else ["two were expected"])
    for name in files:
        path = os.path.join(kept, name)
        ran = run.command(f"decode_{name}", 20, [run.tests("cupti_replay"), path, path + ".fwspool", *run.cupti()])
        run.judge(f"{name} decodes again", ran)
        run.check(f"{name}: nothing unknown, ids in the order of the calls", verdicts.replayed(ran.text), ran.name)
    run.pack("raw.tar", run.files(kept))  # at once: they are worth more than anything after them


def record(run):
    """What a user does first, and everything that he would look at."""
    said, path = run.recorded("record", 150, ["train.py", *SMALL, "--steps", "10", "--workers", "2"], ["--steps", "4-7", "--memory"])
    run.check("4 steps recorded", verdicts.recorded(said, 4, 500), "record")
    run.judge("check", run.cli("record_check", 30, ["check", path]))
    info = verdicts.json_of(run.cli("record_info", 30, ["info", path, "--json"]).text)
    run.check("nothing lost; phases, launches, memory", verdicts.audit(info, ("phases_from_threads", "import_arrows", "import_buffers")),
              "record_info")
    ran = run.cli("record_metrics", 30, ["metrics", path, "--json"])
    run.check("metrics", verdicts.figures(verdicts.json_of(ran.text)), "record_metrics")
    run.take(path)
    ran = run.cli("record_fails", 60, ["record", "-o", run.file("fails.fourwalls"), "--", run.interpreter, run.script("small_jobs.py"), "fails"])
    run.judge("a job that fails has its own status", ran, 7)
    run.judge("and its trace", run.cli("record_fails_info", 20, ["info", run.file("fails.fourwalls")]))


def compare(run):
    """A tiny job recorded, and under torch.profiler in another process, in turns: kernels within 1 % in number and time. Of
    the first turn raw buffers, spool, trace and PyTorch's profile come home together: the test data that there is none of."""
    job, kept = ["train.py", *TINY, "--steps", "14", "--warm", "3"], run.folder("same_job")
    ours, theirs = [], []
    for turn in range(3):
        place = kept if turn == 0 else run.folder("other_turns")
        raw = {"FOURWALLS_RAW": kept, "FOURWALLS_RAW_BYTES": "14M"} if turn == 0 else {}
        said, path = run.recorded(f"compare_{turn}", 60, job, ["--steps", "4-13"], place, **raw)
        run.check("10 steps recorded", verdicts.recorded(said, 10, 500), f"compare_{turn}")
        own = run.facts(f"compare_facts_{turn}", path)
        ours.append((own.get("gpu_kernel_events"), verdicts.microseconds(own.get("gpu_kernel_time_us"))))
        profile = os.path.join(place, "torch_profile.json")
        run.judge("the job under torch.profiler", run.job(f"compare_profiler_{turn}", 60, [*job, "--profile", profile]))
        try:
            with open(profile, encoding="utf-8") as file:
                theirs.append(verdicts.profile_kernels(json.load(file)))
        except (OSError, ValueError, KeyError) as failure:
            run.check("torch.profiler's trace", [str(failure)], f"compare_profiler_{turn}")
    problems = verdicts.same_kernels(ours, theirs)
    words = f"kernels and their µs: {ours} recorded, {theirs} by torch.profiler"
    if problems is None:
        run.absent(words, "the GPU's own times differ from run to run by more than 1 %, and the two overlap")
    else:
        run.check(words, problems, "compare_facts_0")
    run.judge("torch.profiler's trace opens", run.cli("compare_import", 40, ["import", os.path.join(kept, "torch_profile.json"), "-o",
                                                                            run.file("profile.fourwalls")]))
    files = [*run.files(kept), run.file("compare_0.fourwalls")]
    run.check("raw buffers, spool, PyTorch's profile and the trace of one job", verdicts.kinds_of(files, (
        ".fwcupti", ".fwspool", ".json", ".fourwalls")))
    run.pack("same_job.tar", files)


def memory(run):
    """The peaks of device memory within 1 % of PyTorch's own: what is allocated of CUDA, and the tensors in it."""
    said, path = run.recorded("memory", 120, ["train.py", *LARGE, "--steps", "8"], ["--steps", "4-6", "--memory"])
    run.check("3 steps recorded", verdicts.recorded(said, 3, 500), "memory")
    own = verdicts.json_of(run.log("memory_job")) or {}
    tensors, reserved = verdicts.peaks(verdicts.json_of(run.cli("memory_metrics", 30, ["metrics", path, "--json"]).text),
                                       run.query("memory_query", path, "SELECT max(value) FROM named_counter_samples WHERE "
                                                                       "name = 'cuda_allocated_bytes'"))
    pairs = {"allocated of CUDA": (reserved, own.get("max_reserved")), "tensors": (tensors, own.get("max_allocated"))}
    run.check("peaks of memory: " + ", ".join(f"{words} {mine} and {other} by PyTorch" for words, (mine, other) in pairs.items()),
              verdicts.memory(pairs), "memory_metrics")


def operators(run):
    run.tested("the engine's CUDA module as it starts", "gpu_module", 30)
    run.tested("the engine's operators against double precision", "gpu_operators", 90)
    run.tested("attention against double precision", "gpu_attention", 30)
    run.tested("operators on images against double precision", "gpu_image_operators", 30)
    run.tested("own kernels on slices of every alignment", "gpu_packs", 60)


def training(run):
    run.tested("the engine's training against the processor", "gpu_training", 180)


# How a job ends, its status under `record`, what the recording keeps of it (verdicts.ending), options.
ENDINGS = [("exit", 0, "all", []), ("fork", 0, "all", []), ("spawn", 0, "all", []), ("TERM", 143, "signal", []),
           ("_exit", 0, "flushed", []), ("KILL", 137, "flushed", []), ("KILL", 137, "flushed", ["--detail", "normal"])]


def endings(run):
    """What a recording loses when its job ends in some way, against what the job counted itself: nothing where the end can be
    seen; else the last flush and what CUPTI keeps, and the trace says so."""
    for way, status, keeps, options in ENDINGS:
        name = "_".join(["end", way, *options[1:]])
        counted = run.file(f"{name}.counted")
        said, path = run.recorded(name, 60, ["endings.py", way, counted], options, expected=status)
        launches = verdicts.Launches(run.text(counted))
        kernels = run.facts(f"{name}_facts", path).get("gpu_kernel_events") or 0
        info = verdicts.json_of(run.cli(f"{name}_info", 30, ["info", path, "--json"]).text)
        last = f", the last {launches.after(kernels):.0f} ms are missing" if 0 < kernels < launches.all else ""
        run.check(f"end by {way} {' '.join(options)}: {kernels} kernels kept, {launches.all} launched{last}",
                  verdicts.ending(keeps, info, launches, kernels), name)


def nccl(run):
    """Collectives paired with their kernels, of one rank and of two on one GPU, also where launches are not recorded."""
    for name, world, more in (("one", 1, ["--detail", "normal"]), ("two", 2, ["--detail", "normal"]), ("two_low", 2, ["--detail", "low"])):
        said, path = run.recorded(f"nccl_{name}", 80, ["collectives.py", str(world)], more)
        run.check(f"{world} ranks {' '.join(more)}", verdicts.recorded(said, None, 5 * 3 * world), f"nccl_{name}")
        info = verdicts.json_of(run.cli(f"nccl_{name}_info", 20, ["info", path, "--json"]).text)
        # One rank alone has no kernels of NCCL: it copies, or does nothing.
        wanted = (verdicts.pairing(verdicts.json_of(run.log(f"nccl_{name}_job"))),) if world > 1 else ()
        run.check(f"nothing lost, {' '.join(wanted)}", verdicts.audit(info, wanted, launches=False), f"nccl_{name}_info")
        run.take(path)


def edges(run):
    """Waits of a stream for another one's event, each an arrow: the ids of event records and the order of correlation ids."""
    said, path = run.recorded("edges", 60, ["small_jobs.py", "edges"], ["--detail", "normal"])
    own = verdicts.json_of(run.log("edges_job")) or {}
    info = verdicts.json_of(run.cli("edges_info", 20, ["info", path, "--json"]).text)
    run.check(f"{own.get('waits')} waits are arrows", verdicts.waits(info, own.get("waits") or 1), "edges_info")
    run.take(path)


def groups(run):
    """Groups of NCCL with several operations: which launch carries which of them, by NCCL's own task groups."""
    said, path = run.recorded("groups", 90, ["collectives.py", "2", "groups"], [])
    own = [json.loads(line) for line in run.log("groups_job").splitlines() if line.startswith('{"world"')]
    info = verdicts.json_of(run.cli("groups_info", 20, ["info", path, "--json"]).text)
    if own and verdicts.pairing(own[-1]) != "nccl_kernels_paired":
        run.absent("groups of NCCL", f"NCCL {own[-1]['nccl']} tells no launches")
        return
    asked = sum(each.get("collectives", 0) for each in own)
    run.check(f"{asked} collectives, each with its kernel", verdicts.grouped(info, said, asked), "groups_info")
    run.take(path)


def compiled(run):
    """torch.compile of model and optimizer: graphs, breaks and the loss are those of a run without the recorder."""
    job = ["train.py", *SMALL, "--steps", "6", "--compile"]
    plain = run.job("compile_plain", 120, job)
    if plain.status > 0 and not plain.timed_out:
        run.absent("a job that torch.compile compiles", "it fails by itself here (no C compiler?): " + plain.text.strip()[-200:])
        return
    run.judge("the compiled job alone", plain)
    run.recorded("compile_recorded", 120, job, [])
    own = verdicts.json_of(run.log("compile_recorded_job"))
    run.check("the same graphs, breaks and loss", verdicts.same_run(verdicts.json_of(plain.text), own, ("graphs", "graph_breaks", "loss")),
              "compile_recorded")


def graph(run):
    """A CUDA graph of 2 million nodes: all are there with as many of CUPTI's buffers as there are; with 8 of them CUPTI loses
    the nodes' times at some point, and the later replays are recorded as wholes."""
    said, path = run.recorded("graph", 90, ["small_jobs.py", "replays"], ["--detail", "normal"])
    info = verdicts.json_of(run.cli("graph_info", 40, ["info", path, "--json"]).text)
    run.check("each node once, nothing lost", verdicts.graph_kept(info, 20000 * 100), "graph_info")
    said, path = run.recorded("graph_8", 90, ["small_jobs.py", "replays"], ["--detail", "normal"], FOURWALLS_POOL_LIMIT="8")
    info = verdicts.json_of(run.cli("graph_8_info", 40, ["info", path, "--json"]).text)
    found = run.query("graph_8_query", path, "SELECT count(*) FROM named_slices WHERE name LIKE 'CUDA graph %'")
    wholes = found["rows"][0][0] if found else 0
    problems = verdicts.graph_switched(info, wholes, 20000, 100)
    words = f"with 8 buffers: {verdicts.count(info, 'times_lost')} nodes without times, then {wholes} whole replays"
    if problems is None:
        run.absent(words, "this CUPTI lost no times")
    else:
        run.check(words, problems, "graph_8_info")


def profiler_inside(run):
    """torch.profiler within a recorded job: under `record` it leaves the GPU to the recording. Without the hook it takes the
    records where it can, and the recorder takes them back."""
    said, path = run.recorded("inside", 60, ["small_jobs.py", "inside"], [])
    kernels = run.facts("inside_facts", path).get("gpu_kernel_events") or 0
    run.check(f"{kernels} kernels of 3000 kept", [] if kernels >= 3000 else ["kernels were lost"], "inside")
    run.check("a line says who has the GPU", verdicts.said(run.log("inside_job"), "torch.profiler leaves the GPU to this recording"), "inside")
    folder, path = run.folder("spool_taken"), run.file("taken.fourwalls")
    ran = run.job("taken", 60, ["small_jobs.py", "taken"], run.injected(folder, FOURWALLS_DETAIL="normal"))
    run.judge("torch.profiler beside a recorder without the hook", ran)
    run.judge("its spool opens", run.cli("taken_import", 40, ["import", *run.spools(folder), "-o", path]))
    kernels, own = run.facts("taken_facts", path).get("gpu_kernel_events") or 0, verdicts.json_of(ran.text) or {}
    info = verdicts.json_of(run.cli("taken_info", 30, ["info", path, "--json"]).text)
    problems = verdicts.taken_back(info, own, kernels)
    words = f"{kernels} kernels of {own.get('launched')}, {own.get('profiler')} seen by torch.profiler"
    if problems is None:
        run.absent(f"records taken back ({words})", "this PyTorch's profiler took none away")
    else:
        run.check(f"records taken back: {words}", problems, "taken_info")


def engine(run):
    path = run.file("engine.fourwalls")
    arguments = ["--device", "cuda", "--precision", "bf16", "--model", "gpt2-124m", "--batch", "8", "--steps", "12"]
    run.judge("the engine trains gpt2-124m in bf16", run.cli("engine", 90, ["record", "-o", path, *arguments]))
    run.judge("check", run.cli("engine_check", 30, ["check", path]))
    ran = run.cli("engine_metrics", 30, ["metrics", path, "--json"])
    run.check("metrics", verdicts.figures(verdicts.json_of(ran.text)), "engine_metrics")
    run.quote(run.cli("engine_text", 30, ["metrics", path]).text)
    run.take(path)


def own_kernels(run):
    """What the engine's own kernels move in a second, against what the GPU's memory does: it tells what packs of 16 bytes
    bring, and what single elements and attention's scores cost."""
    path = run.file("own_kernels.fourwalls")
    arguments = ["--device", "cuda", "--precision", "bf16", "--model", "gpt2-124m", "--batch", "8", "--steps", "6"]
    run.judge("the engine trains gpt2-124m in bf16", run.cli("own_kernels", 90, ["record", "-o", path, *arguments]))
    info = verdicts.json_of(run.cli("own_kernels_info", 20, ["info", path, "--json"]).text)
    rates = verdicts.memory_rates(info, run.query("own_kernels_query", path, "SELECT op.name, sum(slice.dur), sum(op.bytes) FROM slice JOIN "
                                                  "op ON op.id = slice.op WHERE op.bytes > 0 AND op.flops = 0 AND op.name <> 'data loading' GROUP BY op.name"))
    run.check("the rates of at least five kernels", [] if len(rates) >= 5 else [f"{len(rates)} with bytes, times and a rate of the memory"],
              "own_kernels_query")
    for name, milliseconds, gigabytes, share in rates:
        run.say(f"  - {name}: {milliseconds:.2f} ms, {gigabytes:.0f} GB/s, {share:.0f} % of the memory's")


def static_program(run):
    """A program without Python, with CUDA's runtime linked in: nothing of it loads libcupti."""
    path = run.file("plain.fourwalls")
    environment = {"FOURWALLS_CUPTI": run.cupti()[0]} if run.cupti() else {}
    run.judge("its own status", run.cli("plain", 40, ["record", "-o", path, "--", run.tests("plain_program")], environment), 3)
    kernels = run.facts("plain_facts", path).get("gpu_kernel_events")
    run.check("1000 kernels", [] if kernels == 1000 else [f"{kernels}"], "plain")


def surroundings(run):
    """What is wrong around a job is said in a line and leaves the job alone."""
    job = ["train.py", *SMALL, "--steps", "4"]
    plain = verdicts.json_of(run.job("surroundings_plain", 60, job).text)
    said, path = run.recorded("no_cupti", 60, job, [], FOURWALLS_CUPTI="/nowhere/libcupti.so")
    own = run.log("no_cupti_job")
    run.check("no CUPTI: the job's own loss", verdicts.same_run(plain, verdicts.json_of(own), ("loss",)), "no_cupti")
    run.check("and is said", verdicts.said(own, "nothing of the GPU is recorded"), "no_cupti")
    said, path = run.recorded("limit", 60, [*job, "--graph", "1000"], ["--spool-limit", "1"])
    own = run.log("limit_job")
    run.check("a spool of 1 MiB: the job's own loss", verdicts.same_run(plain, verdicts.json_of(own), ("loss",)), "limit")
    run.check("and is said", verdicts.said(own, "has reached FOURWALLS_SPOOL_LIMIT"), "limit")
    info = verdicts.json_of(run.cli("limit_info", 20, ["info", path, "--json"]).text)
    run.check("and the trace says that it is partial", verdicts.partial(info), "limit_info")
    vanishing_folder(run, job, plain)
    small_disk(run, job, plain)
    without_rights(run, job, plain)
    namespace(run, job)


def vanishing_folder(run, job, plain):
    folder = run.folder("vanishes")
    text = ('"$@" & job=$!; for i in $(seq 300); do ls "$0"/*.fwspool >/dev/null 2>&1 && break; kill -0 $job || break; sleep 0.1; done; '
            'ls "$0"/*.fwspool >/dev/null && rm -r "$0" && echo "the folder is gone"; wait $job')
    ran = run.command("vanishes", 60, ["sh", "-c", text, folder, run.interpreter, run.script(job[0]), *job[1:]],
                      run.injected(folder, FOURWALLS_VERBOSE="1"))
    run.check("a folder of spools that vanishes leaves the job alone", verdicts.left_alone(plain, ran.status, ran.text), "vanishes")
    run.check("and there was one", verdicts.said(ran.text, "the folder is gone"), "vanishes")


def small_disk(run, job, plain):
    """The spool's disk is a file system of 24 MiB in a namespace of its own, which only this job sees."""
    folder, path = run.folder("disk"), run.file("disk.fourwalls")
    if not run.may_unshare("--mount"):
        run.absent("a disk that is full", "unshare may not make a mount namespace here")
        return
    text = ('mount -t tmpfs -o size=24m none "$0" || exit 99; "$@"; status=$?; ' f'"{run.program}" import "$0"/*.fwspool -o "{path}" >&2; exit $status')
    longer = [run.interpreter, run.script(job[0]), *job[1:-1], "4", "--graph", "20000"]
    ran = run.command("disk", 80, [*run.unshare("--mount"), "sh", "-c", text, folder, *longer], run.injected(folder, FOURWALLS_VERBOSE="1"))
    run.check("a disk that is full leaves the job alone", verdicts.left_alone(plain, ran.status, ran.text), "disk")
    run.check("and is said", verdicts.said(ran.text, "disk is almost full", "cannot be written any more"), "disk")  # whichever is seen first
    info = verdicts.json_of(run.cli("disk_info", 20, ["info", path, "--json"]).text)
    run.check("and the trace says that it is partial", verdicts.partial(info), "disk_info")


def without_rights(run, job, plain):
    """Tracing by CUPTI's activities wants no CAP_SYS_ADMIN, unlike counters: a container has none."""
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        run.absent("a job without CAP_SYS_ADMIN", "setpriv is not here to take it away")
        return
    prefix = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"] if os.geteuid() == 0 else []
    path = run.file("rights.fourwalls")
    ran = run.command("rights", 60, [*prefix, run.program, "record", "-o", path, "--", run.interpreter, run.script(job[0]), *job[1:]],
                      {**os.environ, **run.libraries()})
    run.check("a job without CAP_SYS_ADMIN", verdicts.left_alone(plain, ran.status, ran.text), "rights")
    kernels = run.facts("rights_facts", path).get("gpu_kernel_events")
    run.check(f"its {kernels} kernels", [] if kernels else ["none"], "rights")


def namespace(run, job):
    if not run.may_unshare("--pid", "--fork", "--mount-proc"):
        run.absent("a job in another process namespace", "unshare may not make one here")
        return
    path = run.file("namespace.fourwalls")
    ran = run.cli("namespace", 60, ["record", "-o", path, "--", *run.unshare("--pid", "--fork", "--mount-proc"), run.interpreter,
                                    run.script(job[0]), *job[1:]])
    run.judge("a job in another process namespace", ran)
    run.check("its kernels", [] if run.facts("namespace_facts", path).get("gpu_kernel_events") else ["none"], "namespace")


def lost_gpu(run):
    """A GPU that breaks in mid-run (a kernel's own assertion: no later call works), and one whose NVML answers no more."""
    plain = run.job("assert_plain", 60, ["small_jobs.py", "asserts"])
    path = run.file("asserts.fourwalls")
    ran = run.cli("asserts", 80, ["record", "-o", path, "--", run.interpreter, run.script("small_jobs.py"), "asserts"])
    run.check(f"a job whose GPU breaks has its own status ({plain.status})", verdicts.same_end(plain.status, ran.status), "asserts")
    kernels = run.facts("asserts_facts", path).get("gpu_kernel_events") or 0
    run.check(f"{kernels} kernels from before", [] if kernels >= 900 else ["1000 were launched a second before"], "asserts")
    stand_in = os.path.join(run.bundle, "tests", "lib", "lost")
    if not os.path.isdir(stand_in):
        run.absent("an NVML that does not answer", "the bundle has no stand-in for it")
        return
    job = ["train.py", *SMALL, "--steps", "8"]
    plain = verdicts.json_of(run.job("silent_plain", 60, job).text)
    said, path = run.recorded("silent", 80, job, [], LD_LIBRARY_PATH=stand_in, FOURWALLS_SAMPLE_MS="20")
    own = run.log("silent_job")
    run.check("an NVML that does not answer: the job's own loss", verdicts.same_run(plain, verdicts.json_of(own), ("loss",)), "silent")
    run.check("and is said", verdicts.said(own, "NVML does not answer"), "silent")
    run.check("its kernels", verdicts.recorded(said, None, 500), "silent")


def mig(run):
    """On a part of a GPU: samples of its clocks belong to it. The mode is not changed."""
    ran = run.shell("mig", 20, "nvidia-smi --query-gpu=mig.mode.current --format=csv,noheader")
    if "Enabled" not in ran.text:
        run.absent("a part of a GPU (MIG)", ran.text.strip()[:80] or "nvidia-smi does not tell")
        return
    said, path = run.recorded("mig_job", 80, ["train.py", *SMALL, "--steps", "6"], [])
    run.check("recorded", verdicts.recorded(said, None, 500), "mig_job")
    info = verdicts.json_of(run.cli("mig_info", 20, ["info", path, "--json"]).text)
    run.check("nothing lost", verdicts.audit(info), "mig_info")
    run.check("samples of its memory or clocks", [] if (info or {}).get("counters") else ["no counters"], "mig_info")


def overhead(run):
    """Step times plain and recorded at each detail, and between the steps of --every, in turns."""
    ways = {"plain": None, "low": ["--detail", "low"], "normal": ["--detail", "normal"], "full": ["--detail", "full"],
            "between steps of --every 10": ["--every", "10"]}
    for size, shape, steps in (("large", LARGE, "25"), ("bound by launches", BOUND, "45")):
        times = {way: [] for way in ways}
        for turn in range(3):
            for way in list(ways) if turn % 2 == 0 else reversed(list(ways)):
                if run.is_over(40):
                    break
                if ways[way] is None:
                    said = verdicts.json_of(run.job("overhead", 60, ["train.py", *shape, "--steps", steps]).text)
                else:
                    run.recorded("overhead", 60, ["train.py", *shape, "--steps", steps], ways[way])
                    said = verdicts.json_of(run.log("overhead_job"))
                measured = list(enumerate((said or {}).get("step_ms", [])))[5:]
                times[way].append([ms for index, ms in measured if not (way.startswith("between") and index % 10 in (9, 0))])
        rows = verdicts.overhead(times)
        run.check(f"step times, {size}", [] if len(rows) == len(ways) else [f"{len(rows)} of {len(ways)} were measured"], "overhead")
        for way, median, least, most, change in rows:
            run.say(f"  - {size}, {way}: {median:.3f} ms ({least:.3f} to {most:.3f}), {change:+.2f} %")


def captured(run):
    said, _ = run.recorded("captures", 70, ["small_jobs.py", "captures"], [], FOURWALLS_SAMPLE_MS="1")
    text = run.log("captures_job")
    run.check("no capture of a CUDA graph breaks while the sampler asks", [] if "captures broken: 0 of" in text else [text[-200:]], "captures")


def engine_nccl(run):
    run.tested("the engine with NCCL (rows of as many ranks as there are GPUs)", "gpu_nccl", 150)


def calibrate(run):
    path = run.file("cluster.json")
    run.judge("calibrate --device cuda", run.cli("calibrate", 150, ["calibrate", "--device", "cuda", "--seconds", "60", "-o", path]))
    ran = run.cli("predict", 30, ["predict", "--model", "gpt2-124m", "--batch", "8", "--cluster", path, "-o", run.file("predicted.fourwalls"), "--json"])
    run.judge("predict with what was measured", ran)
    run.check("bursts and ten seconds, with the clock meanwhile; a step time", verdicts.calibrated(run.text(path), verdicts.json_of(ran.text)),
              "calibrate")
    run.quote(run.cli("predict_text", 30, ["metrics", run.file("predicted.fourwalls")]).text)
    run.take(path)


def against_pytorch(run):
    ran = run.python("against", 220, [run.script("cuda_against_pytorch.py"), "--cli", run.program, "--only", "gpt", "--rounds", "3"])
    run.judge("the engine's step against PyTorch's", ran)
    run.check("both were timed, and the trace is sound", verdicts.timed(verdicts.json_of(ran.text), "gpt"), "against")
    run.quote(ran.text[-1500:])


def sanitizer(run):
    if not shutil.which("compute-sanitizer"):
        run.absent("racecheck", "compute-sanitizer is not here")
        return
    ran = run.command("racecheck", 400, ["compute-sanitizer", "--tool", "racecheck", run.tests("tests_profiler_engine_gpu"), "gpu_operators",
                                         "rowOperators", "softmax", "crossEntropy", "norms"], run.for_tests())
    run.judge("racecheck of the block reductions", ran)
    run.check("no hazards", [] if "RACECHECK SUMMARY: 0 hazards" in ran.text else ["no summary of 0 hazards"], "racecheck")


# Name, what it does, seconds that it may take in all.
STAGES = [("facts", facts, 200), ("raw", raw, 200), ("record", record, 260), ("compare", compare, 300), ("operators", operators, 240),
          ("training", training, 180), ("memory", memory, 160), ("calibrate", calibrate, 230), ("endings", endings, 420), ("nccl", nccl, 260),
          ("graph", graph, 240), ("overhead", overhead, 540), ("engine", engine, 160), ("own_kernels", own_kernels, 140),
          ("compiled", compiled, 260), ("edges", edges, 90), ("groups", groups, 120), ("profiler_inside", profiler_inside, 200), ("static_program", static_program, 130),
          ("surroundings", surroundings, 420), ("lost_gpu", lost_gpu, 260), ("mig", mig, 110), ("captured", captured, 80),
          ("engine_nccl", engine_nccl, 150), ("against_pytorch", against_pytorch, 220), ("sanitizer", sanitizer, 420)]
