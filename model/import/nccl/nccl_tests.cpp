// SPDX-License-Identifier: Apache-2.0
// What the programs of nccl-tests and rccl-tests print, as rows: each line of their table is one collective operation of
// average length. Columns: PERFORMANCE.md and the output of all_reduce_perf in NVIDIA/nccl-tests.
#include "model/import/common/import_format.h"
#include "model/import/common/kernel_class.h"
#include "model/import/common/profile_rows.h"
#include "model/import/common/text_lines.h"
#include "model/trace/audit_counter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestTestLine = std::size_t{1} << 14;

std::vector<std::string_view> columnsOf(std::string_view line)
{
    std::vector<std::string_view> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string_view::npos && words.size() < 64;) {
        const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

std::optional<double> realFromText(std::string_view text)
{
    double value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

/// What mpirun --tag-output and srun --label put before a line.
std::string_view withoutLabel(std::string_view line)
{
    const std::size_t tag = line.find(">:");
    if (!line.empty() && line[0] == '[' && tag != std::string_view::npos && tag < 40) line.remove_prefix(tag + 2);
    const std::size_t label = line.find_first_not_of("0123456789");
    if (label > 0 && label != std::string_view::npos && line[label] == ':') line.remove_prefix(label + 1);
    return line;
}

/// One placement of one size: lengths in microseconds, rates in GB/s.
struct TestedSize {
    std::int64_t bytes = 0;
    double length = 0, algorithmRate = 0, busRate = 0;
    bool inPlace = false;
    std::string type, reduction;
};

/// A line of the table, its sizes out of place and in place. The columns in the middle (type, operation, root) differ from
/// program to program, those at both ends do not.
std::vector<TestedSize> testedSizes(std::string_view line)
{
    constexpr std::size_t kPlacement = 4; // time, algbw, busbw, #wrong
    const std::vector<std::string_view> words = columnsOf(line);
    std::vector<TestedSize> sizes;
    if (words.size() < 2 + kPlacement) return sizes;
    const auto bytes = integerFromText(words[0]), count = integerFromText(words[1]);
    if (!bytes || !count || *bytes < 0 || *bytes > kLargestTimeNs) return sizes;
    std::size_t middle = words.size();
    for (int placements = 0; placements < 2 && middle >= 2 + kPlacement; ++placements) {
        TestedSize size;
        size.bytes = *bytes;
        size.inPlace = placements == 0;
        const std::size_t at = middle - kPlacement;
        const auto length = realFromText(words[at]), rate = realFromText(words[at + 1]),
                   bus = realFromText(words[at + 2]);
        if (!length || !rate || !bus || *length < 0 || *length > 1e12) break;
        size.length = *length;
        size.algorithmRate = *rate;
        size.busRate = *bus;
        middle = at;
        sizes.insert(sizes.begin(), size);
    }
    if (sizes.size() == 1) sizes.front().inPlace = false;
    for (TestedSize& size : sizes) {
        if (middle > 2) size.type = words[2];
        if (middle > 3) size.reduction = words[3];
    }
    return sizes;
}

class NcclTestsReader final : public ProfileReader {
public:
    static Result<std::unique_ptr<ProfileReader>> open(const std::string& path, const ImportOptions& options)
    {
        auto reader = std::make_unique<NcclTestsReader>();
        ProfileDescription& description = reader->m_description;
        description.path = path;
        description.producer = "nccl-tests";
        description.backend = "nccl";
        description.ranks.emplace_back();
        reader->m_operation = collectiveOf(path.substr(path.rfind('/') + 1));
        double rate = 0, bus = 0;
        std::string reduction;
        FOURWALLS_TRY(reader->forEachLine(
            options.stop, [&](std::string_view line) { reader->heading(line); },
            [&](const TestedSize& size) {
                if (size.algorithmRate <= rate) return;
                rate = size.algorithmRate;
                bus = size.busRate;
                reduction = size.reduction;
            }));
        if (!reader->m_operation) reader->m_operation = reader->operationOf(rate, bus, reduction);
        if (reader->m_listed > 0) reader->m_group = reader->m_listed;
        if (reader->m_group > 0) description.worldSize = reader->m_group;
        return std::unique_ptr<ProfileReader>(std::move(reader));
    }

    const ProfileDescription& description() const override { return m_description; }
    std::int64_t events() const override { return m_sizes; }
    std::string whatToRecord() const override
    {
        return "give the whole output of the test: all_reduce_perf -b 8 -e 8G -f 2 -g 8";
    }

    Status read(ProfileVisitor& visitor, std::stop_token stop) override
    {
        FineTime at{0, 0};
        return forEachLine(
            stop, [](std::string_view) {}, [&](const TestedSize& size) { row(size, at, visitor); });
    }

    void audit(TraceSink& sink) const override
    {
        sink.audit(auditRecord(AuditCounter::AverageTimes, m_sizes));
        if (!m_operation) sink.audit(auditRecord(AuditCounter::OperationUnknown, 1));
        if (!m_damage.empty()) sink.audit(auditRecord(AuditCounter::FileCut, 1, m_damage));
    }

private:
    template <class Comment, class Visit>
    Status forEachLine(const std::stop_token& stop, Comment&& comment, Visit&& visit)
    {
        m_sizes = 0;
        FOURWALLS_TRY_ASSIGN(TextLines lines, TextLines::open(m_description.path, kLongestTestLine));
        for (;;) {
            FOURWALLS_TRY_ASSIGN(const bool more, lines.next());
            if (!more) break;
            if ((lines.count() & 0xfff) == 0 && stop.stop_requested())
                return Error{ErrorCode::Cancelled, "cancelled", m_description.path, ""};
            const std::string_view line = withoutLabel(lines.line());
            const std::size_t first = line.find_first_not_of(" \t");
            if (first == std::string_view::npos) continue;
            if (line[first] == '#') {
                comment(line);
                continue;
            }
            for (const TestedSize& size : testedSizes(line)) {
                ++m_sizes;
                visit(size);
            }
        }
        m_damage = lines.damage();
        return {};
    }

    /// What stands behind '#': the program, the number of devices, the devices.
    void heading(std::string_view line)
    {
        if (const std::size_t at = line.find("_perf"); at != std::string_view::npos && !m_operation)
            m_operation = collectiveOf(line.substr(0, at));
        const std::vector<std::string_view> words = columnsOf(line);
        const auto numberBehindWord = [&](std::string_view word) -> std::optional<std::int64_t> {
            const auto found = std::find(words.begin(), words.end(), word);
            if (found == words.end() || found + 1 == words.end()) return std::nullopt;
            return integerFromText(*(found + 1));
        };
        if (const auto devices = numberBehindWord("nGpus"); devices && *devices > 0 && *devices < 1 << 20)
            m_group =
                static_cast<int>(*devices * std::clamp<std::int64_t>(numberBehindWord("nThread").value_or(1), 1, 1024));
        // "#  Rank  0 Group  0 Pid  28775 on  host device  0 [0x07] NVIDIA A100-SXM4-40GB"
        if (const auto rank = numberBehindWord("Rank");
            rank && *rank >= 0 && *rank < 1 << 24 && numberBehindWord("Pid")) {
            m_listed = std::max(m_listed, static_cast<int>(*rank) + 1);
            const std::size_t bracket = line.find(']');
            if (*rank == 0 && bracket != std::string_view::npos && bracket + 2 < line.size())
                m_description.ranks.front().device = std::string(line.substr(bracket + 2, 100));
        }
    }

    /// From what the bus bandwidth is of the algorithm's: 2(n-1)/n of an all-reduce, (n-1)/n of operations that move all
    /// parts but the own one, 1 of those from or to one rank (PERFORMANCE.md). Absent where two of them are alike.
    std::optional<CollectiveOp> operationOf(double rate, double bus, std::string_view reduction) const
    {
        const int n = m_listed > 0 ? m_listed : m_group;
        if (n < 2 || !(rate > 0)) return std::nullopt;
        const double factor = bus / rate, part = (n - 1.0) / n;
        const bool reduces = !reduction.empty() && reduction != "none";
        if (n > 2 && std::abs(factor - 2 * part) < 0.02) return CollectiveOp::AllReduce;
        if (n > 2 && std::abs(factor - part) < 0.02 && reduces) return CollectiveOp::ReduceScatter;
        return std::nullopt;
    }

    void row(const TestedSize& size, FineTime& at, ProfileVisitor& visitor)
    {
        CollectiveDetail detail;
        detail.operation = m_operation;
        detail.groupName = "all devices";
        detail.groupSize = m_group;
        detail.payloadBytes = size.bytes;
        const std::string shown = m_operation ? std::string(fourwalls::name(*m_operation)) : "collective";
        m_detail = size.type;
        if (!size.reduction.empty() && size.reduction != "none") m_detail += " " + size.reduction;
        ProfileRow out;
        out.category = Category::CollectiveWork;
        out.role = LaneRole::Stream;
        out.lane = size.inPlace ? "in place" : "out of place";
        out.start = at;
        at = at + FineTime{static_cast<std::int64_t>(std::llround(size.length * 1000)), 0};
        out.end = at;
        out.name = shown;
        out.detail = m_detail;
        out.collective = &detail;
        visitor.row(out);
    }

    ProfileDescription m_description;
    std::optional<CollectiveOp> m_operation;
    int m_group = 0, m_listed = 0;
    std::int64_t m_sizes = 0;
    std::string m_damage, m_detail;
};

} // namespace

bool isNcclTests(std::string_view beginning)
{
    const auto has = [beginning](std::string_view word) { return beginning.find(word) != std::string_view::npos; };
    return beginning.find('\0') == std::string_view::npos && has("#") &&
           ((has("nThread") && has("nGpus")) || (has("algbw") && has("busbw")));
}

bool hasNcclTestsHeading(const std::string& path)
{
    auto lines = TextLines::open(path, kLongestTestLine);
    std::size_t all = 0;
    while (lines.ok() && all < kMostBeforeFigures) {
        const auto more = lines->next();
        if (!more.ok() || !*more) return false;
        all += lines->line().size();
        if (isNcclTests(lines->line())) return true;
    }
    return false;
}

Result<std::unique_ptr<TraceImport>> openNcclTests(const std::vector<std::string>& paths, const ImportOptions& options)
{
    return importWith<NcclTestsReader>(paths, options);
}

Result<TraceFacts> ncclTestsFacts(const std::string& path, const ImportOptions& options)
{
    return factsWith<NcclTestsReader>(path, options);
}

} // namespace fourwalls::importers
