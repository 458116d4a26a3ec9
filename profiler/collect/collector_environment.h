// SPDX-License-Identifier: Apache-2.0
// The environment variables that steer the collector in a recorded process, and the module's own functions that a
// program (or a hook inside it) may call. docs/collector.md describes them for users.
#pragma once

namespace fourwalls::collect {

/// Folder that the spool files go to; created if its parent exists. Default: the working folder.
inline constexpr char kEnvSpoolFolder[] = "FOURWALLS_SPOOL_DIR";
/// "A-B" or "A": record these steps only, as the step marks number them.
inline constexpr char kEnvSteps[] = "FOURWALLS_STEPS";
/// "profiler": record only between cudaProfilerStart and cudaProfilerStop; "signal": only between two signals (see
/// kEnvSignal); "always", the default. FOURWALLS_STEPS takes precedence.
inline constexpr char kEnvCapture[] = "FOURWALLS_CAPTURE";
/// Name or number of a signal that switches recording on and off while the program runs, as "USR2". Default: none, and
/// USR2 where FOURWALLS_CAPTURE is "signal".
inline constexpr char kEnvSignal[] = "FOURWALLS_SIGNAL";
/// Name of the NVTX range or mark that begins a step, where the usual ones (step_mark.h) are not what the program uses.
inline constexpr char kEnvStepMark[] = "FOURWALLS_STEP_MARK";
/// N: record one step out of N only (N-1, 2N-1, ... as the step marks number them), of those of FOURWALLS_STEPS if set.
inline constexpr char kEnvEvery[] = "FOURWALLS_EVERY";
/// "low", "normal" or "full": how much of each launch is recorded; "auto", the default: by the launch rate.
inline constexpr char kEnvDetail[] = "FOURWALLS_DETAIL";
/// Size of the spool [MiB] at which recording stops while the program goes on. Default 16384; it also stops before the
/// disk is full. 0: no limit of its own.
inline constexpr char kEnvSpoolLimit[] = "FOURWALLS_SPOOL_LIMIT";
/// Largest size of the spool [bytes, or with K, M, G]: a ring of the last steps. Default 0: no limit.
inline constexpr char kEnvMaxBytes[] = "FOURWALLS_MAX_BYTES";
/// Host memory for records that wait to be written [bytes, or with K, M, G]. Default 256M.
inline constexpr char kEnvQueueBytes[] = "FOURWALLS_QUEUE_BYTES";
/// Device buffers that CUPTI may hold per context, 3.2 MB each, made as they are needed. Default 250, as CUPTI has it.
inline constexpr char kEnvPoolLimit[] = "FOURWALLS_POOL_LIMIT";
/// Milliseconds between two samples of clocks, power and memory. Default 100; 0: none.
inline constexpr char kEnvSampleMs[] = "FOURWALLS_SAMPLE_MS";
/// Parts that are not to be recorded, separated by commas: cuda, api, memory, sync, graph_nodes, nvtx, nccl, nvml.
inline constexpr char kEnvWithout[] = "FOURWALLS_WITHOUT";
/// Folder that CUPTI's buffers are kept in as they came (module/raw_keeper.h), for decoding them again without a GPU.
/// Default: they are not kept.
inline constexpr char kEnvRaw[] = "FOURWALLS_RAW";
/// Largest size of a process's file of raw buffers [bytes, or with K, M, G]. Default 64M.
inline constexpr char kEnvRawBytes[] = "FOURWALLS_RAW_BYTES";
/// "0": the hook in Python does not tell of garbage collections and of waits for data loaders. Default 1.
inline constexpr char kEnvHostPauses[] = "FOURWALLS_HOST_PAUSES";
/// "0": no Python stacks of calls that wait for the GPU. Default 1.
inline constexpr char kEnvSyncStacks[] = "FOURWALLS_SYNC_STACKS";
/// Path of the libcupti that is used, whatever copies there are.
inline constexpr char kEnvCupti[] = "FOURWALLS_CUPTI";
/// "1": what goes into the spool as messages is also printed on standard error.
inline constexpr char kEnvVerbose[] = "FOURWALLS_VERBOSE";

/// What the launcher sets for the module to be found: by the CUDA driver, by NVTX, by NCCL.
inline constexpr char kEnvCudaInjection[] = "CUDA_INJECTION64_PATH";
inline constexpr char kEnvNvtxInjection[] = "NVTX_INJECTION64_PATH";
inline constexpr char kEnvNcclPlugin[] = "NCCL_PROFILER_PLUGIN";

inline constexpr char kModuleFileName[] = "libfourwalls_collector.so";

/// Exported with C linkage, to be found with dlsym (or ctypes) in a process where the module is loaded:
///   int fourwalls_collector_start(void)          begins the recording if it has not begun; 1: it runs
///   void fourwalls_collector_step(long long n)   step n begins now
///   void fourwalls_collector_stop(void)          ends the recording in order; nothing is recorded afterwards
///   const char* fourwalls_collector_path(void)   the spool's path, "" where nothing is recorded
///   void fourwalls_collector_pause(unsigned kind, unsigned long long begin, unsigned long long detail)
///       the calling thread was held up (PauseKind) from that time of CLOCK_REALTIME [ns] until now
inline constexpr char kFunctionStart[] = "fourwalls_collector_start";
inline constexpr char kFunctionStep[] = "fourwalls_collector_step";
inline constexpr char kFunctionStop[] = "fourwalls_collector_stop";
inline constexpr char kFunctionPath[] = "fourwalls_collector_path";
inline constexpr char kFunctionPause[] = "fourwalls_collector_pause";

} // namespace fourwalls::collect
