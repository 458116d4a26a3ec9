// SPDX-License-Identifier: Apache-2.0
// Chrome exports of the profiler of XLA (JAX, TensorFlow: trace.json.gz beside an .xplane.pb): their events carry no
// categories, but stand in processes and threads whose names say what they are.
#pragma once

#include "model/import/chrome/chrome_event.h"
#include "model/import/common/trace_categories.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace fourwalls::importers {

class XlaProcesses {
public:
    /// Notes a process_name and a thread_name event.
    void nameProcess(std::string_view pid, std::string_view name);
    void nameThread(std::string_view pid, std::string_view tid, std::string_view name);

    /// Whether this is such a profile of one device. Of several the file does not say which ranks they are: the XSpace
    /// profile beside it does.
    bool found() const { return m_devices.size() == 1 && !m_lines.empty(); }
    bool hasDevices() const { return !m_devices.empty(); }
    bool hasSeveralDevices() const { return m_devices.size() > 1; }

    /// What an event is, where its line says so; else `written`, what its own category says. Lines of modules, scopes and
    /// sources repeat what ran and are annotations.
    Category categoryOf(const ChromeEvent& event, Category written) const;
    /// The step that an event of the device's line of steps stands for; absent for others.
    std::optional<int> deviceStep(const ChromeEvent& event) const;

private:
    enum class Line : std::uint8_t { Stream, Operators, Steps };

    std::map<std::string, bool, std::less<>> m_devices;                       ///< by pid as written: a TPU
    std::map<std::pair<std::string, std::string>, Line, std::less<>> m_lines; ///< by pid and tid as written
};

/// The number of a step that JAX and TensorFlow annotate ("train" with step_num); absent for other events.
std::optional<int> annotatedStep(const ChromeEvent& event);

} // namespace fourwalls::importers
