// SPDX-License-Identifier: Apache-2.0
// Writing to the standard streams.
#include "app/cli/console.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <unistd.h>

namespace fourwalls::cli {

namespace {

/// Paths and texts of other encodings get replacement characters instead of an exception.
std::string dump(const nlohmann::json& object, int indent)
{
    return object.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

int writeOut(std::string_view text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return kExitDone;
    std::fputs("fourwalls-cli: standard output cannot be written (try: free space, or another place for the answer)\n",
               stderr);
    return kExitCouldNot;
}

} // namespace

int Console::answerJson(nlohmann::json object)
{
    object["schema_version"] = kSchemaVersion;
    return writeOut(dump(object, 2));
}

int Console::answerText(std::string_view text)
{
    return writeOut(text);
}

void Console::message(std::string_view line)
{
    std::string text(line);
    std::replace(text.begin(), text.end(), '\n', ' ');
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void Console::tell(const Error& error)
{
    message("fourwalls-cli " + m_verb + ": " + error.message());
}

int Console::fail(const Error& error)
{
    tell(error);
    return kExitCouldNot;
}

int Console::wrongUsage(const Error& error)
{
    tell(error);
    return kExitWrongUsage;
}

Progress::Progress(std::string label)
    : m_label(std::move(label))
    , m_terminal(isatty(STDERR_FILENO) == 1)
    , m_lines(!m_terminal && std::getenv("FOURWALLS_PROGRESS") != nullptr)
    , m_begin(std::chrono::steady_clock::now())
    , m_last(m_begin)
{}

Progress::~Progress()
{
    if (m_shown) std::fputs("\r\x1b[K", stderr);
}

void Progress::operator()(double fraction)
{
    using namespace std::chrono_literals;
    if (!m_terminal && !m_lines) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - m_begin < 300ms || ((m_shown || m_lines) && now - m_last < 100ms)) return;
    m_last = now;
    if (m_lines) {
        std::fprintf(stderr, "{\"progress\": %.3f, \"message\": \"%s\"}\n", std::clamp(fraction, 0.0, 1.0),
                     m_label.c_str());
        return;
    }
    m_shown = true;
    constexpr int kWidth = 30;
    const double share = std::clamp(fraction, 0.0, 1.0);
    const int filled = static_cast<int>(share * kWidth);
    std::fprintf(stderr, "\r%s [%s%s] %3.0f %%", m_label.c_str(),
                 std::string(static_cast<std::size_t>(filled), '#').c_str(),
                 std::string(static_cast<std::size_t>(kWidth - filled), '.').c_str(), share * 100);
    std::fflush(stderr);
}

} // namespace fourwalls::cli
