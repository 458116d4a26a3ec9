// SPDX-License-Identifier: Apache-2.0
// See disturbance.h.
#include "profiler/engine/core/disturbance.h"

#include "model/spec/rank_layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

namespace fourwalls::engine {

namespace {

constexpr std::array<std::pair<DisturbanceKind, std::string_view>, 10> kKinds{{
    {DisturbanceKind::SlowRank, "slow_rank"},
    {DisturbanceKind::SlowStage, "slow_stage"},
    {DisturbanceKind::Throttling, "throttling"},
    {DisturbanceKind::SlowStep, "slow_step"},
    {DisturbanceKind::BadSteps, "bad_steps"},
    {DisturbanceKind::DataLoading, "data_loading"},
    {DisturbanceKind::HostPause, "host_pause"},
    {DisturbanceKind::SequenceImbalance, "sequence_imbalance"},
    {DisturbanceKind::MemoryGrowth, "memory_growth"},
    {DisturbanceKind::ExpertImbalance, "expert_imbalance"},
}};

constexpr std::int64_t kBadStepsApart = 10;

/// A number from 0 to 1 that the arguments decide (splitmix64, Steele et al. 2014).
double chance(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c)
{
    std::uint64_t x = seed;
    for (const std::uint64_t each : {a, b, c}) {
        x += 0x9e3779b97f4a7c15ull + each;
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        x ^= x >> 31;
    }
    return static_cast<double>(x >> 11) * 0x1p-53;
}

bool isFactor(DisturbanceKind kind)
{
    return kind != DisturbanceKind::DataLoading && kind != DisturbanceKind::HostPause &&
           kind != DisturbanceKind::MemoryGrowth;
}

/// Whether Disturbance::from means something.
bool hasStep(DisturbanceKind kind)
{
    return kind == DisturbanceKind::Throttling || kind == DisturbanceKind::SlowStep ||
           kind == DisturbanceKind::BadSteps;
}

template <class Number>
bool readAll(std::string_view text, Number& number)
{
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    return failure == std::errc{} && end == text.data() + text.size();
}

Error wrongDisturbance(std::string_view text)
{
    std::string kinds;
    for (const auto& [kind, word] : kKinds) kinds += (kinds.empty() ? "" : ", ") + std::string(word);
    return {ErrorCode::InvalidArgument, "cannot be '" + std::string(text) + "'", "--disturb",
            "KIND:PLACE:AMOUNT or KIND:PLACE:AMOUNT@STEP, for example throttling:1:1.5@10; kinds: " + kinds};
}

/// Whether micro-batches of the run can have sequences of their own length.
Status checkSequences(const Disturbance& disturbance, const RunSpec& spec)
{
    const std::string where = std::string(name(disturbance.kind));
    const auto cannot = [&](std::string what, std::string hint) {
        return Error{ErrorCode::InvalidArgument, std::move(what), where, std::move(hint)};
    };
    const ParallelPlan& plan = spec.plan;
    if (disturbance.place) return cannot("sequences are dealt out over the whole job", "sequence_imbalance:all:2.5");
    if (!spec.model.transformer()) return cannot("the network has no sequences", "a transformer");
    if (plan.parameterServer != ParameterServer::None || plan.cp > 1 || plan.ep > 1)
        return cannot("ranks that share a sequence, experts or servers need sequences of one length",
                      "a plan without cp, ep and parameter servers");
    if (spec.training.sequence % plan.tp != 0)
        return cannot("tensor-parallel ranks share the rows of a sequence evenly",
                      "a sequence that tp=" + std::to_string(plan.tp) + " divides");
    if (plan.dp * plan.microbatches < 2) return cannot("there is one micro-batch alone", "dp=2 or microbatches=2");
    return {};
}

/// The experts of a place: its share of them, or the first one where every rank has all.
ExpertSkew skewOf(const Disturbance& disturbance, const RunSpec& spec)
{
    const std::int64_t experts = spec.model.transformer()->mixture.experts, share = experts / spec.plan.ep;
    const int place = RankLayout(spec.plan).coordinates(RankId{disturbance.place.value_or(0)}).expert;
    return {share * place, spec.plan.ep > 1 ? share : 1, disturbance.amount};
}

} // namespace

std::string_view name(DisturbanceKind kind)
{
    return kKinds[static_cast<std::size_t>(kind)].second;
}

Result<Disturbance> parseDisturbance(std::string_view text)
{
    const std::size_t first = text.find(':');
    const std::size_t second = first == text.npos ? first : text.find(':', first + 1);
    if (second == text.npos) return wrongDisturbance(text);
    Disturbance disturbance;
    const std::string_view kind = text.substr(0, first), place = text.substr(first + 1, second - first - 1);
    const auto found =
        std::find_if(kKinds.begin(), kKinds.end(), [&](const auto& each) { return each.second == kind; });
    if (found == kKinds.end()) return wrongDisturbance(text);
    disturbance.kind = found->first;
    if (int number = 0; place != "all") {
        if (!readAll(place, number)) return wrongDisturbance(text);
        disturbance.place = number;
    }
    std::string_view amount = text.substr(second + 1);
    if (const std::size_t at = amount.find('@'); at != amount.npos) {
        if (!readAll(amount.substr(at + 1), disturbance.from) || disturbance.from < 0) return wrongDisturbance(text);
        amount = amount.substr(0, at);
    }
    if (!readAll(amount, disturbance.amount) || !std::isfinite(disturbance.amount)) return wrongDisturbance(text);
    return disturbance;
}

Status checkDisturbance(const Disturbance& disturbance, const RunSpec& spec)
{
    const ParallelPlan& plan = spec.plan;
    const bool stage = disturbance.kind == DisturbanceKind::SlowStage;
    const int places = stage ? plan.pp : plan.worldSize();
    const std::string where = std::string(name(disturbance.kind));
    if (disturbance.place && (*disturbance.place < 0 || *disturbance.place >= places))
        return Error{ErrorCode::InvalidArgument, stage ? "there is no such stage" : "there is no such rank", where,
                     "0 to " + std::to_string(places - 1)};
    constexpr double kMost = 1e6;
    if (isFactor(disturbance.kind) ? !(disturbance.amount >= 1 && disturbance.amount <= kMost)
                                   : !(disturbance.amount > 0 && disturbance.amount <= kMost))
        return Error{ErrorCode::InvalidArgument,
                     isFactor(disturbance.kind) ? "the factor is not between 1 and a million"
                                                : "the amount is not between 0 and a million",
                     where, isFactor(disturbance.kind) ? "1.5" : "10"};
    const TransformerSpec* transformer = spec.model.transformer();
    if (disturbance.kind == DisturbanceKind::ExpertImbalance && (!transformer || transformer->mixture.experts < 2))
        return Error{ErrorCode::InvalidArgument, "the network has no experts", where, "--model moe-tiny"};
    if (disturbance.kind == DisturbanceKind::ExpertImbalance && plan.parameterServer != ParameterServer::None)
        return Error{ErrorCode::InvalidArgument, "a parameter server's workers choose by themselves", where,
                     "a plan without parameter servers"};
    if (disturbance.from > 0 && !hasStep(disturbance.kind))
        return Error{ErrorCode::InvalidArgument, "it is there from the first step on: '@' and a step mean nothing",
                     where, "throttling, bad_steps and slow_step begin in a step"};
    return disturbance.kind == DisturbanceKind::SequenceImbalance ? checkSequences(disturbance, spec) : Status{};
}

std::vector<std::int64_t> unevenSequences(const RunSpec& spec, double amount)
{
    const std::int64_t count = std::int64_t{spec.plan.dp} * spec.plan.microbatches, unit = spec.plan.tp;
    const std::int64_t most = spec.training.sequence / unit;
    const auto whole = static_cast<double>(most);
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < count; ++i) {
        const double part = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
        const double units = whole * (1 + (amount - 1) * part) / amount;
        lengths.push_back(unit * std::clamp(static_cast<std::int64_t>(std::llround(units)), std::int64_t{1}, most));
    }
    return lengths;
}

