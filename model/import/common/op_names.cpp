// SPDX-License-Identifier: Apache-2.0
// How each category counts in a trace.
#include "model/import/common/op_names.h"

#include "model/base/ascii.h"
#include "model/import/common/collective_detail.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/demangled_name.h"
#include "model/import/common/json_scan.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/step_periodicity.h"
#include "model/trace/kernel_arithmetic.h"

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostDetails = 100000; ///< distinct names with details; beyond, details are left out
constexpr std::size_t kLongestName = 64 * 1024;

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

bool isCopyCall(std::string_view call)
{
    return has(call, "Memcpy") || has(call, "Memset") || has(call, "memcpy") || has(call, "memset");
}

/// Waiting calls and launching calls of CUDA, HIP, XPU and MTIA runtimes. Copies that are not asynchronous wait, as do
/// calls that give memory back.
Activity hostActivity(std::string_view call)
{
    if (has(call, "Synchronize") || has(call, "synchronize")) return Activity::Synchronisation;
    const bool async = has(call, "Async") || has(call, "async");
    if (has(call, "Launch") || has(call, "launch") || async) return Activity::Launch;
    if (isCopyCall(call) && !has(call, "Memset")) return Activity::Synchronisation;
    if (call == "cudaFree" || call == "hipFree" || call == "cuMemFree_v2" || call == "cudaFreeHost" ||
        call == "hipHostFree")
        return Activity::Synchronisation;
    return Activity::None;
}

/// The number of a layer that a range is named for: "layer_0", "decoder.layers.12", "TransformerLayer 3".
std::optional<LayerIndex> layerNamed(std::string_view name)
{
    constexpr std::size_t kMostDigits = 5;
    const std::size_t last = name.find_last_not_of("0123456789");
    const std::size_t digits = last == std::string_view::npos ? 0 : name.size() - last - 1;
    if (digits == 0 || digits > kMostDigits) return std::nullopt;
    std::string_view word = name.substr(0, last + 1);
    if (!word.empty() && (word.back() == '_' || word.back() == '.' || word.back() == ' ')) word.remove_suffix(1);
    if (!word.empty() && lowerCase(word.back()) == 's') word.remove_suffix(1);
    constexpr std::string_view kLayer = "layer";
    if (word.size() < kLayer.size() || lowerCase(word.substr(word.size() - kLayer.size())) != kLayer)
        return std::nullopt;
    return LayerIndex{static_cast<std::int32_t>(*integerFromText(name.substr(last + 1)))};
}

bool isWord(char c)
{
    return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char categoryLetter(Category category)
{
    return static_cast<char>('A' + static_cast<int>(category));
}

/// "request_0x7f_of batch12b" -> "request_#_of batch#".
std::string withoutNumbers(std::string_view name)
{
    std::string text;
    for (std::size_t at = 0; at < name.size(); ++at) {
        if (!isDigit(name[at])) {
            text += name[at];
            continue;
        }
        text += '#';
        while (at + 1 < name.size() && isWord(name[at + 1])) ++at;
    }
    return text;
}

} // namespace

bool waitsForNothing(std::string_view copy)
{
    // "Memcpy DtoD (Device -> Device)", "Memcpy HtoD (Pinned -> Device)".
    if (has(copy, "DtoD") || has(copy, "PtoP")) return true;
    return has(copy, "Pinned") && !has(copy, "Pageable") && !has(copy, "Unknown");
}

