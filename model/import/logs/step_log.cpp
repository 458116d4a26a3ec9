// SPDX-License-Identifier: Apache-2.0
// What names of figures mean.
#include "model/import/logs/step_log.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kMostLoggedSteps = 5'000'000;
constexpr std::size_t kMostLoggedNames = 64; ///< of one step

enum class Figure : std::uint8_t {
    Loss,
    Rate,
    Norm,
    Samples,
    SamplesPerSecond,
    SamplesPerSecondOfRun,
    TokensPerSecondAndDevice,
    Milliseconds,
    Seconds,
    Sequence,
    Runtime,
    Other,
    None
};

/// The last part of a tag of TensorBoard: "train/loss" is the loss. Those of an evaluation are not the step's.
std::string loggedName(std::string_view name)
{
    std::string text;
    for (const char c : name) {
        const char lower = lowerCase(c);
        text += lower == '_' || lower == '-' ? ' ' : lower;
    }
    const auto begin = text.find_first_not_of(' ');
    if (begin == std::string::npos) return {};
    return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

Figure figureOf(const std::string& name)
{
    for (const std::string_view other : {"eval", "valid", "val ", "val/", "test"})
        if (name.find(other) != std::string::npos) return Figure::Other;
    const std::size_t slash = name.rfind('/');
    const std::string_view last =
        slash == std::string::npos ? std::string_view(name) : std::string_view(name).substr(slash + 1);
    using Row = std::pair<std::string_view, Figure>;
    static constexpr std::array<Row, 38> kTable{{{"loss", Figure::Loss},
                                                 {"lm loss", Figure::Loss},
                                                 {"train loss", Figure::Loss},
                                                 {"training loss", Figure::Loss},
                                                 {"total loss", Figure::Loss},
                                                 {"reduced train loss", Figure::Loss},
                                                 {"global avg loss", Figure::Loss},
                                                 {"lr", Figure::Rate},
                                                 {"learning rate", Figure::Rate},
                                                 {"grad norm", Figure::Norm},
                                                 {"gradient norm", Figure::Norm},
                                                 {"global grad norm", Figure::Norm},
                                                 {"global batch size", Figure::Samples},
                                                 {"batch size", Figure::Samples},
                                                 {"train batch size", Figure::Samples},
                                                 {"elapsed time per iteration (ms)", Figure::Milliseconds},
                                                 {"iteration time (ms)", Figure::Milliseconds},
                                                 {"step time (ms)", Figure::Milliseconds},
                                                 {"step time ms", Figure::Milliseconds},
                                                 {"elapsed time per iteration (s)", Figure::Seconds},
                                                 {"iteration time", Figure::Seconds},
                                                 {"step time", Figure::Seconds},
                                                 {"iter time (s)", Figure::Seconds},
                                                 {"train step timing in s", Figure::Seconds},
                                                 {"end to end(s)", Figure::Seconds},
                                                 // DeepSpeed, from the batch of all its ranks; the Trainer's, at
                                                 // its end; torchtitan's, of one device.
                                                 {"currsamplespersec", Figure::SamplesPerSecond},
                                                 {"samples per second", Figure::SamplesPerSecond},
                                                 {"train samples per second", Figure::SamplesPerSecondOfRun},
                                                 {"tps", Figure::TokensPerSecondAndDevice},
                                                 {"seq length", Figure::Sequence},
                                                 {"train runtime", Figure::Runtime},
                                                 {"step", Figure::None},
                                                 {"global step", Figure::None},
                                                 {"iteration", Figure::None},
                                                 {"epoch", Figure::None},
                                                 {"samples", Figure::Other},
                                                 {"total flos", Figure::None},
                                                 {"", Figure::None}}};
    for (const auto& [known, figure] : kTable)
        if (last == known) return figure;
    // "lm loss vs samples" of Megatron is the same again, over another axis.
    if (name.find(" vs samples") != std::string::npos) return Figure::None;
    return Figure::Other;
}

} // namespace

LoggedStep* StepLog::at(std::int64_t step)
{
    if (step < 0 || step >= 1'000'000'000) return nullptr;
    const auto known = steps.find(step);
    if (known != steps.end()) return &known->second;
    return steps.size() < kMostLoggedSteps ? &steps[step] : nullptr;
}

void StepLog::add(LoggedStep& step, std::string_view name, double value)
{
    const std::string plain = loggedName(name.substr(0, 200));
    if (!std::isfinite(value)) {
        ++leftOut;
        return;
    }
    switch (figureOf(plain)) {
    case Figure::Loss: step.loss = value; break;
    case Figure::Rate: step.learningRate = value; break;
    case Figure::Norm: step.gradientNorm = value; break;
    case Figure::Samples: step.samples = value; break;
    case Figure::SamplesPerSecond: step.samplesPerSecond = value; break;
    case Figure::SamplesPerSecondOfRun: samplesPerSecond = value; break;
    case Figure::TokensPerSecondAndDevice: step.figures["tokens per second and device"] = value; break;
    case Figure::Milliseconds: step.length = value / 1e3; break;
    case Figure::Seconds: step.length = value; break;
    case Figure::Sequence: sequenceLength = value; break;
    case Figure::Runtime: runtime = value; break;
    case Figure::None: break;
    case Figure::Other:
        if (step.figures.size() < kMostLoggedNames || step.figures.count(plain) > 0)
            step.figures[plain] = value;
        else
            ++leftOut;
        break;
    }
}

} // namespace fourwalls::importers
