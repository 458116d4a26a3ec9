// SPDX-License-Identifier: Apache-2.0
// How fast a PyTorch trace is read: bench_import FILE [REPEATS]. Prints for each stage the median over the repeats of
// wall time, processor time and rate over the unpacked bytes: reading alone, the scanner, the facts, the import into a
// finished .fourwalls file; of plain files also what simdjson (where it is installed) and Python's json.load take for
// the same bytes, and the ratios to them. bench_import FILE FILE.gz [REPEATS] imports both in turn and prints how much
// longer the packed one takes.
#include "model/import/chrome/chrome_reader.h"
#include "model/import/import_registry.h"
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
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

long peakMegabytes()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1000;
}

/// Median wall time [s]; 0 if the work failed.
double measure(const char* what, int repeats, double bytes, const std::function<bool()>& work)
{
    std::vector<double> wall, cpu;
    for (int i = 0; i < repeats; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        const double cpuBegin = cpuSeconds();
        if (!work()) {
            std::printf("%-28s failed\n", what);
            return 0;
        }
        wall.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        cpu.push_back(cpuSeconds() - cpuBegin);
    }
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    const double w = wall[wall.size() / 2], c = cpu[cpu.size() / 2];
    std::printf("%-28s %7.3f s wall %7.3f s cpu %8.0f MB/s wall %8.0f MB/s cpu   peak %ld MB\n", what, w, c,
                bytes / w / 1e6, bytes / c / 1e6, peakMegabytes());
    return w;
}

bool importToFile(const std::string& path, const std::string& output)
{
    const auto import = openImport({path});
    if (!import.ok()) return false;
    auto writer = store::TraceWriter::create(output, (*import)->header());
    return writer.ok() && (*import)->write(**writer, {}).ok() && (*writer)->finish((*import)->closing()).ok();
}

/// Imports of a plain and a packed file in turn, so that both meet the same machine.
int comparePacked(const std::string& plain, const std::string& packed, int repeats, const std::string& output)
{
    std::vector<double> wall, cpu;
    for (int i = 0; i < repeats; ++i) {
        double took[2], used[2];
        for (const int which : {0, 1}) {
            const auto begin = std::chrono::steady_clock::now();
            const double cpuBegin = cpuSeconds();
            if (!importToFile(which == 0 ? plain : packed, output)) return 1;
            took[which] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
            used[which] = cpuSeconds() - cpuBegin;
        }
        wall.push_back(took[1] / took[0]);
        cpu.push_back(used[1] / used[0]);
    }
    std::filesystem::remove(output);
    std::sort(wall.begin(), wall.end());
    std::sort(cpu.begin(), cpu.end());
    std::printf("packed / plain, %d pairs: wall %.3f (%.3f to %.3f), processor %.3f (%.3f to %.3f)\n", repeats,
                wall[wall.size() / 2], wall.front(), wall.back(), cpu[cpu.size() / 2], cpu.front(), cpu.back());
    return 0;
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fputs("usage: bench_import FILE [REPEATS]\n", stderr);
        return 2;
    }
    const std::string path = argv[1];
    const std::string output =
        (std::filesystem::temp_directory_path() / ("bench_import_" + std::to_string(getpid()) + ".fourwalls")).string();
    if (argc > 2 && std::filesystem::exists(argv[2]))
        return comparePacked(path, argv[2], argc > 3 ? std::max(1, std::atoi(argv[3])) : 5, output);
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
    const double imported =
        measure("import, to a finished file", repeats, bytes, [&] { return importToFile(path, output); });
    std::printf("%lld events, %.0f MB unpacked, %.1f MB as a trace\n", static_cast<long long>(events), bytes / 1e6,
                static_cast<double>(std::filesystem::file_size(output)) / 1e6);
    std::filesystem::remove(output);
#ifdef FOURWALLS_HAVE_SIMDJSON
    if (bytes < 4e9) {
        simdjson::padded_string text;
        const bool loaded = simdjson::padded_string::load(path).get(text) == simdjson::SUCCESS;
        if (loaded && text.size() > 0 && *text.data() == '{') { // packed files are not for it
            simdjson::ondemand::parser parser;
            const double counted = measure("simdjson, counting events", repeats, bytes, [&] {
                simdjson::ondemand::document document;
                simdjson::ondemand::array list;
                if (parser.iterate(text).get(document) || document["traceEvents"].get_array().get(list)) return false;
                std::size_t count = 0;
                return !list.count_elements().get(count);
            });
            if (counted > 0) std::printf("import / simdjson's parse: %.1f\n", imported / counted);
        }
    }
#endif
    if (bytes == static_cast<double>(std::filesystem::file_size(path)) && bytes < 1e9) {
        const std::string quoted = "'" + path + "'";
        const std::string command = "python3 -c 'import json, sys; json.load(open(sys.argv[1]))' " + quoted;
        const double loaded =
            path.find('\'') == std::string::npos
                ? measure("Python's json.load", 1, bytes, [&] { return std::system(command.c_str()) == 0; })
                : 0;
        if (loaded > 0) std::printf("Python's json.load / import: %.1f\n", loaded / imported);
    }
    return 0;
}