void ExpertSkew::choose(std::int64_t token, std::int64_t experts, std::span<std::int32_t> choices) const
{
    // Multiples of the golden ratio fall evenly between 0 and 1 (Weyl's sequence).
    constexpr double kGolden = 0.6180339887498949;
    const auto favoured = static_cast<double>(count), others = static_cast<double>(experts - count);
    for (std::size_t j = 0; j < choices.size(); ++j) {
        const double number =
            static_cast<double>(token * static_cast<std::int64_t>(choices.size())) + static_cast<double>(j);
        const double at = (number * kGolden - std::floor(number * kGolden)) * (amount * favoured + others);
        const double place = at < amount * favoured ? at / amount : favoured + at - amount * favoured;
        std::int64_t expert = (first + std::min(experts - 1, static_cast<std::int64_t>(place))) % experts;
        const auto before = choices.first(j);
        while (std::find(before.begin(), before.end(), expert) != before.end()) expert = (expert + 1) % experts;
        choices[j] = static_cast<std::int32_t>(expert);
    }
}

RankDisturbance::RankDisturbance(std::span<const Disturbance> all, const RunSpec& spec, RankId rank)
    : m_seed(spec.training.seed)
    , m_rank(rank.value)
{
    if (all.empty() || spec.plan.parameterServer != ParameterServer::None) {
        // Servers stand beside the plan's ranks.
        for (const Disturbance& each : all)
            if (each.kind != DisturbanceKind::SlowStage && (!each.place || *each.place == rank.value))
                m_own.push_back(each);
        return;
    }
    const RankCoordinates at = RankLayout(spec.plan).coordinates(rank);
    m_data = at.data;
    m_copies = spec.plan.dp;
    m_samples = spec.training.batch / spec.plan.dp / spec.plan.microbatches;
    for (const Disturbance& each : all) {
        if (each.kind == DisturbanceKind::SequenceImbalance) m_sequences = unevenSequences(spec, each.amount);
        if (each.kind == DisturbanceKind::ExpertImbalance) m_skew = skewOf(each, spec);
        const int own = each.kind == DisturbanceKind::SlowStage ? at.stage : rank.value;
        if (!each.place || *each.place == own) m_own.push_back(each);
    }
}

