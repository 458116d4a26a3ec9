// SPDX-License-Identifier: Apache-2.0
// Sequences that are packed with documents of unequal lengths. A token attends to those of its own document alone, so
// attention takes what the documents' squares add up to, and differs from sequence to sequence. The engine trains on the
// documents that a prediction prices: both draw them here.
#pragma once

#include <cstdint>
#include <vector>

namespace fourwalls {

/// Of all documents, `count` in so many as the counts of a list add up to are `tokens` long.
struct DocumentLength {
    int count = 1;
    int tokens = 1;
    friend bool operator==(const DocumentLength&, const DocumentLength&) = default;
};

/// The most documents that a sequence may hold.
inline constexpr std::int64_t kMostDocuments = 100'000;

/// Lengths [tokens] of the documents in a sequence of `tokens`, from its begin; they add up to it. Drawn one after the
/// other, each length as often as the list says; the last one is cut at the sequence's end. They depend on the seed and
/// the sequence's number alone. An empty list: one document.
std::vector<std::int64_t> packedDocuments(const std::vector<DocumentLength>& lengths, std::int64_t tokens,
                                          std::uint64_t seed, std::uint64_t number);

/// How many keys a token meets in a sequence, in the mean over its tokens and before a causal mask: its documents' squares
/// over its tokens. One figure a sequence, of the first ones; a single one where all are the same, or too many to draw.
std::vector<double> attendedKeys(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed);
/// Their mean; `tokens` for an empty list.
double meanAttendedKeys(const std::vector<DocumentLength>& lengths, std::int64_t tokens, std::uint64_t seed);

} // namespace fourwalls
