// SPDX-License-Identifier: Apache-2.0
// One recording of this process: its spool, its two threads (one writes, one flushes and samples), its capture windows.
// Everything that the program's own threads do here is short and never waits for the disk.
#pragma once

#include "profiler/collect/module/buffer_pool.h"
#include "profiler/collect/module/cupti_session.h"
#include "profiler/collect/module/definitions.h"
#include "profiler/collect/module/device_sampler.h"
#include "profiler/collect/module/event_queue.h"
#include "profiler/collect/module/raw_keeper.h"
#include "profiler/collect/module/settings.h"
#include "profiler/collect/module/skipped_times.h"
#include "profiler/collect/module/spool_sink.h"
#include "profiler/collect/module/thread_costs.h"
#include "profiler/collect/module/thread_names.h"
#include "profiler/collect/spool_file.h"

#include <atomic>
#include <cstdint>

namespace fourwalls::collect::module {

class ActivityRecords;

class Recorder {
public:
    /// This process's recording; nullptr before it began and in a forked child.
    static Recorder* current();
    /// Begins the recording, once per process; later calls only note the entry point. nullptr: it cannot (said on
    /// standard error), or it has ended.
    static Recorder* start(EntryPoint entry);

    /// True while events are to be recorded.
    bool capturing() const { return m_capturing.load(std::memory_order_relaxed); }
    const Settings& settings() const { return m_settings; }
    const char* path() const { return m_path; }
    CuptiSession& cupti() { return m_cupti; }
    BufferPool& pool() { return m_pool; }

    /// Queues an event for the writer, on any thread.
    template <class T>
    void push(RecordKind kind, const T& structure, const EventText* texts = nullptr, std::size_t textCount = 0,
              const void* tail = nullptr, std::size_t tailBytes = 0)
    {
        static_assert(sizeof(T) <= kLargestStructure);
        m_queue.push(kind, &structure, sizeof(T), texts, textCount, tail, tailBytes);
    }
    void message(MessageCode code, Severity severity, std::int64_t value, const char* text);

    /// A step began: number -1 where its mark carries none (counted instead).
    void stepBegan(std::int64_t number, StepSource source, const char* name);
    /// The optimizer of a step has run: the next step begins, unless the program marks its steps otherwise.
    void optimizerEnded();
    /// cudaProfilerStart and cudaProfilerStop.
    void profilerApi(bool on);
    /// Switches capture, with a Window record.
    void capture(bool on, WindowReason reason);

    /// Ends the recording in order: everything is flushed and written. Later calls do nothing.
    void stop(EndReason reason, MessageCode code, std::int64_t value);

    // What CUPTI's callbacks call.
    std::uint8_t* bufferRequested(std::size_t* size);
    void bufferCompleted(std::uint8_t* bytes, std::size_t valid);
    /// leastBytes: that CUPTI's records of a launch take.
    void launched(std::size_t leastBytes) { m_launchedBytes.fetch_add(leastBytes, std::memory_order_relaxed); }

    // What signal handlers call: they only set a flag and wake the sampler.
    void signalled(int number);

    std::atomic<std::uint64_t> callbackNs{0};
    std::atomic<std::uint64_t> callbacks{0};

private:
    Recorder();
    static Recorder* create(EntryPoint entry);
    bool begin(EntryPoint entry);
    bool createFile(FileHeader* header);
    static void* writerBody(void* recorder);
    static void* samplerBody(void* recorder);
    void write();
    void writeBuffers(ActivityRecords& activities);
    void writeStatus();
    void writeEnd(EndReason reason);
    void sample();
    void sampleClock();
    void noteChildren();
    bool handleSignals();
    void disableWhenDrained();
    void noteEntry(EntryPoint entry);
    void describeDevices();
    void sayLostDevice();
    bool isRecordedStep(std::int64_t number) const;
    void chooseDetail(const ActivityRecords& activities);
    void watchGraphs(const ActivityRecords& activities);
    void watchSpool();
    void watchCupti(std::uint64_t now);
    void writeThreadCosts();
    void giveUp(EndReason reason);
    bool handleEnd();
    /// False: the sampler stands still, in NVML or in the driver. True for the sampler itself.
    bool endSampler();
    /// By a thread of its own, which is waited for as long as CUPTI gives buffers back. False: the driver does not answer.
    bool endCupti();
    static void* enderBody(void* recorder);
    void sayHowItEnded(EndReason reason);
    const char* whyNoWindow() const;

