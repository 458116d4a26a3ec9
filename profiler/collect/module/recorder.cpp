// SPDX-License-Identifier: Apache-2.0
// The life of a recording: beginning, capture windows, messages, the end. Its two threads are in recorder_threads.cpp.
#include "profiler/collect/module/recorder.h"

#include "profiler/collect/module/nccl_events.h"
#include "profiler/collect/module/optimizer_ranges.h"
#include "profiler/collect/module/python_stacks.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

namespace fourwalls::collect::module {

namespace {

std::atomic<Recorder*> g_current{nullptr};
std::atomic<bool> g_failed{false}; // in this process: it is not tried again
std::atomic<bool> g_forked{false}; // this process is the forked child of a recorded one
Mutex g_startMutex;

constexpr int kMostAttempts = 1000;               // spools of one pid in one folder
constexpr int kDriverSeconds = 5;                 // for a thread in the driver, when the program ends
constexpr std::uint64_t kDrainNs = 1'000'000'000; // after a window, for work that was launched in it

/// True if the file is an earlier part of this very process: its program was replaced by exec.
bool isOurs(const char* path, const FileHeader& own)
{
    FileHeader header{};
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const bool read = ::read(file, &header, sizeof header) == static_cast<ssize_t>(sizeof header);
    close(file);
    return read && std::memcmp(header.magic, kSpoolMagic, sizeof kSpoolMagic) == 0 && header.pid == own.pid &&
           header.bootHash == own.bootHash && header.processStart == own.processStart;
}

/// Why a recording cannot begin, on standard error: there is no file that could say it. False, for its callers.
bool sayNothingIsRecorded(const char* missing)
{
    std::fprintf(stderr, "fourwalls: [%d] nothing is recorded: the system gives no %s\n", getpid(), missing);
    return false;
}

} // namespace

Recorder::Recorder() = default;

Recorder* Recorder::current()
{
    return g_current.load(std::memory_order_acquire);
}

Recorder* Recorder::start(EntryPoint entry)
{
    if (Recorder* const running = current()) {
        running->noteEntry(entry);
        return running->m_stopping.load() ? nullptr : running;
    }
    // A worker that was forked off (to load data, say) is no part of the recording because it has NVTX in it.
    if (g_failed.load() || (entry == kEntryNvtx && g_forked.load())) return nullptr;
    Recorder* recorder = nullptr;
    {
        const Locked lock(g_startMutex); // others wait: their events belong to the recording that is being begun
        recorder = current();
        if (recorder == nullptr && !g_failed.load()) recorder = create(entry);
    }
    if (recorder != nullptr) recorder->noteEntry(entry); // it calls CUPTI: without the lock
    return recorder;
}

Recorder* Recorder::create(EntryPoint entry)
{
    // Never freed: callbacks and CUPTI may come back to it until the process is gone.
    void* memory = std::calloc(1, sizeof(Recorder) + 64);
    if (memory != nullptr) {
        auto address = (reinterpret_cast<std::uintptr_t>(memory) + 63) & ~std::uintptr_t{63};
        auto* recorder = new (reinterpret_cast<void*>(address)) Recorder();
        if (recorder->begin(entry)) return recorder;
    } else {
        sayNothingIsRecorded("memory");
    }
    g_failed.store(true);
    return nullptr;
}

void Recorder::noteEntry(EntryPoint entry)
{
    if (entry == kEntryCuda || entry == kEntryApi) {
        m_cudaSeen.store(true);
        if (!m_stopping.load()) m_cupti.begin(m_settings);
    }
}

bool Recorder::createFile(FileHeader* header)
{
    mkdir(m_settings.folder, 0777);
    for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
        spoolPath(m_settings, *header, attempt, m_path, sizeof m_path);
        const int error = m_file.create(m_path, *header, m_settings.maxBytes);
        if (error == 0) return true;
        if (error != EEXIST) {
            std::fprintf(stderr, "fourwalls: %s cannot be written (%s): nothing is recorded; set FOURWALLS_SPOOL_DIR\n",
                         m_path, std::strerror(error));
            return false;
        }
        if (isOurs(m_path, *header)) {
            char text[1200];
            std::snprintf(text, sizeof text, "the process replaced its program (exec); what was before is in %s",
                          m_path);
            message(MessageCode::Exec, Severity::Info, header->pid, text);
        }
    }
    return false;
}

