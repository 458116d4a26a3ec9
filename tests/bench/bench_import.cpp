// SPDX-License-Identifier: Apache-2.0
// How fast a PyTorch trace is read: bench_import FILE [REPEATS]. Prints for each stage the median over the repeats of
// wall time, processor time and rate over the unpacked bytes: reading alone, the scanner, the facts, the import into a
// finished .fourwalls file, and simdjson's parse of the same bytes where it is installed.
#include "model/import/chrome_reader.h"
#include "model/import/trace_import.h"
#include "model/store/trace_writer.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#ifdef FOURWALLS_HAVE_SIMDJSON
#include <simdjson.h>
#endif

using namespace fourwalls;
using namespace fourwalls::importers;

namespace {

struct Counting final : ChromeVisitor {
    std::int64_t events = 0;
    bool wantsHeader(std::string_view) override { return false; }
    void header(std::string_view, const JsonToken&) override {}
    void event(const ChromeEvent&) override { ++events; }
};

double cpuSeconds()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec); };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1000;
}

bool measure(const char* what, int repeats, double bytes, const std::function<bool()>& work)
{
    std::vector<double> wall, cpu;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const double cpuBegin = cpuSeconds();
        if (!work()) {
            std::printf("%-28s failed\n", what);
            return false;
        }
        wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        cpu.push_back(cpuSeconds() - cpuBegin);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    const double w = wall[wall.size() / 2], c = cpu[cpu.size() / 2];
    std::printf("%-28s %7.3f s wall %7.3f s cpu %8.0f MB/s wall %8.0f MB/s cpu   peak %ld MB\n", what, w, c, bytes / w / 1e6,
                bytes / c / 1e6, peakMegabytes());
    return true;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fputs("usage: bench_import FILE [REPEATS]\n", stderr);
        return 2;
    }
    const std::string path = argv[1];
    const int repeats = argc > 2 ? std::max(1, std::atoi(argv[2])) : 3;
    double bytes = 0;
    std::int64_t events = 0;
    const auto read = [&] {
        auto source = openByteSource(path);
        if (!source.ok()) return false;
        std::vector<char> piece(1 << 20);
        bytes = 0;
        for (;;) {
            const auto got = (*source)->read(piece.data(), piece.size());
            if (!got.ok()) return false;
            if (*got == 0) return true;
            bytes += static_cast<double>(*got);
        }
    };
    if (!read()) {
        std::fprintf(stderr, "cannot read %s\n", path.c_str());
        return 1;
    }
    measure("reading", repeats, bytes, read);
    measure("scanning", repeats, bytes, [&] {
        auto source = openByteSource(path);
        if (!source.ok()) return false;
        TextWindow window(std::move(*source));
        Counting counting;
        const bool done = readChromeTrace(window, counting, path).ok();
        events = counting.events;
        return done;
    });
    measure("facts", repeats, bytes, [&] { return factsOfFile(path).ok(); });
    const std::string output = (std::filesystem::temp_directory_path() / ("bench_import_" + std::to_string(getpid()) + ".fourwalls")).string();
    measure("import, to a finished file", repeats, bytes, [&] {
        const auto import = TraceImport::open({path});
        if (!import.ok()) return false;
        auto writer = store::TraceWriter::create(output, (*import)->header());
        return writer.ok() && (*import)->write(**writer, {}).ok() && (*writer)->finish((*import)->closing()).ok();
    });
    std::printf("%lld events, %.0f MB unpacked, %.1f MB as a trace\n", static_cast<long long>(events), bytes / 1e6,
                static_cast<double>(std::filesystem::file_size(output)) / 1e6);
    std::filesystem::remove(output);
#ifdef FOURWALLS_HAVE_SIMDJSON
    if (bytes < 4e9) {
        simdjson::padded_string text;
        const bool loaded = simdjson::padded_string::load(path).get(text) == simdjson::SUCCESS;
        if (loaded && text.size() > 0 && *text.data() == '{') {   // packed files are not for it
            simdjson::ondemand::parser parser;
            measure("simdjson, counting events", repeats, bytes, [&] {
                simdjson::ondemand::document document;
                simdjson::ondemand::array list;
                if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(list)) return false;
                std::size_t count = 0;
                return !list.count_elements().get(count);
            });
        }
    }
#endif
    return 0;
}