double RankDisturbance::slowness(std::int64_t step) const
{
    double factor = 1;
    for (const Disturbance& each : m_own) {
        const bool always = each.kind == DisturbanceKind::SlowRank || each.kind == DisturbanceKind::SlowStage;
        const bool later = each.kind == DisturbanceKind::Throttling && step >= each.from;
        const bool bad =
            each.kind == DisturbanceKind::BadSteps && step >= each.from && (step - each.from) % kBadStepsApart == 0;
        const bool once = each.kind == DisturbanceKind::SlowStep && step == each.from;
        if (always || later || bad || once) factor *= each.amount;
    }
    return factor;
}

std::optional<std::int64_t> RankDisturbance::sequence(std::int64_t step, std::int32_t microbatch) const
{
    if (m_sequences.empty()) return std::nullopt;
    // The place of the micro-batch's number among those of all: micro-batch m of all ranks together is that of one rank.
    const auto number = [&](std::uint64_t of) { return chance(m_seed, static_cast<std::uint64_t>(step), of, 3); };
    const std::uint64_t count = m_sequences.size();
    const auto own = static_cast<std::uint64_t>(microbatch) * static_cast<std::uint64_t>(m_copies) +
                     static_cast<std::uint64_t>(m_data);
    const double mine = number(own);
    std::size_t place = 0;
    for (std::uint64_t other = 0; other < count; ++other) place += other != own && number(other) < mine;
    return m_sequences[place];
}

std::optional<std::int64_t> RankDisturbance::tokens() const
{
    if (m_sequences.empty()) return std::nullopt;
    return m_samples * std::accumulate(m_sequences.begin(), m_sequences.end(), std::int64_t{0});
}

Duration RankDisturbance::loading() const
{
    double ms = 0;
    for (const Disturbance& each : m_own)
        if (each.kind == DisturbanceKind::DataLoading) ms += each.amount;
    return Duration{std::llround(ms * 1e6)};
}

RankDisturbance::Pause RankDisturbance::pause(std::int64_t step) const
{
    Pause pause;
    for (const Disturbance& each : m_own) {
        const auto number = static_cast<std::uint64_t>(step), rank = static_cast<std::uint64_t>(m_rank);
        if (each.kind != DisturbanceKind::HostPause || chance(m_seed, number, rank, 1) < 0.5) continue;
        pause.length = pause.length + Duration{std::llround(each.amount * 1e6)};
        pause.at = chance(m_seed, number, rank, 2);
    }
    return pause;
}

std::int64_t RankDisturbance::growthBytes() const
{
    double bytes = 0;
    for (const Disturbance& each : m_own)
        if (each.kind == DisturbanceKind::MemoryGrowth) bytes += each.amount * 1e6;
    return std::llround(bytes);
}

std::vector<std::string> RankDisturbance::words() const
{
    std::vector<std::string> words;
    for (const Disturbance& each : m_own) {
        std::array<char, 32> amount{};
        const auto written = std::to_chars(amount.data(), amount.data() + amount.size(), each.amount);
        words.push_back(std::string(name(each.kind)) + ' ' + std::string(amount.data(), written.ptr));
        if (each.from > 0) words.back() += " from step " + std::to_string(each.from);
    }
    return words;
}

} // namespace fourwalls::engine