bool Recorder::begin(EntryPoint entry)
{
    m_settings = readSettings();
    FileHeader header{};
    describeProcess(&header);
    header.entryPoints = entry;
    m_queue.limit(m_settings.queueBytes / 4);
    if (!m_writerAlarm.open() || !m_samplerAlarm.open()) return sayNothingIsRecorded("file descriptors");
    if (!m_pool.reserve(m_settings.queueBytes / 4 * 3, m_settings.parts.cuda ? 3 : 0)) {
        return sayNothingIsRecorded("memory for buffers");
    }
    if (!createFile(&header)) return false;
    pinModule();
    if (m_settings.rawFolder[0] != '\0') {
        m_raw.begin(m_settings.rawFolder, m_path, m_settings.rawBytes);
        message(MessageCode::Other, Severity::Info, 0, "FOURWALLS_RAW: CUPTI's buffers are kept as they come");
    }
    m_capturing.store(m_settings.capture == Capture::Always ||
                      (m_settings.capture == Capture::Steps && isRecordedStep(0))); // there may be no mark before it
    m_everCaptured.store(capturing());
    if (m_settings.detail != Detail::Auto) {
        message(MessageCode::Detail, Severity::Info, static_cast<std::int64_t>(m_settings.detail),
                "as it was asked for");
    } else if (m_settings.hasFewSteps()) {
        m_settings.detail = Detail::Normal; // not one half of the window with calls and one without
        message(MessageCode::Detail, Severity::Info, static_cast<std::int64_t>(m_settings.detail),
                "FOURWALLS_DETAIL=normal, as only a few steps are recorded");
    }
    if (m_settings.every > 1) {
        message(MessageCode::Every, Severity::Info, m_settings.every,
                "FOURWALLS_EVERY: the steps between the recorded ones are left out");
    }
    if (m_settings.inForce[0] != '\0') message(MessageCode::Setting, Severity::Info, 0, m_settings.inForce);
    if (m_settings.problem[0] != '\0') message(MessageCode::BadSetting, Severity::Warning, 0, m_settings.problem);
    push(RecordKind::Window,
         Window{realtime(), capturing() ? 1U : 0U, static_cast<std::uint32_t>(WindowReason::Always)});
    if (!installProcessEvents(m_settings)) {
        message(MessageCode::BadSetting, Severity::Warning, m_settings.signal,
                "the program handles the signal of FOURWALLS_SIGNAL itself: it does not switch the recording");
    }
    if (!startThread(&m_writer, writerBody, this, "fw_writer")) return sayNothingIsRecorded("threads");
    if (!startThread(&m_sampler, samplerBody, this, "fw_sampler")) {
        m_writerEnds.store(true);
        m_writerAlarm.wake();
        joinThread(m_writer);
        return sayNothingIsRecorded("threads");
    }
    g_current.store(this, std::memory_order_release);
    return true;
}

void Recorder::message(MessageCode code, Severity severity, std::int64_t value, const char* text)
{
    Message to{};
    to.time = realtime();
    to.value = value;
    to.code = static_cast<std::uint32_t>(code);
    to.severity = static_cast<std::uint32_t>(severity);
    to.length = static_cast<std::uint32_t>(strnlen(text, kLongestText));
    push(RecordKind::Message, to, nullptr, 0, text, to.length);
    if (m_settings.verbose || severity == Severity::Error) {
        std::fprintf(stderr, "fourwalls: [%d] %.*s\n", getpid(), static_cast<int>(to.length), text);
    }
}

void Recorder::capture(bool on, WindowReason reason)
{
    if (m_stopping.load() || m_capturing.exchange(on) == on) return;
    push(RecordKind::Window, Window{realtime(), on ? 1U : 0U, static_cast<std::uint32_t>(reason)});
    if (on) {
        m_everCaptured.store(true);
        m_disableAfter.store(0);
        m_windowBegin.store(monotonic());
        m_skipped.end(realtime());
        // At once, on the program's thread: the window's first launches count.
        if (!m_prepared.exchange(false)) m_cupti.capture(true);
    } else {
        // By the sampler, when the window's work is done. Of one step among many: about as long as the step took.
        const std::uint64_t now = monotonic();
        const bool brief = reason == WindowReason::Every;
        m_disableAfter.store(now + (brief ? std::min(kDrainNs, now - m_windowBegin.load()) : kDrainNs));
    }
}

