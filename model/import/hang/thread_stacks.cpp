// SPDX-License-Identifier: Apache-2.0
// py-spy: `Thread 71 (active): "MainThread"`, then `    wait (threading.py:320)`, innermost first.
// faulthandler: `Current thread 0x… (most recent call first):`, then `  File "a.py", line 12 in wait`; the main thread is
// the last one.
#include "model/import/hang/thread_stacks.h"

#include "model/import/common/byte_source.h"

#include <vector>

namespace fourwalls::importers {

namespace {

constexpr std::size_t kLargestText = std::size_t{16} << 20;
constexpr std::size_t kDeepest = 64;

std::string_view trimmed(std::string_view line)
{
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    return line;
}

/// `File "a.py", line 12 in wait` as py-spy writes it; empty for another line.
std::string faultHandlerFrame(std::string_view line)
{
    constexpr std::string_view kFile = "File \"", kLine = "\", line ", kIn = " in ";
    if (!line.starts_with(kFile)) return {};
    const auto end = line.find(kLine);
    const auto in = line.find(kIn, end == std::string_view::npos ? end : end + kLine.size());
    if (end == std::string_view::npos || in == std::string_view::npos) return {};
    const auto file = line.substr(kFile.size(), end - kFile.size());
    const auto number = line.substr(end + kLine.size(), in - end - kLine.size());
    return std::string(line.substr(in + kIn.size())) + " (" + std::string(file) + ":" + std::string(number) + ")";
}

bool isPySpyFrame(std::string_view line)
{
    const auto open = line.rfind(" (");
    return open != std::string_view::npos && line.ends_with(")") && line.find(':', open) != std::string_view::npos;
}

struct ThreadText {
    bool isMain = false;
    std::vector<std::string> frames;
};

} // namespace

std::string mainThreadStack(std::string_view text)
{
    std::vector<ThreadText> threads;
    bool fromFaultHandler = false;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = trimmed(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (line.starts_with("Thread ") || line.starts_with("Current thread ")) {
            const bool isHandler = line.find("most recent call first") != std::string_view::npos;
            fromFaultHandler = fromFaultHandler || isHandler;
            if (isHandler || line.find(':') != std::string_view::npos)
                threads.push_back({line.find("\"MainThread\"") != std::string_view::npos, {}});
            continue;
        }
        if (threads.empty() || threads.back().frames.size() >= kDeepest) continue;
        if (std::string frame = faultHandlerFrame(line); !frame.empty())
            threads.back().frames.push_back(std::move(frame));
        else if (!fromFaultHandler && isPySpyFrame(line))
            threads.back().frames.emplace_back(line);
    }
    const ThreadText* main = nullptr;
    for (const ThreadText& thread : threads)
        if (thread.isMain && !main) main = &thread;
    if (!main && fromFaultHandler && !threads.empty()) main = &threads.back();
    std::string stack;
    if (main)
        for (const std::string& frame : main->frames) stack += (stack.empty() ? "" : "\n") + frame;
    return stack;
}

std::string readThreadStack(const std::string& path)
{
    const auto source = openByteSource(path);
    if (!source) return {};
    std::string text;
    for (;;) {
        const std::size_t before = text.size();
        if (before > kLargestText) return {};
        text.resize(before + 65536);
        const auto got = (*source)->read(text.data() + before, 65536);
        if (!got) return {};
        text.resize(before + *got);
        // A pickle or JSON is told by its first byte.
        if (!text.empty() && (text[0] == '\x80' || text[0] == '{')) return {};
        if (*got == 0) break;
    }
    return mainThreadStack(text);
}

} // namespace fourwalls::importers
