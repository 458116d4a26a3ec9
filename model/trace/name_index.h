// SPDX-License-Identifier: Apache-2.0
// Finding by name as somebody types: how well a name answers, the distinct names of a trace, the layers they are of,
// and the next slice of a name. The names are read once; after that a letter costs one pass over them.
#pragma once

#include "model/trace/slice_surroundings.h"
#include "model/trace/trace_query.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fourwalls {

/// How well a text answers, the better the larger.
enum class MatchQuality : std::uint8_t {
    None,
    Letters,   ///< all letters, in order, with others between them
    Words,     ///< every word, apart or in another order
    Inside,    ///< what was typed is a part of it
    WordStart, ///< and begins a word
    Start,     ///< and begins the text
    Whole
};

/// What somebody typed. Case does not count (of ASCII letters), nor does space at the ends.
class SearchWords {
public:
    explicit SearchWords(std::string_view typed);

    bool empty() const { return m_phrase.empty(); }
    /// What was typed, in small letters.
    const std::string& phrase() const { return m_phrase; }
    /// Never Letters. Of an empty search everything is Words.
    MatchQuality qualityOf(std::string_view text) const;
    /// The same, and Letters where that is all.
    MatchQuality looseQualityOf(std::string_view text) const;

private:
    MatchQuality qualityOfLower(std::string_view lower) const;

    std::string m_phrase;
    std::vector<std::string> m_words;
    friend class NameIndex;
};

/// One name of operators: they differ in layer, phase or shape.
struct IndexedName {
    std::string name;
    std::shared_ptr<const OpInfo> op; ///< the one with the most time
    int operators = 0;
    Duration total; ///< over the measured steps of all ranks
};

struct NameHit {
    IndexedName name;
    MatchQuality quality = MatchQuality::None;
};

struct NameHits {
    std::vector<NameHit> best; ///< the best first, of equal ones those with the most time
    std::size_t count = 0;     ///< all that answer
};

/// A layer, and the name of an operator that stands for it: the layer's own slice, else what takes the most time in it.
struct IndexedLayer {
    LayerIndex layer;
    std::string name;
};

class NameIndex {
public:
    /// Reads every operator of the trace. Errors: those of TraceQuery; Cancelled.
    static Result<NameIndex> read(TraceQuery& trace, const std::stop_token& stop = {});

    const std::vector<IndexedName>& names() const { return m_names; }
    const std::vector<IndexedLayer>& layers() const { return m_layers; } ///< by number
    NameHits find(const SearchWords& words, std::size_t limit) const;

private:
    std::vector<IndexedName> m_names;
    std::vector<std::string> m_lower; ///< in small letters, beside m_names
    std::vector<IndexedLayer> m_layers;
};

/// The first slice of exactly this name (and layer) that begins at `from` or later; behind the last one the first of the
/// trace. Absent: none. Of a layer only the first ten thousand slices of the name are looked at.
/// Errors: those of TraceQuery::search.
Result<std::optional<NamedSlice>> nextSliceNamed(TraceQuery& trace, const std::string& name,
                                                 std::optional<LayerIndex> layer, Instant from,
                                                 const std::stop_token& stop = {});

} // namespace fourwalls
