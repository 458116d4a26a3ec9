// SPDX-License-Identifier: Apache-2.0
// Memory timelines of torch.profiler (export_memory_timeline) as buffers: totals per category over time (FILE.json), or
// every change of them (FILE.raw.json.gz). Which buffer a change belongs to is in neither. Numbers of actions and
// categories: torch/profiler/_memory_profiler.py of PyTorch 2.1 to 2.15.
#include "model/import/common/byte_source.h"
#include "model/import/common/import_format.h"
#include "model/import/common/profile_rows.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kTimelinePiece = std::size_t{1} << 18;
constexpr std::size_t kMostTimes = 50'000'000;
constexpr std::size_t kMostLiveParts = 20'000'000;
constexpr std::array<MemoryCategory, 8> kTimelineCategories{MemoryCategory::Weights,
                                                            MemoryCategory::OptimizerState,
                                                            MemoryCategory::Other, /* inputs */
                                                            MemoryCategory::Temporaries,
                                                            MemoryCategory::Activations,
                                                            MemoryCategory::Gradients,
                                                            MemoryCategory::Temporaries,
                                                            /* of autograd */ MemoryCategory::Other};
constexpr std::array<std::string_view, 8> kTimelineNames{
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient", "autograd detail", "unknown"};

/// Numbers of nested lists, and where lists begin and end. Anything else than numbers ends the reading.
class NumberLists {
public:
    static Result<NumberLists> open(const std::string& path)
    {
        NumberLists lists;
        FOURWALLS_TRY_ASSIGN(lists.m_source, openByteSource(path));
        return lists;
    }

    enum class Token { Open, Close, Number, End, Broken };

    Result<Token> next(std::int64_t& number)
    {
        std::string digits;
        for (;;) {
            if (m_at == m_piece.size()) {
                m_piece.resize(kTimelinePiece);
                FOURWALLS_TRY_ASSIGN(const std::size_t got, m_source->read(m_piece.data(), m_piece.size()));
                m_piece.resize(got);
                m_at = 0;
                if (got == 0) return digits.empty() ? Token::End : numberOf(digits, number);
            }
            const char c = m_piece[m_at];
            const bool ofNumber = (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
            if (ofNumber) {
                ++m_at;
                if (digits.size() > 40) return Token::Broken;
                digits += c;
                continue;
            }
            if (!digits.empty()) return numberOf(digits, number);
            ++m_at;
            if (c == '[') return Token::Open;
            if (c == ']') return Token::Close;
            if (c != ',' && c != ' ' && c != '\n' && c != '\r' && c != '\t') return Token::Broken;
        }
    }

    std::string damage() const { return m_source->damage(); }

private:
    static Token numberOf(const std::string& digits, std::int64_t& number)
    {
        const auto parsed = roundedFromText(digits);
        number = parsed.value_or(0);
        return parsed ? Token::Number : Token::Broken;
    }

    std::unique_ptr<ByteSource> m_source;
    std::string m_piece;
    std::size_t m_at = 0;
};

/// Bytes of a category that came at one time and go at another. What goes is taken from what came last.
class CategoryParts {
public:
    void change(std::int64_t at, std::int64_t bytes, std::size_t category, ProfileVisitor& visitor)
    {
        std::vector<Part>& live = m_live[category];
        if (bytes > 0 && m_count < kMostLiveParts) {
            live.push_back({at, bytes});
            ++m_count;
        }
        // The part of that very size, if there is one near: of two that came one after the other the first may go first.
        if (bytes < 0) {
            const std::size_t near = live.size() - std::min<std::size_t>(live.size(), 256);
            for (std::size_t i = live.size(); i-- > near;)
                if (live[i].bytes == -bytes) {
                    emit(live[i], at, category, visitor);
                    live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
                    --m_count;
                    return;
                }
        }
        for (std::int64_t gone = bytes < 0 ? -bytes : 0; gone > 0;) {
            if (live.empty()) return void(++missing);
            Part& last = live.back();
            const std::int64_t taken = std::min(gone, last.bytes);
            emit({last.at, taken}, at, category, visitor);
            gone -= taken;
            last.bytes -= taken;
            if (last.bytes > 0) break;
            live.pop_back();
            --m_count;
        }
    }

    void finish(ProfileVisitor& visitor)
    {
        for (std::size_t category = 0; category < m_live.size(); ++category)
            for (const Part& part : m_live[category]) emit(part, std::nullopt, category, visitor);
    }

    std::int64_t missing = 0; ///< changes for which there were not so many bytes

private:
    struct Part {
        std::int64_t at, bytes;
    };
    static void emit(const Part& part, std::optional<std::int64_t> end, std::size_t category, ProfileVisitor& visitor)
    {
        visitor.buffer({0, kTimelineNames[category], part.bytes, part.at, end, kTimelineCategories[category]});
    }

    std::array<std::vector<Part>, kTimelineCategories.size()> m_live;
    std::size_t m_count = 0;
};

class MemoryTimelineReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions&)
    {
        auto reader = std::make_unique<MemoryTimelineReader>();
        reader->m_description.path = path;
        reader->m_description.producer = "PyTorch memory timeline";
        reader->m_description.ranks.emplace_back();
        reader->m_description.unixNs = 0;
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_changes; }
    std::string whatToRecord() const override
    {
        return "record with profile_memory, record_shapes and with_stack, or take a memory snapshot";
    }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        m_changes = m_badChanges = 0;
        m_parts = {};
        m_times.clear();
        m_pending.clear();
        m_before.clear();
        m_row = 0;
        m_totals = {};
        FOURWALLS_TRY_ASSIGN(NumberLists lists, NumberLists::open(m_description.path));
        FOURWALLS_TRY(readLists(lists, visitor, stop));
        m_parts.finish(visitor);
        m_damage = lists.damage();
        return {};
    }

    void audit(TraceSink& sink) const override
    {
        sink.audit(auditRecord(AuditCounter::BuffersOfCategories, m_changes));
        if (m_badChanges + m_parts.missing > 0)
            sink.audit(auditRecord(AuditCounter::UnreadableRows, m_badChanges + m_parts.missing,
                                   "changes of memory that make no sense"));
        if (!m_damage.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_damage));
    }

