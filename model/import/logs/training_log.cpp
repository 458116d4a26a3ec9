// SPDX-License-Identifier: Apache-2.0
// Lines of training programs. All of them write names and numbers ("lm loss: 1.02E+01 |", "step=10,", "'loss': 2.3"), each
// with separators of its own; one rule reads them all. The forms are those of Megatron-LM's training_log, DeepSpeed's
// logging and throughput timer, NeMo 2's and torchtitan's progress lines and the Trainer of Hugging Face (its lines, and
// trainer_state.json).
#include "model/import/common/byte_source.h"
#include "model/import/common/decimal_time.h"
#include "model/import/common/import_format.h"
#include "model/import/logs/step_log.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <ctime>
#include <utility>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLogPiece = std::size_t{1} << 16;
constexpr std::size_t kLongestLine = std::size_t{1} << 16;

/// A number at the beginning of a text, with thousands set apart by commas; moves the text behind it.
std::optional<double> numberAt(std::string_view& text)
{
    while (!text.empty() && (text[0] == ' ' || text[0] == '[' || text[0] == '"' || text[0] == '\''))
        text.remove_prefix(1);
    std::string digits;
    std::size_t at = 0;
    const auto isGroup = [&] {
        return at > 0 && text[at] == ',' && at + 3 < text.size() && isDigit(text[at - 1]) && isDigit(text[at + 1]) &&
               isDigit(text[at + 2]) && isDigit(text[at + 3]) && (at + 4 >= text.size() || !isDigit(text[at + 4]));
    };
    for (; at < text.size() && at < 40; ++at) {
        const char c = text[at];
        if (isDigit(c) || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E')
            digits += c;
        else if (!isGroup())
            break;
    }
    if (!digits.empty() && digits[0] == '+') digits.erase(0, 1);
    double value = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (parsed.ec != std::errc()) return std::nullopt;
    text.remove_prefix(std::min(text.size(), at));
    return value;
}

/// The name that ends at `end`: back to a separator. Words are kept together: "lm loss" is one name.
std::string_view nameBefore(std::string_view line, std::size_t end)
{
    while (end > 0 && (line[end - 1] == ' ' || line[end - 1] == '"' || line[end - 1] == '\'')) --end;
    std::size_t begin = end;
    while (begin > 0) {
        const char c = line[begin - 1];
        if (c == '|' || c == ',' || c == '{' || c == '}' || c == '[' || c == ']' || c == '"' || c == '\'' || c == ':' ||
            c == '=' || c == ';' || c == '\t' || c == '\n')
            break;
        if (c == ' ' && begin > 1 && (line[begin - 2] == ' ' || line[begin - 2] == '-')) break;
        --begin;
    }
    while (begin < end && line[begin] == ' ') ++begin;
    return line.substr(begin, end - begin);
}

/// Without the codes that colour a terminal ("\\x1b[31m"), also where a copy has lost their first byte.
std::string withoutColours(std::string_view line)
{
    std::string text;
    for (std::size_t at = 0; at < line.size(); ++at) {
        if (line[at] == '\x1b') continue;
        std::size_t end = at + 1;
        while (line[at] == '[' && end < line.size() && (isDigit(line[end]) || line[end] == ';')) ++end;
        if (line[at] == '[' && end > at + 1 && end < line.size() && line[end] == 'm')
            at = end;
        else
            text += line[at];
    }
    return text;
}

struct Pair {
    std::string_view name;
    double value;
};

/// Every "name: number" and "name=number" of a line.
std::vector<Pair> pairsOf(std::string_view line)
{
    std::vector<Pair> pairs;
    for (std::size_t at = 0; at < line.size() && pairs.size() < 200; ++at) {
        if (line[at] != ':' && line[at] != '=') continue;
        std::string_view rest = line.substr(at + 1);
        const auto value = numberAt(rest);
        if (!value) continue;
        std::string_view name = nameBefore(line, at);
        // "10/global_step" is what is left of "micro_step=10/global_step=10", "5.55 lm loss" of "loss: 5.55 lm loss: 5.5".
        const std::size_t behind = name.find_first_of("/ ");
        if (!name.empty() && isDigit(name[0]) && behind != std::string_view::npos) name.remove_prefix(behind + 1);
        // Times, files and the like stand before numbers, too.
        const bool word =
            !name.empty() && name.size() <= 60 && name[0] > '9' && name.find(".py") == std::string_view::npos;
        if (word) pairs.push_back({name, *value});
    }
    return pairs;
}

/// The number behind a word that has no separator: "iteration        5/     100".
std::optional<double> numberBehind(std::string_view line, std::string_view word)
{
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view rest = line.substr(at + word.size());
    if (rest.empty() || rest[0] != ' ') return std::nullopt;
    return numberAt(rest);
}

std::optional<double> stepOf(std::string_view line, const std::vector<Pair>& pairs)
{
    for (const std::string_view name : {"global_step", "step", "iteration", "steps"})
        for (const Pair& pair : pairs) {
            // "epoch=0/micro_step=10/global_step=10" and "INFO step: 3" have more before the word.
            const bool ends = pair.name.ends_with(name);
            const char before =
                ends && pair.name.size() > name.size() ? pair.name[pair.name.size() - name.size() - 1] : ' ';
            if (ends && (before == ' ' || before == '/')) return pair.value;
        }
    return numberBehind(line, "iteration");
}

/// What each program writes, and no other text would.
constexpr std::array<std::string_view, 10> kSigns{"consumed samples:",
                                                  "lm loss:",
                                                  "grad_norm:",
                                                  "train_step_timing in s",
                                                  "RunningAvgSamplesPerSec=",
                                                  "[Rank 0] step=",
                                                  "{'loss':",
                                                  "using world size:",
                                                  "[titan]",
                                                  "global_step: "};

bool hasSign(std::string_view text)
{
    return std::any_of(kSigns.begin(), kSigns.end(),
                       [&](std::string_view sign) { return text.find(sign) != std::string_view::npos; });
}

/// JSON is no log, but for the state that the Trainer of Hugging Face saves.
bool startsAsJson(std::string_view beginning)
{
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return false;
    const std::size_t second = beginning.find_first_not_of(" \t\r\n", first + 1);
    const char inside = second == std::string_view::npos ? '\0' : beginning[second];
    return (beginning[first] == '{' && inside == '"') || (beginning[first] == '[' && inside == '{');
}

/// A progress bar as tqdm draws it: " 10%|#   | 10/100 [01:02<09:18,  6.20s/it]".
struct Progress {
    std::int64_t done = 0, all = 0;
    double seconds = 0; ///< since the bar began, whole ones
};

std::optional<Progress> progressOf(std::string_view line)
{
    const std::size_t bracket = line.find(" [");
    const std::size_t bar = bracket == std::string_view::npos ? bracket : line.rfind("| ", bracket);
    if (bar == std::string_view::npos) return std::nullopt;
    std::string_view counts = line.substr(bar + 2, bracket - bar - 2), time = line.substr(bracket + 2);
    const auto whole = [](std::string_view& text, char behind) -> std::optional<std::int64_t> {
        std::int64_t value = 0;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
        const auto length = static_cast<std::size_t>(parsed.ptr - text.data());
        if (parsed.ec != std::errc() || value < 0 || value > 1'000'000'000) return std::nullopt;
        if (behind != '\0' && (length >= text.size() || text[length] != behind)) return std::nullopt;
        text.remove_prefix(std::min(text.size(), length + 1));
        return value;
    };
    const auto done = whole(counts, '/'), all = whole(counts, '\0');
    if (!done || !all) return std::nullopt;
    Progress progress{*done, *all, 0};
    const std::size_t end = time.find('<');
    if (end == std::string_view::npos || end > 12) return std::nullopt;
    for (time = time.substr(0, end); !time.empty();) {
        const auto part = whole(time, time.find(':') == std::string_view::npos ? '\0' : ':');
        if (!part) return std::nullopt;
        progress.seconds = progress.seconds * 60 + static_cast<double>(*part);
    }
    return progress;
}

class LogReader {
public:
    explicit LogReader(StepLog& log) : m_log(log) {}

    void line(std::string_view raw)
    {
        ++m_log.records;
        const std::string text = withoutColours(raw);
        if (const auto progress = progressOf(text)) bar(*progress);
        const std::vector<Pair> pairs = pairsOf(text);
        settings(text, pairs);
        const auto step = stepOf(text, pairs);
        const bool figures = std::any_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
            for (const std::string_view word : {"loss", "lr", "learning rate", "learning_rate", "CurrSamplesPerSec"})
                if (pair.name.find(word) != std::string_view::npos) return true;
            return false;
        });
        if (text.find("validation") != std::string::npos || text.find("eval_loss") != std::string::npos)
            return evaluation(pairs, step ? step : numberBehind(text, "at iteration"));
        // The sums at a training's end are not the step's.
        if (!figures || text.find("train_runtime") != std::string::npos) return;
        // The Trainer's own lines have no numbers: they come one per logging_steps.
        std::int64_t number = m_unnumbered;
        if (step && *step >= 0 && *step < 1e9)
            number = static_cast<std::int64_t>(*step);
        else if (text.find("'loss'") != std::string::npos)
            number = ++m_unnumbered;
        else
            return;
        LoggedStep* const logged = m_log.at(number);
        if (!logged) return;
        if (number == m_unnumbered) m_epoch = epochOf(pairs);
        if (const auto time = loggedTime(text)) logged->unixTime = time;
        for (const Pair& pair : pairs) m_log.add(*logged, pair.name, pair.value);
    }

    /// When all lines were read: lines without numbers get those of their steps, from the progress bar or from the
    /// Trainer's last line, which says how many there were in all, and how many epochs. Where neither does, nothing tells
    /// how long one step was.
    void finish()
    {
        if (m_unnumbered == 0 || static_cast<std::int64_t>(m_log.steps.size()) != m_unnumbered) return;
        if (numberByBars()) return;
        const double all = m_log.runtime.value_or(0) * m_stepsPerSecond;
        const auto lines = static_cast<double>(m_unnumbered);
        if (all < lines || all > 1e9) return m_log.runtime.reset();
        const bool epochs = m_epoch && m_lastEpoch && *m_epoch > 0 && *m_epoch <= *m_lastEpoch;
        const double last = epochs ? all * *m_epoch / *m_lastEpoch : all;
        const auto apart = static_cast<std::int64_t>(std::max(1.0, std::floor(last / lines + 0.5)));
        std::map<std::int64_t, LoggedStep> numbered;
        for (auto& [number, step] : m_log.steps) numbered.emplace(number * apart, std::move(step));
        m_log.steps = std::move(numbered);
        // Of what was not written down any more the time is known, too.
        m_log.runtime = *m_log.runtime * static_cast<double>(m_unnumbered * apart) / std::max(all, lines);
    }

private:
    /// The bar that is drawn again behind a line says how many steps were done. An evaluation's bar has another total.
    void bar(const Progress& progress)
    {
        if (static_cast<std::int64_t>(m_bars.size()) >= m_unnumbered) return;
        if (m_bars.empty()) m_total = progress.all;
        if (progress.all == m_total) m_bars.resize(static_cast<std::size_t>(m_unnumbered), progress);
    }

    /// True if the bars tell every line's step. A bar has whole seconds, so steps have lengths of their own only where
    /// lines are far apart; else all take the mean.
    bool numberByBars()
    {
        constexpr double kBarsFarApart = 10; // [s]
        if (static_cast<std::int64_t>(m_bars.size()) != m_unnumbered) return false;
        for (std::size_t i = 1; i < m_bars.size(); ++i)
            if (m_bars[i].done <= m_bars[i - 1].done || m_bars[i].seconds < m_bars[i - 1].seconds) return false;
        if (m_bars.front().done < 1 || m_bars.back().seconds <= 0) return false;
        const bool far = m_bars.back().seconds / static_cast<double>(m_bars.size()) >= kBarsFarApart;
        std::map<std::int64_t, LoggedStep> numbered;
        Progress before;
        for (auto& [number, step] : m_log.steps) {
            const Progress& bar = m_bars[static_cast<std::size_t>(number - 1)];
            if (far) step.length = (bar.seconds - before.seconds) / static_cast<double>(bar.done - before.done);
            numbered.emplace(bar.done, std::move(step));
            before = bar;
        }
        m_log.steps = std::move(numbered);
        m_log.runtime = m_bars.back().seconds;
        m_log.lengthsFromTimes = true;
        return true;
    }

    /// What an evaluation found stands beside the step's own figures, at the step that it says, or that came last.
    void evaluation(const std::vector<Pair>& pairs, std::optional<double> at)
    {
        const double number = at.value_or(-1);
        auto step =
            m_log.steps.upper_bound(number >= 0 && number < 1e9 ? static_cast<std::int64_t>(number) : INT64_MAX);
        if (step == m_log.steps.begin()) return;
        --step;
        for (const Pair& pair : pairs) {
            const std::string name(pair.name);
            if (name.find("eval") == 0 || name.find("valid") == 0)
                m_log.add(step->second, name, pair.value);
            else if (name.find("loss") != std::string::npos)
                m_log.add(step->second, "validation " + name, pair.value);
        }
    }

    static std::optional<double> epochOf(const std::vector<Pair>& pairs)
    {
        for (const Pair& pair : pairs)
            if (pair.name == "epoch") return pair.value;
        return std::nullopt;
    }

    /// What is said once: "  seq_length ...................... 4096", "'train_runtime': 12.3".
    void settings(std::string_view text, const std::vector<Pair>& pairs)
    {
        const std::size_t at = text.find("seq_length .");
        if (at != std::string_view::npos) {
            std::string_view rest = text.substr(at + 11);
            rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(". ")));
            if (const auto length = numberAt(rest); length && *length > 0) m_log.sequenceLength = length;
        }
        for (const Pair& pair : pairs) {
            if (pair.name == "train_runtime" && pair.value > 0)
                m_log.runtime = pair.value, m_lastEpoch = epochOf(pairs);
            if (pair.name == "train_steps_per_second" && pair.value > 0) m_stepsPerSecond = pair.value;
        }
    }

    StepLog& m_log;
    std::int64_t m_unnumbered = 0;              ///< lines without a number, so far
    std::vector<Progress> m_bars;               ///< the first behind each of them
    std::int64_t m_total = 0;                   ///< of the training's bar
    double m_stepsPerSecond = 0;                ///< over the whole training; 0: not said
    std::optional<double> m_epoch, m_lastEpoch; ///< of the last line without a number, and of the training's end
};