Activity callActivity(const OpInfo& call, Duration length, bool freeCopy)
{
    // Putting a copy into a queue takes some microseconds. What fills memory has nothing to wait for but room in the queue.
    constexpr Duration kLongestSubmission{30'000};
    const bool fills = has(call.name, "Memset") || has(call.name, "memset");
    const bool waits = !freeCopy && call.kind == SliceKind::HostCall && call.activity == Activity::Launch &&
                       length > kLongestSubmission && isCopyCall(call.name) && !fills;
    return waits ? Activity::Synchronisation : call.activity;
}

bool isLaunchCall(std::string_view name)
{
    for (const std::string_view begin : {"cudaLaunch", "cuLaunch", "cudaGraphLaunch", "cuGraphLaunch", "hipLaunch",
                                         "hipModuleLaunch", "hipExtModuleLaunch", "hipExtLaunch", "hipGraphLaunch"})
        if (name.substr(0, begin.size()) == begin) return true;
    return false;
}

NamedWork OpNames::make(Category category, std::string_view name, std::string_view detail) const
{
    NamedWork work;
    OpInfo& info = work.info;
    info.name = validUtf8(name);
    if (category == Category::Kernel && info.name.starts_with("_Z")) info.name = demangledName(info.name);
    if (info.name.size() > kLongestName) info.name.resize(kLongestName);
    if (info.name.empty()) info.name = "(no name)";
    info.detail = std::string(detail);
    const auto communication = [&] {
        work.communication = true;
        work.collective = collectiveOf(info.name);
        info.kind = SliceKind::Collective;
        info.activity = Activity::Transfer;
    };
    switch (category) {
    case Category::Kernel:
    case Category::DeviceWork:
        info.kind = SliceKind::Kernel;
        info.activity = Activity::Compute;
        work.matrix = isMatrixKernel(info.name);
        if (isCommunicationKernel(info.name)) communication();
        if (isCopyKernel(info.name)) {
            info.kind = SliceKind::Copy;
            info.activity = Activity::Copy;
        }
        // MTIA writes the waits, event records and transfers of its streams beside what it executes.
        if (category == Category::DeviceWork && (info.name == "event_wait" || info.name == "event_record")) {
            info.kind = SliceKind::Wait;
            info.activity = Activity::None;
        } else if (category == Category::DeviceWork && info.name == "dma_request") {
            info.kind = SliceKind::Copy;
            info.activity = Activity::Copy;
        }
        break;
    case Category::CollectiveWork: communication(); break;
    case Category::Memcpy:
    case Category::Memset:
        info.kind = SliceKind::Copy;
        info.activity = Activity::Copy;
        break;
    case Category::Runtime:
    case Category::Driver:
    case Category::OtherRuntime:
        info.kind = SliceKind::HostCall;
        info.activity = hostActivity(info.name);
        break;
    case Category::UserAnnotation:
    case Category::GpuUserAnnotation:
        info.layer = layerNamed(info.name);
        info.kind = info.layer ? SliceKind::Layer : SliceKind::Marker;
        if (m_cpuOnly && isHostCollective(info.name)) communication();
        break;
    case Category::PythonFunction:
        info.kind = info.name.compare(0, 10, "nn.Module:") == 0 ? SliceKind::Layer : SliceKind::Marker;
        break;
    case Category::CudaSync:
    case Category::CudaEvent: info.kind = SliceKind::Wait; break;
    case Category::Overhead:
    case Category::Span: info.kind = SliceKind::Marker; break;
    default:
        info.kind = SliceKind::Operator;
        if (!m_cpuOnly || category != Category::CpuOp) break;
        // What asks for communication computes nothing.
        if (isHostCollective(info.name))
            communication();
        else
            info.activity = requestKind(info.name) == RequestKind::None ? Activity::Compute : Activity::Launch;
        break;
    }
    constexpr std::string_view kStep = "ProfilerStep#";
    if (info.name.compare(0, kStep.size(), kStep) == 0) {
        const auto number = integerFromText(std::string_view(info.name).substr(kStep.size()));
        if (number && *number >= 0 && *number < 1'000'000'000) {
            work.stepNumber = static_cast<int>(*number);
            info.kind = SliceKind::Step;
            info.activity = Activity::None;
        }
    }
    if (info.name.compare(0, 28, "enumerate(DataLoader)#_Multi") == 0 || has(info.name, "DataLoader)#")) {
        info.kind = SliceKind::DataLoading;
        info.activity = Activity::DataLoading;
        info.phase = Phase::DataLoading;
    }
    return work;
}

NamedWork& OpNames::find(Category category, std::string_view name, std::string_view detail)
{
    if (!detail.empty() && m_works.size() >= kMostDetails) {
        ++m_droppedDetails;
        detail = {};
    }
    const std::size_t slot = recentSlot(name) + 3 * recentSlot(detail) + 7 * static_cast<std::size_t>(category);
    const Entry*& recent = m_recent[slot % kRecentSlots];
    if (!recent || !isKey(recent->first, category, name, detail)) {
        setKey(category, name, detail);
        auto found = m_byKey.find(m_key);
        if (found == m_byKey.end()) {
            if (m_works.size() >= m_mostNames) return shortened(category, name);
            found = m_byKey.emplace(m_key, m_works.size()).first;
            m_works.push_back(make(category, name, detail));
        }
        recent = &*found;
    }
    NamedWork& work = m_works[recent->second];
    ++work.count;
    return work;
}

bool OpNames::isKey(const std::string& key, Category category, std::string_view name, std::string_view detail)
{
    const std::size_t behind = detail.empty() ? 0 : 1 + detail.size();
    if (key.size() != 1 + name.size() + behind || key[0] != categoryLetter(category)) return false;
    if (key.compare(1, name.size(), name) != 0) return false;
    return detail.empty() || (key[1 + name.size()] == '\0' && key.compare(2 + name.size(), detail.size(), detail) == 0);
}

NamedWork& OpNames::findCopy(Category category, std::string_view name, std::int64_t bytes)
{
    const std::string detail = std::to_string(bytes) + " bytes";
    NamedWork& work = find(category, name, detail);
    // An entry without the detail (too many different ones) stands for copies of any size.
    if (work.info.detail == detail && bytes < (std::int64_t{1} << 50)) work.info.bytes = bytes;
    return work;
}

NamedWork& OpNames::shortened(Category category, std::string_view name)
{
    const std::string whole = validUtf8(name);
    std::string text = withoutNumbers(whole);
    setKey(category, text, {});
    if (m_byKey.count(m_key) == 0 && m_works.size() >= 2 * m_mostNames) {
        text = "(one of too many names)";
        setKey(category, text, {});
    }
    if (text != whole) ++m_shortenedNames;
    const auto [found, isNew] = m_byKey.try_emplace(m_key, m_works.size());
    if (isNew) m_works.push_back(make(category, text, {}));
    NamedWork& work = m_works[found->second];
    ++work.count;
    return work;
}

void OpNames::setKey(Category category, std::string_view name, std::string_view detail)
{
    m_key.assign(1, categoryLetter(category));
    m_key.append(name);
    if (detail.empty()) return;
    m_key.push_back('\0');
    m_key.append(detail);
}

OpId OpNames::id(NamedWork& work, Phase phase, double flops)
{
    return id(work, phase, flops, work.info.activity);
}

OpId OpNames::id(NamedWork& work, Phase phase, double flops, Activity activity)
{
    for (const NamedWork::Variant& variant : work.variants)
        if (variant.phase == phase && variant.flops == flops && variant.activity == activity) return variant.id;
    OpInfo info = work.info;
    if (phase != Phase::None) info.phase = phase;
    info.flops = flops;
    info.activity = activity;
    const OpId id = m_sink.defineOp(info);
    work.variants.push_back({phase, activity, flops, id});
    return id;
}

Phase OpNames::kernelPhase(NamedWork& work, Phase launched)
{
    if (launched != Phase::Forward && launched != Phase::None) return launched;
    if (!work.ofOptimizer) work.ofOptimizer = optimizerKernel(work.info.name);
    return *work.ofOptimizer ? Phase::Optimizer : launched;
}

} // namespace fourwalls::importers
