// SPDX-License-Identifier: Apache-2.0
// See name_index.h.
#include "model/trace/name_index.h"

#include "model/base/ascii.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace fourwalls {

namespace {

constexpr std::size_t kMostOfLayer = 10'000;
constexpr std::size_t kMostBegunBefore = 1'000; ///< slices that are there at an instant, one a lane
/// The longest name that a search by an expression compares to its end, see NameMatcher.
constexpr std::size_t kLongestExactName = 2'000;

bool isLetterOrDigit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Scripts without spaces have a word behind every character.
bool beginsWord(std::string_view text, std::size_t at)
{
    return at == 0 || !isLetterOrDigit(text[at - 1]);
}

/// An expression that only this name matches.
std::string exactly(const std::string& name)
{
    std::string expression = "^";
    for (const char c : name) {
        if (static_cast<unsigned char>(c) < 0x80 && !isLetterOrDigit(c) && c != '_' && c != ' ') expression += '\\';
        expression += c;
    }
    return expression + "$";
}

} // namespace

SearchWords::SearchWords(std::string_view typed)
{
    const std::string lower = lowerCase(typed);
    for (std::size_t at = 0; at < lower.size();) {
        const std::size_t end = std::min(lower.find(' ', at), lower.size());
        if (end > at) m_words.push_back(lower.substr(at, end - at));
        at = end + 1;
    }
    for (const std::string& word : m_words) m_phrase += (m_phrase.empty() ? "" : " ") + word;
}

MatchQuality SearchWords::qualityOf(std::string_view text) const
{
    return qualityOfLower(lowerCase(text));
}

MatchQuality SearchWords::qualityOfLower(std::string_view lower) const
{
    if (m_words.empty()) return MatchQuality::Words;
    std::size_t at = lower.find(m_phrase);
    if (at == 0) return lower.size() == m_phrase.size() ? MatchQuality::Whole : MatchQuality::Start;
    if (at != std::string_view::npos) {
        for (; at != std::string_view::npos; at = lower.find(m_phrase, at + 1))
            if (beginsWord(lower, at)) return MatchQuality::WordStart;
        return MatchQuality::Inside;
    }
    if (m_words.size() == 1) return MatchQuality::None;
    const bool all = std::all_of(m_words.begin(), m_words.end(),
                                 [&](const std::string& word) { return lower.find(word) != std::string_view::npos; });
    return all ? MatchQuality::Words : MatchQuality::None;
}

MatchQuality SearchWords::looseQualityOf(std::string_view text) const
{
    const std::string lower = lowerCase(text);
    const MatchQuality quality = qualityOfLower(lower);
    if (quality != MatchQuality::None) return quality;
    std::size_t at = 0;
    for (const std::string& word : m_words)
        for (const char wanted : word) {
            at = lower.find(wanted, at);
            if (at == std::string::npos) return MatchQuality::None;
            ++at;
        }
    return MatchQuality::Letters;
}

Result<NameIndex> NameIndex::read(TraceQuery& trace, const std::stop_token& stop)
{
    FOURWALLS_TRY_ASSIGN(
        const std::vector<OpSummary> summaries,
        trace.opSummaries(static_cast<std::size_t>(std::max<std::int64_t>(0, trace.info().counts.ops))));
    std::unordered_map<OpId, Duration> totals;
    for (const OpSummary& summary : summaries) totals[summary.op] = summary.total;

    NameIndex index;
    std::unordered_map<std::string, std::size_t> known;
    std::vector<Duration> most; // of the operator that stands for the name
    std::map<LayerIndex, std::pair<std::shared_ptr<const OpInfo>, Duration>> layers;
    const std::int64_t ops = std::min<std::int64_t>(trace.info().counts.ops, std::numeric_limits<std::int32_t>::max());
    for (std::int64_t id = 0; id < ops; ++id) {
        if ((id & 0xff) == 0 && stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled", "names", ""};
        const OpId op{static_cast<std::int32_t>(id)};
        Result<std::shared_ptr<const OpInfo>> info = trace.op(op);
        if (!info.ok() && info.error().code == ErrorCode::NotFound) continue; // left out of a damaged file
        if (!info.ok()) return info.error();
        const auto summed = totals.find(op);
        const Duration total = summed == totals.end() ? Duration{} : summed->second;
        const auto [at, isNew] = known.try_emplace((*info)->name, index.m_names.size());
        if (isNew) {
            index.m_names.push_back({(*info)->name, *info, 0, {}});
            index.m_lower.push_back(lowerCase((*info)->name));
            most.push_back(total);
        }
        IndexedName& name = index.m_names[at->second];
        ++name.operators;
        name.total = name.total + total;
        if (total > most[at->second]) {
            most[at->second] = total;
            name.op = *info;
        }
        if (!(*info)->layer) continue;
        const auto [layer, first] = layers.try_emplace(*(*info)->layer, *info, total);
        const bool isOwn = (*info)->kind == SliceKind::Layer, wasOwn = layer->second.first->kind == SliceKind::Layer;
        if (!first && (isOwn == wasOwn ? total > layer->second.second : isOwn)) layer->second = {*info, total};
    }
    for (const auto& [layer, op] : layers) index.m_layers.push_back({layer, op.first->name});
    return index;
}

NameHits NameIndex::find(const SearchWords& words, std::size_t limit) const
{
    NameHits hits;
    std::vector<std::pair<MatchQuality, std::size_t>> found;
    for (std::size_t i = 0; i < m_names.size(); ++i)
        if (const MatchQuality quality = words.qualityOfLower(m_lower[i]); quality != MatchQuality::None)
            found.emplace_back(quality, i);
    hits.count = found.size();
    const std::size_t shown = std::min(limit, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end(),
                      [&](const auto& a, const auto& b) {
                          if (a.first != b.first) return a.first > b.first;
                          const IndexedName &x = m_names[a.second], &y = m_names[b.second];
                          return x.total != y.total ? x.total > y.total : x.name < y.name;
                      });
    for (std::size_t i = 0; i < shown; ++i) hits.best.push_back({m_names[found[i].second], found[i].first});
    return hits;
}

Result<std::optional<NamedSlice>> nextSliceNamed(TraceQuery& trace, const std::string& name,
                                                 std::optional<LayerIndex> layer, Instant from,
                                                 const std::stop_token& stop)
{
    const TimeRange whole{trace.info().range.begin, trace.info().range.end + Duration{1}};
    SearchQuery query;
    // Of a name too long for an expression, others that contain it may be found, too.
    query.regularExpression = name.size() <= kLongestExactName;
    query.text = query.regularExpression ? exactly(name) : name;
    query.limit = layer ? kMostOfLayer : kMostBegunBefore;
    from = std::clamp(from, whole.begin, whole.end);
    for (const TimeRange range : {TimeRange{from, whole.end}, TimeRange{whole.begin, whole.end}}) {
        if (range.empty()) continue;
        query.range = range;
        FOURWALLS_TRY_ASSIGN(const SearchResult found, trace.search(query, stop));
        for (const SliceView& slice : found.slices) {
            const auto op = found.ops.find(slice.op);
            if (slice.start < range.begin || op == found.ops.end() || (layer && op->second->layer != layer)) continue;
            return std::optional<NamedSlice>({slice, op->second});
        }
    }
    return std::optional<NamedSlice>();
}

} // namespace fourwalls