    Settings m_settings;
    char m_path[1024] = "";
    SpoolFile m_file;
    SpoolSink m_sink{m_file};
    EventQueue m_queue;
    BufferPool m_pool;
    CuptiSession m_cupti{*this};
    DeviceSampler m_devices;
    Alarm m_writerAlarm;
    Alarm m_samplerAlarm;
    pthread_t m_writer{};
    pthread_t m_sampler{};
    std::atomic<std::uint32_t> m_samplerThread{0};

    std::atomic<bool> m_capturing{false};
    std::atomic<bool> m_stopping{false};
    std::atomic<bool> m_samplerEnds{false};
    std::atomic<bool> m_samplerEnded{false};
    std::atomic<bool> m_cuptiEnded{false};
    std::atomic<bool> m_writerEnds{false};
    std::atomic<int> m_pendingSignal{0}; ///< of those that end the process
    std::atomic<bool> m_toggle{false};
    std::atomic<std::int64_t> m_stepCount{0};
    std::atomic<bool> m_stepSeen{false};
    std::atomic<bool> m_marksSteps{false}; ///< the program itself does, by marks, ranges or calls
    std::atomic<std::int64_t> m_optimizerSteps{0};
    std::atomic<std::uint64_t> m_disableAfter{0}; ///< monotonic time; 0: nothing to disable
    std::atomic<std::uint64_t> m_windowBegin{0};  ///< monotonic time of the last window
    std::atomic<bool> m_prepared{false};          ///< CUPTI is on for a window that has not begun
    std::atomic<std::uint32_t> m_giveUp{0}; ///< EndReason, once the recording has to end while the program goes on
    std::atomic<bool> m_toLow{false};       ///< the writer has chosen Detail::Low, the sampler is to set it
    std::atomic<bool> m_toWholeGraphs{false};
    std::atomic<std::uint64_t> m_launchedBytes{0}; ///< of records of launches, since these are watched
    std::atomic<std::uint64_t> m_requestedBuffers{0};
    SkippedTimes m_skipped;
    std::atomic<std::uint64_t> m_samplerCpuNs{0};
    std::atomic<std::uint64_t> m_flushNs{0};
    std::atomic<std::uint64_t> m_refusedBuffers{0};
    std::atomic<std::uint64_t> m_discardedRecords{0};
    std::atomic<std::uint64_t> m_completedBuffers{0};
    std::atomic<bool> m_stopped{false};
    std::atomic<bool> m_cudaSeen{false};
    std::atomic<bool> m_everCaptured{false};

    // Of the sampler alone.
    std::int64_t m_clockOffset = 0;
    std::uint64_t m_nextClock = 0;
    std::uint64_t m_nextFlush = 0;
    std::uint64_t m_nextSample = 0;
    std::uint64_t m_nextMemory = 0;
    std::uint64_t m_nextNames = 0;
    std::uint64_t m_buffersSeen = 0; ///< requested and completed
    std::uint64_t m_quietSince = 0;
    std::uint64_t m_tookBackFor = 0; ///< CUPTI had been quiet for so long [ns]; 0: nothing was taken back
    bool m_watchingLaunches = false;
    std::uint64_t m_launchedBefore = 0; ///< bytes of launches at the last look, of which CUPTI has said nothing
    ThreadNames m_threadNames;
    std::uint32_t m_childrenSeen = 0;
    bool m_devicesKnown = false;
    bool m_notListedSaid = false;
    bool m_lostSaid = false; ///< that a GPU is lost

    // Of the writer alone.
    std::uint64_t m_lostEvents = 0;
    std::uint64_t m_nextStatus = 0;
    std::uint64_t m_suspiciousSaid = 0;
    bool m_wrapSaid = false;
    bool m_detailChosen = false;
    bool m_graphsWhole = false;
    std::uint64_t m_diskReserve = 0; ///< [bytes] that are left to others
    std::uint64_t m_costsWritten[kMostThreadCosts] = {};
    int m_fileError = 0;
    EndReason m_endReason = EndReason::Exit;
    DefinitionWriter m_definitions;
    RawKeeper m_raw;
};

/// Hooks for fork, exit and signals; installed once per process. False: the program handles the signal of the settings
/// itself. process_events.cpp.
bool installProcessEvents(const Settings& settings);
/// The signals that end the process get their former meaning back, and the given one is sent again.
void resendSignal(int number);
/// Children forked since the start: how many, and the pid of one of them.
std::uint32_t childrenForked();
std::int32_t childPid(std::uint32_t index);
/// Called in the one thread of a forked child: it is not recorded, unless it initialises CUDA or NCCL itself.
void forgetRecordingInChild();

} // namespace fourwalls::collect::module
