// SPDX-License-Identifier: Apache-2.0
// A report has blocks, each under a head without indentation:
//     #0-0 (27a079b828ff1a75) MISMATCH
//       Communicator ranks have different AllReduce operation counts
//       7 ranks have launched up to operation 64
//       Rank 7 has launched up to operation 60 -- GPU 3 managed by process 1650386 on node node1
// or, of several ranks with one count, a line for all of them and "Rank 0 -- GPU 0 managed by …" for each.
#include "model/import/hang/ras_text.h"

#include "model/import/common/byte_source.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

namespace fourwalls::importers {

namespace {

using diagnose::RasNote;

constexpr std::size_t kLargestReport = std::size_t{16} << 20, kRasHead = 4096;
constexpr std::string_view kNcclVersion = "NCCL version ", kJobSummary = "Job summary";

/// Takes the words from the front of the text. False: it begins otherwise, and stays.
bool takeWords(std::string_view& text, std::string_view words)
{
    if (!text.starts_with(words)) return false;
    text.remove_prefix(words.size());
    return true;
}

constexpr std::size_t kLongestRasLine = 500; ///< what is kept of one stands in every note below it
constexpr std::int64_t kHighestCount = 1'000'000'000'000;

std::optional<std::int64_t> takeCount(std::string_view& text)
{
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc{} || number < 0 || number > kHighestCount) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// "60" and "ABORT": what ranks of a communicator may differ in, as text.
struct RasLevel {
    std::int64_t count = 0; ///< ranks that have it
    std::vector<int> ranks; ///< those that are named
    std::optional<std::int64_t> operation;
};

class RasReader {
public:
    std::vector<RasNote> read(std::string_view text)
    {
        while (!text.empty()) {
            const auto end = text.find('\n');
            std::string_view line = text.substr(0, end);
            text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
            while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
            if (line.empty()) continue;
            const bool isHead = line.front() != ' ' && line.front() != '\t';
            while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
            line = line.substr(0, kLongestRasLine);
            if (isHead)
                head(line);
            else
                detail(line);
        }
        finishLevels();
        return std::move(m_notes);
    }

private:
    void head(std::string_view line)
    {
        finishLevels();
        m_communicator.clear();
        const auto open = line.find('('), close = line.find(')');
        if (line.front() == '#' && open != line.npos && close != line.npos && open < close)
            m_communicator = line.substr(open + 1, close - open - 1);
    }

    void detail(std::string_view line)
    {
        std::string_view rest = line;
        if (takeWords(rest, "Communicator ranks have different ")) {
            finishLevels();
            const auto end = rest.find(" operation counts");
            m_what = std::string(rest.substr(0, end));
            if (end == rest.npos) m_what.clear();
        } else if (takeWords(rest, "Process ")) {
            // "Process 3487984 on node 172.16.64.213 managing GPU 5", under a line that says what is wrong.
            m_notes.push_back(
                {m_communicator, {}, m_why.empty() ? std::string(line) : m_why + ": " + std::string(line)});
        } else if (takeWords(rest, "Rank ")) {
            namedRank(line, rest);
        } else {
            const auto count = takeCount(rest);
            m_current = count ? levelOf(rest, *count) : nullptr;
            if (m_current) return;
            // "Missing communicator data from 1 rank", "2 ranks reported ncclSystemError": of the ranks that follow.
            m_why = std::string(line);
            m_listed.reset();
        }
    }

    /// "ranks have launched up to operation 64", "ranks have not launched any operations", "ranks have status ABORT".
    RasLevel* levelOf(std::string_view words, std::int64_t count)
    {
        takeWords(words, " ranks have");
        return level(words, count);
    }

    RasLevel* level(std::string_view words, std::int64_t count)
    {
        std::string key;
        std::optional<std::int64_t> operation;
        if (takeWords(words, " launched up to operation ")) {
            operation = takeCount(words);
            if (!operation) return nullptr;
            key = std::to_string(*operation);
        } else if (takeWords(words, " not launched any operations")) {
            operation = 0;
            key = "0";
        } else if (takeWords(words, " status ")) {
            key = std::string(words.substr(0, words.find(' ')));
        } else {
            return nullptr;
        }
        RasLevel& of = m_levels[key];
        of.count += count;
        of.operation = operation;
        return &of;
    }

    void namedRank(std::string_view line, std::string_view rest)
    {
        const auto rank = takeCount(rest);
        if (!rank || *rank > 100'000'000) return;
        RasLevel* of = m_current;
        const bool isAlone = !rest.starts_with(" --"); // "Rank 7 has …", "Rank 7 reported …"
        if (takeWords(rest, " has")) of = level(rest, 1);
        const int number = static_cast<int>(*rank);
        if (of) {
            of->ranks.push_back(number);
        } else if (isAlone || m_why.empty()) {
            m_notes.push_back({m_communicator, {number}, std::string(line)});
        } else {
            if (!m_listed) {
                m_listed = m_notes.size();
                m_notes.push_back({m_communicator, {}, m_why});
            }
            m_notes[*m_listed].ranks.push_back(number);
        }
    }

    /// Says which ranks are not where most of their communicator is.
    void finishLevels()
    {
        const auto most = std::max_element(m_levels.begin(), m_levels.end(), [](const auto& a, const auto& b) {
            return a.second.count < b.second.count;
        });
        for (auto each = m_levels.begin(); each != m_levels.end(); ++each) {
            const auto& [key, of] = *each;
            if (each == most || of.ranks.empty()) continue;
            const std::string operation = m_what.empty() || m_what == "collective" ? "" : m_what + " ";
            std::string because;
            if (of.operation && most->second.operation)
                because = "launched up to " + operation + "operation " + key + ", where " +
                          std::to_string(most->second.count) + " ranks are at " + most->first;
            else
                because =
                    "status " + key + ", where " + std::to_string(most->second.count) + " ranks have " + most->first;
            m_notes.push_back({m_communicator, of.ranks, std::move(because)});
        }
        m_levels.clear();
        m_current = nullptr;
        m_what.clear();
        m_why.clear();
        m_listed.reset();
    }

    std::string m_communicator, m_what, m_why;
    std::map<std::string, RasLevel, std::less<>> m_levels; ///< of the block
    RasLevel* m_current = nullptr;
    std::optional<std::size_t> m_listed; ///< the note of the ranks that are listed under m_why
    std::vector<RasNote> m_notes;
};

} // namespace

bool isRasText(std::string_view text)
{
    text = text.substr(0, kRasHead);
    return text.find(kNcclVersion) != text.npos && text.find(kJobSummary) != text.npos;
}

std::vector<RasNote> rasNotes(std::string_view text)
{
    return RasReader().read(text);
}

std::string readRasText(const std::string& path)
{
    const auto source = openByteSource(path);
    if (!source) return {};
    std::string text;
    bool isKnown = false;
    for (;;) {
        const std::size_t before = text.size(), more = isKnown ? std::size_t{65536} : kRasHead;
        if (before > kLargestReport) return {};
        text.resize(before + more);
        const auto got = (*source)->read(text.data() + before, more);
        if (!got) return {};
        text.resize(before + *got);
        // A source may give the first bytes by themselves.
        if (!isKnown && (text.size() >= kRasHead || *got == 0) && !isRasText(text)) return {};
        isKnown = isKnown || text.size() >= kRasHead;
        if (*got == 0) return text;
    }
}

} // namespace fourwalls::importers