/// Gives every line that is not empty to `visit`, which says whether it wants more. Of trainer_state.json a line is what
/// lies between braces, over several lines. Errors: those of reading.
template <class Visit>
Status eachLine(ByteSource& source, const Visit& visit)
{
    std::string line, piece(kLogPiece, '\0');
    std::string head; // the first two characters that are no space: JSON begins with a brace and a quote
    for (;;) {
        FOURWALLS_TRY_ASSIGN(const std::size_t got, source.read(piece.data(), piece.size()));
        if (got == 0) break;
        for (std::size_t i = 0; i < got; ++i) {
            if (head.size() < 2 && piece[i] > ' ') head += piece[i];
            const bool json = head == "{\"";
            const bool ends = json ? piece[i] == '{' || piece[i] == '}' : piece[i] == '\n' || piece[i] == '\r';
            if (!ends) {
                if (line.size() < kLongestLine) line += piece[i] == '\n' ? ',' : piece[i];
                continue;
            }
            if (!line.empty() && !visit(line)) return {};
            line.clear();
        }
    }
    if (!line.empty()) visit(line);
    return {};
}

} // namespace

std::optional<double> loggedTime(std::string_view line)
{
    for (std::size_t at = 0; at + 19 <= line.size() && at < 200; ++at) {
        if (line[at + 4] != '-' || line[at + 7] != '-' || line[at + 13] != ':' || line[at + 16] != ':') continue;
        std::array<int, 6> parts{};
        constexpr std::array<std::pair<int, int>, 6> kPlaces{{{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}}};
        bool sound = true;
        for (std::size_t i = 0; i < parts.size() && sound; ++i) {
            const char* const first = line.data() + at + kPlaces[i].first;
            const auto parsed = std::from_chars(first, first + kPlaces[i].second, parts[i]);
            sound = parsed.ec == std::errc() && parsed.ptr == first + kPlaces[i].second;
        }
        if (!sound || parts[0] < 1990 || parts[0] > 2200 || parts[1] < 1 || parts[1] > 12) continue;
        std::tm time{};
        time.tm_year = parts[0] - 1900;
        time.tm_mon = parts[1] - 1;
        time.tm_mday = parts[2];
        time.tm_hour = parts[3];
        time.tm_min = parts[4];
        time.tm_sec = parts[5];
        double seconds = static_cast<double>(timegm(&time));
        std::string_view rest = line.substr(at + 19);
        if (!rest.empty() && (rest[0] == ',' || rest[0] == '.')) {
            double scale = 0.1;
            for (rest.remove_prefix(1); !rest.empty() && isDigit(rest[0]); rest.remove_prefix(1), scale /= 10)
                seconds += scale * (rest[0] - '0');
        }
        return seconds;
    }
    return std::nullopt;
}