void Recorder::disableWhenDrained()
{
    std::uint64_t after = m_disableAfter.load();
    if (after == 0 || monotonic() < after || !m_disableAfter.compare_exchange_strong(after, 0)) return;
    m_cupti.flush(false);
    if (!capturing()) m_cupti.capture(false);
    if (capturing()) m_cupti.capture(true); // switched on again meanwhile
}

void Recorder::profilerApi(bool on)
{
    if (m_settings.capture == Capture::ProfilerApi) capture(on, WindowReason::ProfilerApi);
}

void Recorder::optimizerEnded()
{
    if (!m_marksSteps.load()) stepBegan(m_optimizerSteps.fetch_add(1) + 1, StepSource::Optimizer, nullptr);
}

void Recorder::stepBegan(std::int64_t number, StepSource source, const char* name)
{
    if (m_stopping.load()) return;
    if (source != StepSource::Optimizer) m_marksSteps.store(true, std::memory_order_relaxed);
    m_stepSeen.store(true, std::memory_order_relaxed);
    if (number < 0) {
        number = m_stepCount.fetch_add(1);
    } else {
        m_stepCount.store(number + 1);
    }
    if (m_settings.capture == Capture::Steps) {
        const CostScope cost(callbackNs, callbacks);
        const bool every = m_settings.every > 1;
        bool inside = isRecordedStep(number);
        if (!m_everCaptured.load() && !m_prepared.load()) {
            // What CUPTI allocates when it is switched on falls into the step before the first that is recorded.
            if (every) inside = false;
            if (!inside && isRecordedStep(number + 1)) {
                m_skipped.begin(realtime());
                m_prepared.store(true);
                m_cupti.capture(true);
            }
        }
        // Before the mark, whose time tells whether it is in the window.
        capture(inside, every ? WindowReason::Every : WindowReason::Steps);
    }
    StepMark mark{};
    mark.time = realtime();
    mark.step = number;
    mark.source = static_cast<std::uint32_t>(source);
    mark.thread = threadId();
    const EventText text{name, offsetof(StepMark, name)};
    push(RecordKind::StepMark, mark, &text, 1);
}

bool Recorder::isRecordedStep(std::int64_t number) const
{
    if (number < m_settings.firstStep || number > m_settings.lastStep) return false;
    return (number - m_settings.firstStep) % m_settings.every == m_settings.every - 1;
}

const char* Recorder::whyNoWindow() const
{
    switch (m_settings.capture) {
    case Capture::ProfilerApi:
        return "FOURWALLS_CAPTURE=profiler is set, but no cudaProfilerStart was seen: nothing was recorded";
    case Capture::Signal:
        return "FOURWALLS_CAPTURE=signal is set, but no signal reached the recording: nothing was recorded";
    case Capture::Steps:
        if (m_stepSeen.load()) return "none of the steps of FOURWALLS_STEPS was reached: nothing was recorded";
        return "FOURWALLS_STEPS is set, but no step mark was seen: nothing was recorded; mark steps with an NVTX range "
               "(\"step 12\"), or name the program's own with FOURWALLS_STEP_MARK";
    case Capture::Always: break;
    }
    return "the recording was never switched on";
}

void Recorder::sayHowItEnded(EndReason reason)
{
    if (!m_cudaSeen.load()) {
        message(
            MessageCode::DriverMissing, Severity::Info, 0,
            "CUDA was not initialised in this process, or without CUDA_INJECTION64_PATH: nothing of a GPU is recorded");
    }
    if (!m_everCaptured.load()) message(MessageCode::WindowMissed, Severity::Warning, 0, whyNoWindow());
    if (m_everCaptured.load() && m_settings.capture == Capture::Steps && !m_stepSeen.load()) {
        message(MessageCode::WindowMissed, Severity::Warning, 0,
                "FOURWALLS_STEPS is set, but no step mark was seen: everything was recorded");
    }
    if (reason == EndReason::Exit) message(MessageCode::Exited, Severity::Info, 0, "the program ended");
}

