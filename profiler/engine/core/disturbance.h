// SPDX-License-Identifier: Apache-2.0
// What is done to a run on purpose, so that its diagnosis can be tried: ranks really take longer, stand still, or keep what
// they should free. Nothing of a finished recording is edited.
#pragma once

#include "model/base/ids.h"
#include "model/base/result.h"
#include "model/base/time.h"
#include "model/spec/run_spec.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls::engine {

enum class DisturbanceKind : std::uint8_t {
    SlowRank,          ///< every kernel of a rank takes `amount` times as long
    SlowStage,         ///< the same of all ranks of a pipeline stage
    Throttling,        ///< the same from step `from` on
    SlowStep,          ///< the same in step `from` only
    BadSteps,          ///< the same in one step of ten, at the earliest in step `from`
    DataLoading,       ///< the loader takes `amount` ms longer for each micro-batch
    HostPause,         ///< in every other step, at chance, the program stands still for `amount` ms
    SequenceImbalance, ///< micro-batches hold sequences of 1/`amount` to the whole length, dealt out anew in each step
    MemoryGrowth,      ///< after each step `amount` MB more stay allocated
    ExpertImbalance ///< each expert of a rank, and of those with the same experts, gets `amount` times another's tokens
};
/// "slow_rank", …: as diagnosis calls what it is to find.
std::string_view name(DisturbanceKind kind);

struct Disturbance {
    DisturbanceKind kind = DisturbanceKind::SlowRank;
    std::optional<int> place; ///< rank, or stage of SlowStage; absent: all; of ExpertImbalance: the first experts'
    double amount = 1;        ///< a factor >= 1, or ms, or MB; see DisturbanceKind
    std::int64_t from = 0;    ///< step; of Throttling, SlowStep and BadSteps
};

/// Reads "KIND:PLACE:AMOUNT" or "KIND:PLACE:AMOUNT@STEP"; PLACE is a rank, a stage or "all".
/// Errors: InvalidArgument naming what is wrong with it.
Result<Disturbance> parseDisturbance(std::string_view text);
/// Errors: InvalidArgument if the run has no such rank or stage, the amount is out of range, or the network has no sequences
/// that could differ.
Status checkDisturbance(const Disturbance& disturbance, const RunSpec& spec);

/// Lengths of the micro-batches of one step of the whole job, shortest first [tokens]: evenly from 1/amount to the whole length,
/// so that each step has equally many tokens. Whole multiples of the tensor-parallel ranks, which share the rows.
std::vector<std::int64_t> unevenSequences(const RunSpec& spec, double amount);

/// Experts that get more tokens than the others.
struct ExpertSkew {
    std::int64_t first = 0, count = 0;
    double amount = 1; ///< times another expert's tokens

    /// The experts of a token, all different ones: `choices` is as long as a token has experts. token: its number.
    void choose(std::int64_t token, std::int64_t experts, std::span<std::int32_t> choices) const;
};

/// What is done to one rank.
class RankDisturbance {
public:
    RankDisturbance() = default;
    RankDisturbance(std::span<const Disturbance> all, const RunSpec& spec, RankId rank);

    bool empty() const { return m_own.empty(); }
    /// How much longer kernels of a step take.
    double slowness(std::int64_t step) const;
    /// Tokens of each sample of one of its micro-batches; absent: the run's. Ranks that share micro-batches have it alike.
    std::optional<std::int64_t> sequence(std::int64_t step, std::int32_t microbatch) const;
    /// Tokens of a step of the whole job; absent: those of the run.
    std::optional<std::int64_t> tokens() const;
    Duration loading() const;
    /// How long the program stands still in a step, and at which of its kernels, as a share of them; 0: not.
    struct Pause {
        Duration length;
        double at = 0;
    };
    Pause pause(std::int64_t step) const;
    std::int64_t growthBytes() const;
    /// Where tokens go, whatever their router says; absent: where the plan says. All ranks have it alike.
    const std::optional<ExpertSkew>& expertSkew() const { return m_skew; }
    /// "slow_rank 1.5", …: what the rank has.
    std::vector<std::string> words() const;

private:
    std::vector<Disturbance> m_own;
    std::uint64_t m_seed = 0;
    int m_data = 0, m_copies = 1;          ///< place among the data-parallel ranks, and how many they are
    std::vector<std::int64_t> m_sequences; ///< of a step of the whole job; empty: all as long as the run's
    std::int64_t m_samples = 0;            ///< of a micro-batch
    std::optional<ExpertSkew> m_skew;
    int m_rank = 0;
};

} // namespace fourwalls::engine
