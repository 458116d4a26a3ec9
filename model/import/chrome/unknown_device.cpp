// SPDX-License-Identifier: Apache-2.0
// See unknown_device.h.
#include "model/import/chrome/unknown_device.h"
#include "model/trace/audit_counter.h"

#include "model/base/ascii.h"
#include "model/import/common/json_scan.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostProcesses = 10'000, kLongestDeviceName = 100;

/// Whether a category or the name of a process has a word for an accelerator or its work: "neuron_op", "NeuronCore 0".
bool namesDevice(std::string_view text)
{
    static constexpr std::array<std::string_view, 22> kWords{
        "gpu",    "tpu",    "npu",    "hpu",    "ipu",         "mlu",    "gcu",        "dcu",
        "xpu",    "lpu",    "vpu",    "aiu",    "mtia",        "neuron", "neuroncore", "gaudi",
        "habana", "ascend", "device", "kernel", "accelerator", "kernels"};
    const auto isLetter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && isLetter(text[end])) ++end;
        const std::string word = lowerCase(text.substr(at, end - at));
        if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) return true;
        at = end + 1;
    }
    return false;
}

} // namespace

void UnknownDevice::nameProcess(std::string_view pid, const JsonToken& name)
{
    if (namesDevice(name.text) && m_processes.size() < kMostProcesses)
        m_processes.insert_or_assign(std::string(pid), decoded(name).substr(0, kLongestDeviceName));
}

void UnknownDevice::note(std::string_view name, std::int64_t slices)
{
    if (m_slices == 0) m_name = validUtf8(name.substr(0, kLongestDeviceName));
    m_slices += slices;
}

void UnknownDevice::slice(const ChromeEvent& event, Category category, int lane)
{
    const std::string_view cat = event[EventKey::Cat].text;
    switch (category) {
    case Category::OtherRuntime: return note(cat, 1);
    case Category::Other:
        if (cat != m_lastCategory) {
            m_lastCategory = cat;
            m_lastIsDevice = namesDevice(cat);
        }
        if (m_lastIsDevice) return note(cat, 1);
        break;
    case Category::None:
    case Category::GpuUserAnnotation: break;
    default: return;
    }
    if (lane != m_lastLane || !m_lastSlices) {
        if (m_slicesOf.size() >= kMostProcesses) return;
        m_lastLane = lane;
        m_lastSlices = &m_slicesOf[std::string(event[EventKey::Pid].text)];
    }
    ++*m_lastSlices;
}

void UnknownDevice::settle()
{
    for (const auto& [pid, slices] : m_slicesOf)
        if (const auto name = m_processes.find(pid); name != m_processes.end()) note(name->second, slices);
    m_slicesOf.clear();
    m_lastSlices = nullptr;
}

void UnknownDevice::audit(TraceSink& sink) const
{
    auditCount(sink, AuditCounter::DeviceUnknown, m_slices,
               "slices of '" + m_name +
                   "' are of an accelerator whose work is not known here: neither they nor operators of the host count "
                   "as computing");
}

} // namespace fourwalls::importers