bool isTrainingLog(std::string_view beginning)
{
    if (beginning.find('\0') != std::string_view::npos) return false;
    if (startsAsJson(beginning)) return beginning.find("\"log_history\":") != std::string_view::npos;
    return hasSign(beginning);
}

bool isText(std::string_view beginning)
{
    const std::size_t first = beginning.find_first_not_of(" \t\r\n");
    const bool marks = first == std::string_view::npos || beginning[first] == '<';
    // Colours and progress bars are all that a program's output has of control characters.
    return !marks && !startsAsJson(beginning) && std::all_of(beginning.begin(), beginning.end(), [](char c) {
        constexpr std::string_view kInOutput = "\t\n\v\f\r\b\x1b";
        return static_cast<unsigned char>(c) >= ' ' || kInOutput.find(c) != std::string_view::npos;
    });
}

bool hasTrainingLines(const std::string& path)
{
    constexpr std::size_t kWithoutSign = 2; ///< steps that make a log where no word of a known program is
    const auto source = openByteSource(path);
    if (!source.ok()) return false;
    StepLog log;
    LogReader reader(log);
    std::size_t all = 0;
    bool known = false;
    const Status read = eachLine(**source, [&](const std::string& line) {
        all += line.size();
        reader.line(line);
        known = known || hasSign(line);
        return log.steps.size() < (known ? 1 : kWithoutSign) && all < kMostBeforeFigures;
    });
    return read.ok() && log.steps.size() >= (known ? 1 : kWithoutSign);
}

Status readTrainingLog(const std::string& path, StepLog& log)
{
    log.producer = "training log";
    FOURWALLS_TRY_ASSIGN(const std::unique_ptr<ByteSource> source, openByteSource(path));
    LogReader reader(log);
    FOURWALLS_TRY(eachLine(*source, [&](const std::string& line) {
        reader.line(line);
        return true;
    }));
    reader.finish();
    log.damage = source->damage();
    return {};
}

} // namespace fourwalls::importers
