// SPDX-License-Identifier: Apache-2.0
// Logs of any program, by a regular expression.
#include "model/import/common/text_lines.h"
#include "model/import/logs/step_log.h"

#include <re2/re2.h>

#include <charconv>
#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLongestPatternLine = std::size_t{1} << 16;
constexpr int kMostPatternGroups = 100;

std::optional<double> loggedNumber(std::string_view text)
{
    double value = 0;
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

} // namespace

Status readLogByPattern(const std::string& path, const std::string& pattern, StepLog& log)
{
    log.producer = "training log";
    RE2::Options settings;
    settings.set_log_errors(false);
    const RE2 expression(pattern, settings);
    if (!expression.ok())
        return Error{ErrorCode::InvalidArgument, "no regular expression: " + expression.error(), "'" + pattern + "'",
                     "write it as RE2 does: step (?P<step>\\d+).*loss (?P<loss>[0-9.]+)"};
    const auto& names = expression.CapturingGroupNames();
    const int groups = expression.NumberOfCapturingGroups();
    if (names.empty() || groups > kMostPatternGroups)
        return Error{ErrorCode::InvalidArgument, "the regular expression names no figure", "'" + pattern + "'",
                     "name what a line says: (?P<step>…), (?P<time>…), (?P<loss>…), (?P<lr>…), (?P<step_time>…)"};
    std::vector<std::string> found(static_cast<std::size_t>(groups));
    std::vector<RE2::Arg> arguments(found.size());
    std::vector<const RE2::Arg*> pointers;
    for (std::size_t i = 0; i < found.size(); ++i) {
        arguments[i] = RE2::Arg(&found[i]);
        pointers.push_back(&arguments[i]);
    }
    FOURWALLS_TRY_ASSIGN(TextLines lines, TextLines::open(path, kLongestPatternLine));
    std::int64_t matches = 0;
    for (;;) {
        FOURWALLS_TRY_ASSIGN(const bool more, lines.next());
        if (!more) break;
        ++log.records;
        const std::string line(lines.line());
        if (!RE2::PartialMatchN(line, expression, pointers.data(), groups)) continue;
        ++matches;
        std::int64_t number = matches;
        for (const auto& [group, name] : names)
            if (name == "step")
                if (const auto value = loggedNumber(found[static_cast<std::size_t>(group - 1)]); value && *value >= 0)
                    number = static_cast<std::int64_t>(std::min(*value, 1e9));
        LoggedStep* const step = log.at(number);
        if (!step) {
            ++log.leftOut;
            continue;
        }
        if (const auto time = loggedTime(line)) step->unixTime = time;
        for (const auto& [group, name] : names) {
            const std::string& text = found[static_cast<std::size_t>(group - 1)];
            if (name == "step" || text.empty()) continue;
            const auto value = loggedNumber(text);
            if (name == "time")
                step->unixTime = value ? value : loggedTime(text);
            else if (value)
                log.add(*step, name, *value);
            else
                ++log.leftOut;
        }
    }
    log.damage = lines.damage();
    return {};
}

} // namespace fourwalls::importers
