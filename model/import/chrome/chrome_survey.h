// SPDX-License-Identifier: Apache-2.0
// The first of two walks over a Chrome trace: everything that the second one must know before it meets the first
// event, since header, names and launches may stand anywhere in the file. Reading twice is cheap beside writing once.
#pragma once

#include "model/import/chrome/ascend_processes.h"
#include "model/import/chrome/chrome_header.h"
#include "model/import/chrome/chrome_reader.h"
#include "model/import/chrome/unknown_device.h"
#include "model/import/chrome/xla_processes.h"
#include "model/import/common/clock_alignment.h"
#include "model/import/common/collective_detail.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/lane_index.h"
#include "model/import/common/launch_links.h"
#include "model/import/common/operator_flops.h"
#include "model/import/common/trace_categories.h"
#include "model/spec/training_settings.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

namespace fourwalls::importers {

/// A ProfilerStep#N, on the host or as projected on a stream. Times in the file's nanoseconds.
struct StepMark {
    int number = 0;
    std::int64_t begin = 0, end = 0;
    bool projected = false;
};

/// A call or annotation of the host that asks for communication; see RequestKind.
struct CollectiveRequest {
    std::int64_t begin = 0, end = 0; ///< as in the file [ns]
    std::int32_t lane = 0;
    std::int32_t detail = -1; ///< in ChromeSurvey::details
    RequestKind kind = RequestKind::None;
    bool counts = false; ///< stands for one operation; what is around or inside it is the same one
};

struct ChromeSurvey {
    ChromeHeader header;
    ChromeReadReport report;
    AscendProcesses ascend;
    XlaProcesses xla;
    UnknownDevice unknown;
    LaneIndex lanes;
    LaunchLinks links;
    std::vector<CollectiveRequest> requests;         ///< as the events come; by Launch::collective
    std::vector<CollectiveDetail> details;           ///< what they say; equal ones may be one
    std::vector<CollectiveOp> requested;             ///< the kinds of operation asked for, each once
    std::vector<std::int64_t> communicationLaunches; ///< correlations of communication kernels; for `grouped`
    std::unordered_map<std::int64_t, std::int32_t>
        grouped; ///< a launch that carries out several requests: their detail
    std::vector<StepMark> steps;
    std::vector<CommunicationMark> communication;
    std::optional<std::int64_t> firstNs; ///< smallest time of a slice or instant, without the base
    std::int64_t lastNs = 0;
    ConvolutionResults convolutions;
    std::map<Precision, double> flopsByPrecision; ///< of the operators whose shapes are known
    std::int64_t usable = 0;                      ///< events that can be shown
    bool deviceWork = false;                      ///< an accelerator did something
    bool training = false;                        ///< there is a backward pass
    bool kineto = false;
    bool beforeKineto = false; ///< PyTorch's operators without categories

    /// What an event is as written: by its category or, of Ascend and XLA, its process.
    Category writtenCategory(const ChromeEvent& event) const;
    /// The same where nothing is written: as its name and process tell. written: of writtenCategory().
    static Category categoryOf(const ChromeEvent& event, Category written);

    /// Whether operators of the host are the work: nothing in the file is of an accelerator, known or not.
    bool hostWorks() const { return !deviceWork && !unknown.found(); }
    /// Whether times are Unix times once the base is added.
    bool wallClock() const;
    /// What the request of a launch says; null: it has none.
    const CollectiveDetail* detailOf(const std::optional<Launch>& launch) const;
    /// What the grouped requests say that a launch carries out; null: it carries out none or its own.
    const CollectiveDetail* groupedDetail(const Launch& launch) const;
    /// Whether collectives are known by their requests only.
    bool onlyRequests() const { return communication.empty() && !requests.empty(); }
    /// Whether a kernel that sends and receives can only be an all-to-all: nothing else was asked for.
    bool sendsAreAllToAll() const;
    std::int64_t baseNs() const { return header.baseNs.value_or(0); }
};

/// Errors: as openByteSource and readChromeTrace; Unsupported naming the real format for what only looks alike.
/// progress: fraction of the file. scratchFolder: see ImportOptions.
Result<ChromeSurvey> surveyChromeTrace(const std::string& path, const std::function<void(double)>& progress = {},
                                       std::stop_token stop = {}, const std::string& scratchFolder = {});

/// Whether an event happens on an accelerator's stream.
bool isStreamWork(Category category, const ChromeEvent& event);
/// The lane of a slice, the same in both walks.
int laneOf(LaneIndex& lanes, Category category, const ChromeEvent& event);
/// What a call and the work that it launched have in common: the correlation, or where a tool left that out the
/// operator's number as a negative one, since the two count apart.
std::optional<std::int64_t> launchId(const ChromeEvent& event);
/// An event's ts or dur; absent if there is none that can be read.
std::optional<FineTime> timeOf(const ChromeEvent& event, EventKey key);
/// Whole nanoseconds of a duration that begins at `ts`: both ends are rounded, so that slices which nest or touch in a
/// file with finer times still do.
inline std::int64_t roundedLength(FineTime ts, FineTime dur)
{
    return (ts + dur).rounded() - ts.rounded();
}

} // namespace fourwalls::importers
