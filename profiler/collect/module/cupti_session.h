// SPDX-License-Identifier: Apache-2.0
// The recording's use of CUPTI: subscribing, switching kinds on and off, buffers, flushes. Nothing is locked while CUPTI
// is called, and CUPTI is never finalised.
#pragma once

#include "profiler/collect/module/api_filter.h"
#include "profiler/collect/module/cupti_library.h"
#include "profiler/collect/module/settings.h"

#include <atomic>
#include <cstdint>

namespace fourwalls::collect::module {

class Recorder;

class CuptiSession {
public:
    explicit CuptiSession(Recorder& recorder) : m_recorder(recorder) {}

    /// Finds CUPTI, subscribes and sets it up; each failure is a message in the spool. Idempotent.
    void begin(const Settings& settings);
    bool active() const { return m_active.load(std::memory_order_acquire); }

    /// Switches the kinds of a capture window on or off. Any thread.
    void capture(bool on);
    /// How much of each launch the windows record. Any thread.
    void setDetail(Detail detail);
    /// From here on a graph's replay is one record, not one of each node. Any thread.
    void recordWholeGraphs();
    /// Calls Recorder::launched() at the program's launches, or no more.
    void watchLaunches(bool on);
    /// Takes the buffers and the kinds back from another profiler that has set its own. One that shares CUPTI with this
    /// recording has not.
    void takeBack();
    /// Hands over what is complete; forced also what is not (at the end only).
    void flush(bool forced);
    /// Switches everything off. Nothing is freed: CUPTI may still hold buffers.
    void end();

    /// Ties the API calls that this thread makes until pop to `id`. False: CUPTI does not take it.
    bool pushExternal(std::uint64_t id) const;
    void popExternal() const;
    /// CUPTI's clock, 0 if there is none.
    std::uint64_t timestamp() const;

    const CuptiLibrary& library() const { return m_library; }
    /// True if other profilers record beside this one without taking anything from it.
    bool isShared() const { return m_library.shared; }
    const ApiFilter& filter() const { return m_filter; }
    /// Records that CUPTI says it dropped, since the last call.
    std::uint64_t takeDropped() { return m_dropped.exchange(0); }

private:
    bool subscribe();
    void sayWhyNot(CUptiResult failure, bool tooOld, int cudaMajor, const char* other);
    bool registerBuffers();
    void enableAlways();
    void watchWaits(bool on);
    void setLimits(std::uint32_t poolLimit);
    void watchCalls();
    void enable(CUpti_ActivityKind kind, bool on);
    static void CUPTIAPI onCallback(void* recorder, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data);

    Recorder& m_recorder;
    CuptiLibrary m_library;
    ApiFilter m_filter;
    void captureCalls(bool on);

    Parts m_parts;
    bool m_syncStacks = true;
    std::atomic<Detail> m_detail{Detail::Normal};
    std::atomic<bool> m_capturing{false};
    std::atomic<bool> m_wholeGraphs{false};
    std::atomic<bool> m_begun{false};
    std::atomic<bool> m_active{false};
    std::atomic<std::uint64_t> m_dropped{0};
    std::atomic<std::uint32_t> m_stateMessages{0};
    std::uint64_t m_refusedKinds = 0; // bits of kinds that were complained about
    bool m_forbidden = false;         // it was said that the driver forbids it
};

} // namespace fourwalls::collect::module
