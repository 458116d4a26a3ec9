// SPDX-License-Identifier: Apache-2.0
// What a verb says: results on standard output, messages and progress on standard error, one line per failure.
#pragma once

#include "model/base/result.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <string>
#include <string_view>

namespace fourwalls::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitCouldNot = 1;
inline constexpr int kExitWrongUsage = 2;

inline constexpr int kSchemaVersion = 1; ///< of every JSON answer

class Console {
public:
    explicit Console(std::string verb) : m_verb(std::move(verb)) {}

    void setJson(bool json) { m_json = json; }
    bool json() const { return m_json; }

    /// The answer as JSON: "schema_version" is added. Returns the exit code (1 if standard output is gone).
    int answerJson(nlohmann::json object);
    /// The answer as text; a line break is added.
    int answerText(std::string_view text);

    /// A line on standard error.
    void message(std::string_view line);

    /// One line on standard error; returns the exit code for "could not".
    int fail(const Error& error);
    /// Likewise for wrong usage.
    int wrongUsage(const Error& error);

private:
    void tell(const Error& error);

    std::string m_verb;
    bool m_json = false;
};

/// A bar on standard error for what takes long: shown on a terminal after 300 ms, gone when destroyed.
class Progress {
public:
    explicit Progress(std::string label);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void operator()(double fraction);

private:
    std::string m_label;
    bool m_terminal = false, m_shown = false;
    bool m_lines = false; ///< the application that started us asked (FOURWALLS_PROGRESS) for lines that it can read
    std::chrono::steady_clock::time_point m_begin, m_last;
};

} // namespace fourwalls::cli
