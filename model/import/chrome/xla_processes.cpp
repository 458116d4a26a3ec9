// SPDX-License-Identifier: Apache-2.0
// Names of planes and lines, as tsl's xplane_schema has them.
#include "model/import/chrome/xla_processes.h"

#include "model/import/common/decimal_time.h"

#include <algorithm>
#include <utility>

namespace fourwalls::importers {

namespace {

std::optional<int> stepFrom(std::string_view text)
{
    const auto number = integerFromText(text);
    if (!number || *number < 0 || *number >= 1'000'000'000) return std::nullopt;
    return static_cast<int>(*number);
}

/// Operators of a TPU that hold others, as long as these last.
bool holdsOthers(std::string_view name)
{
    for (const std::string_view kind : {"while", "conditional", "call"})
        if (name.starts_with(kind) && (name.size() == kind.size() || name[kind.size()] == '.')) return true;
    return false;
}

} // namespace

void XlaProcesses::nameProcess(std::string_view pid, std::string_view name)
{
    for (const std::string_view known : {"/device:GPU:", "/device:TPU:"})
        if (name.starts_with(known)) m_devices.insert_or_assign(std::string(pid), known[8] == 'T');
}

void XlaProcesses::nameThread(std::string_view pid, std::string_view tid, std::string_view name)
{
    const auto device = m_devices.find(pid);
    if (device == m_devices.end()) return;
    std::optional<Line> line;
    if (name == "Steps")
        line = Line::Steps;
    else if (device->second && name == "XLA Ops")
        line = Line::Operators;
    else if (!device->second && name.starts_with("Stream #"))
        line = Line::Stream;
    if (line) m_lines.insert_or_assign({std::string(pid), std::string(tid)}, *line);
}

Category XlaProcesses::categoryOf(const ChromeEvent& event, Category written) const
{
    if (m_devices.empty() || written != Category::None || event.phase() != 'X') return written;
    if (annotatedStep(event) && !m_devices.contains(event[EventKey::Pid].text)) return Category::UserAnnotation;
    if (!found() || !m_devices.contains(event[EventKey::Pid].text)) return written;
    const auto line =
        m_lines.find(std::pair(std::string(event[EventKey::Pid].text), std::string(event[EventKey::Tid].text)));
    if (line == m_lines.end() || line->second == Line::Steps) return Category::GpuUserAnnotation;
    const std::string_view name = event[EventKey::Name].text;
    if (line->second == Line::Operators) return holdsOthers(name) ? Category::GpuUserAnnotation : Category::Kernel;
    if (name.starts_with("Memcpy") || name.starts_with("MEMCPY")) return Category::Memcpy;
    if (name.starts_with("Memset") || name.starts_with("MEMSET")) return Category::Memset;
    return Category::Kernel;
}

std::optional<int> XlaProcesses::deviceStep(const ChromeEvent& event) const
{
    if (!found()) return std::nullopt;
    const auto line =
        m_lines.find(std::pair(std::string(event[EventKey::Pid].text), std::string(event[EventKey::Tid].text)));
    if (line == m_lines.end() || line->second != Line::Steps) return std::nullopt;
    return stepFrom(event[EventKey::Name].text);
}

std::optional<int> annotatedStep(const ChromeEvent& event)
{
    return event[ArgKey::StepNumber] ? stepFrom(event[ArgKey::StepNumber].text) : std::nullopt;
}

} // namespace fourwalls::importers