void* Recorder::enderBody(void* recorder)
{
    static_cast<Recorder*>(recorder)->m_cupti.end();
    static_cast<Recorder*>(recorder)->m_cuptiEnded.store(true);
    return nullptr;
}

bool Recorder::endSampler()
{
    if (m_samplerThread.load() == threadId()) return true;
    m_samplerEnds.store(true);
    m_samplerAlarm.wake();
    for (int i = 0; i < kDriverSeconds * 100 && !m_samplerEnded.load(); ++i) poll(nullptr, 0, 10);
    if (!m_samplerEnded.load()) return false;
    joinThread(m_sampler);
    return true;
}

bool Recorder::endCupti()
{
    pthread_t ender{};
    if (!m_cupti.active()) return true;
    if (!startThread(&ender, enderBody, this, "fw_ender")) {
        enderBody(this);
        return true;
    }
    std::uint64_t completed = m_completedBuffers.load();
    for (int idle = 0; idle < kDriverSeconds * 100 && !m_cuptiEnded.load(); ++idle) {
        poll(nullptr, 0, 10);
        if (const std::uint64_t now = m_completedBuffers.load(); now != completed) idle = 0, completed = now;
    }
    if (!m_cuptiEnded.load()) return false;
    joinThread(ender);
    return true;
}

void Recorder::stop(EndReason reason, MessageCode code, std::int64_t value)
{
    if (m_stopping.exchange(true)) {
        // Somebody else is at it: the process must not end before it is done, nor wait for ever. It may wait for the
        // driver twice, as long as that makes no progress, and then for the writer.
        constexpr int kIdle = (2 * kDriverSeconds + 5) * 100;
        std::uint64_t completed = m_completedBuffers.load();
        for (int idle = 0; idle < kIdle && !m_stopped.load() && m_samplerThread.load() != threadId(); ++idle) {
            poll(nullptr, 0, 10);
            if (const std::uint64_t now = m_completedBuffers.load(); now != completed) idle = 0, completed = now;
        }
        return;
    }
    m_skipped.end(realtime());
    if (m_capturing.exchange(false)) {
        push(RecordKind::Window, Window{realtime(), 0, static_cast<std::uint32_t>(WindowReason::Stop)});
    }
    if (code == MessageCode::Terminated) {
        char text[96];
        std::snprintf(text, sizeof text, "the process was ended by signal %d", static_cast<int>(value));
        message(code, Severity::Warning, value, text);
    }
    const bool samplerEnded = endSampler();
    writeOpenNcclEvents(*this);
    const std::uint64_t before = m_completedBuffers.load();
    const std::size_t held = m_pool.outside();
    const bool driverAnswers = endCupti();
    if (!driverAnswers) {
        message(MessageCode::CuptiFailed, Severity::Error, kDriverSeconds,
                "the CUDA driver does not answer (a GPU that is gone?): what CUPTI still holds is left with it");
    } else if (!samplerEnded) {
        message(MessageCode::CuptiFailed, Severity::Error, kDriverSeconds,
                "NVML does not answer (a GPU that is gone?): clocks, power and memory were sampled until then");
    }
    if (driverAnswers && held > 0 && m_pool.outside() == held && m_completedBuffers.load() == before) {
        char text[192];
        std::snprintf(
            text, sizeof text,
            "CUPTI did not give %zu buffers back at the end: another profiler may have taken it over, and the GPU's "
            "records since then are missing",
            held);
        message(MessageCode::SecondSubscriber, Severity::Warning, static_cast<std::int64_t>(held), text);
    }
    sayHowItEnded(reason);
    m_endReason = reason;
    m_writerEnds.store(true);
    m_writerAlarm.wake();
    joinThread(m_writer);
    m_stopped.store(true);
}

void Recorder::signalled(int number)
{
    if (number == m_settings.signal) {
        m_toggle.store(true);
    } else {
        m_pendingSignal.store(number);
    }
    m_samplerAlarm.wake();
}

void forgetRecordingInChild()
{
    g_current.store(nullptr);
    g_failed.store(false);
    g_forked.store(true);
    new (&g_startMutex) Mutex();
    forgetThreadId();
    forgetThreadCosts();
    forgetPythonStack();
    forgetOptimizers();
}

} // namespace fourwalls::collect::module