private:
    /// [[time, action, bytes, category], …] or [[time, …], [[0, bytes of category 0, …], …]].
    Status readLists(NumberLists& lists, ProfileVisitor& visitor, const std::stop_token& stop)
    {
        using Token = NumberLists::Token;
        const Error broken{ErrorCode::Format, "cut or damaged: not the lists of a memory timeline", m_description.path,
                           "export it again"};
        std::vector<std::int64_t> list;
        int depth = 0;
        bool totals = false;
        std::size_t rows = 0;
        for (std::int64_t number = 0;;) {
            FOURWALLS_TRY_ASSIGN(const Token token, lists.next(number));
            if (token == Token::End) return depth == 0 && rows + m_times.size() > 0 ? Status() : broken;
            if (token == Token::Broken) return broken;
            if (token == Token::Number) {
                if (depth < 2 || list.size() >= kMostTimes) return broken;
                list.push_back(number);
            } else if (token == Token::Open) {
                if (++depth > 3) return broken;
                if (depth == 3 && !totals) {
                    totals = true;
                    m_times.swap(m_pending);
                }
            } else if (--depth < 0) {
                return broken;
            } else if (depth >= 1) {
                if ((++rows & 0xfff) == 0 && stop.stop_requested())
                    return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
                if (depth == 2)
                    total(list, visitor);
                else if (!totals && !m_pending.empty())
                    change(std::exchange(m_pending, list), visitor);
                else if (!totals)
                    m_pending = list;
                list.clear();
            } else if (!totals && !m_pending.empty()) {
                change(std::exchange(m_pending, {}), visitor);
            }
        }
    }

    /// The next row of totals, which belongs to the next time [us].
    void total(const std::vector<std::int64_t>& sizes, ProfileVisitor& visitor)
    {
        if (m_row >= m_times.size() || sizes.size() != kTimelineCategories.size() + 1) return void(++m_badChanges);
        std::int64_t time = m_times[m_row++];
        if (time < 0) time = m_row < m_times.size() ? m_times[m_row] : 0; // there before the window
        if (time > kLargestTimeNs / 1000) return void(++m_badChanges);
        for (std::size_t i = 0; i < kTimelineCategories.size(); ++i) {
            const std::int64_t bytes = sizes[i + 1];
            if (bytes < 0 || bytes > kLargestTimeNs) return void(++m_badChanges);
            if (bytes == m_totals[i]) continue;
            ++m_changes;
            m_parts.change(time * 1000, bytes - m_totals[i], i, visitor);
            m_totals[i] = bytes;
        }
    }

    /// An event: its time [ns], what happened, bytes (less than 0: they go) and category.
    void change(const std::vector<std::int64_t>& event, ProfileVisitor& visitor)
    {
        ++m_changes;
        const bool sound = event.size() == 4 && event[0] <= kLargestTimeNs && event[2] != 0 &&
                           event[2] >= -kLargestTimeNs && event[2] <= kLargestTimeNs && event[3] >= 0 &&
                           event[3] < static_cast<std::int64_t>(kTimelineCategories.size());
        if (!sound) return void(++m_badChanges);
        const std::int64_t at = event[0];
        const auto category = static_cast<std::size_t>(event[3]);
        if (at < 0) { // there before the window
            m_before.emplace_back(category, event[2]);
            return;
        }
        for (const auto& [of, bytes] : std::exchange(m_before, {})) m_parts.change(at, bytes, of, visitor);
        m_parts.change(at, event[2], category, visitor);
    }

    ProfileDescription m_description;
    CategoryParts m_parts;
    std::vector<std::int64_t> m_times, m_pending; ///< pending: a list of which it is not known yet what it is
    std::size_t m_row = 0;                        ///< of the totals
    std::array<std::int64_t, kTimelineCategories.size()> m_totals{};
    std::vector<std::pair<std::size_t, std::int64_t>> m_before;
    std::int64_t m_changes = 0, m_badChanges = 0;
    std::string m_damage;
};

} // namespace

bool isMemoryTimeline(std::string_view beginning)
{
    std::size_t open = 0;
    for (const char c : beginning.substr(0, 256)) {
        const bool ofLists = (c >= '0' && c <= '9') || c == '[' || c == ']' || c == ',' || c == '-' || c == ' ';
        if (!ofLists || (open < 2 && c != '[' && c != ' ')) return false;
        open += c == '[';
    }
    return open >= 2;
}

Result<std::unique_ptr<TraceImport>> openMemoryTimelines(const std::vector<std::string>& paths,
                                                         const ImportOptions& options)
{
    return importWith<MemoryTimelineReader>(paths, options);
}

Result<TraceFacts> memoryTimelineFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<MemoryTimelineReader>(path, options);
}

} // namespace fourwalls::importers
