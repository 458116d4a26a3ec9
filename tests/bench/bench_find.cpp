// SPDX-License-Identifier: Apache-2.0
// Finding as one types: prints what each letter of some words costs in a trace file, the names and the next slices from
// the middle of the trace, and what it costs to go to a name.
#include "model/store/trace_file.h"
#include "model/trace/name_index.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

using namespace fourwalls;

namespace {

double since(std::chrono::steady_clock::time_point begin)
{
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void fail(const Error& error)
{
    std::fprintf(stderr, "%s\n", error.message().c_str());
    std::exit(1);
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "bench_find FILE.fourwalls [WORD…] (see fourwalls-cli bench generate)\n");
        return 2;
    }
    auto trace = store::openTrace(argv[1]);
    if (!trace.ok()) fail(trace.error());
    auto start = std::chrono::steady_clock::now();
    const auto index = NameIndex::read(**trace);
    if (!index.ok()) fail(index.error());
    std::printf("%zu names of %lld operators in %lld slices, read in %.1f ms\n", index->names().size(),
                static_cast<long long>((*trace)->info().counts.ops),
                static_cast<long long>((*trace)->info().counts.slices), since(start));
    std::vector<std::string> words(argv + 2, argv + argc);
    if (words.empty())
        for (const NameHit& hit : index->find(SearchWords(""), 3).best) words.push_back(hit.name.name);
    const TimeRange all = (*trace)->info().range;
    const Instant middle = all.begin + Duration{all.length().ns / 2};
    double worst = 0;
    for (const std::string& word : words) {
        for (std::size_t length = 1; length <= word.size(); ++length) {
            const std::string typed = word.substr(0, length);
            start = std::chrono::steady_clock::now();
            const NameHits hits = index->find(SearchWords(typed), 200);
            const double names = since(start);
            SearchQuery query;
            query.text = typed;
            query.range = {middle, all.end + Duration{1}};
            query.limit = 8;
            const auto found = (*trace)->search(query);
            if (!found.ok()) fail(found.error());
            const double slices = since(start) - names;
            worst = std::max(worst, names + slices);
            std::printf("%-32s %6zu names %7.2f ms  %zu slices %8.2f ms\n", typed.c_str(), hits.count, names,
                        found->slices.size(), slices);
        }
        start = std::chrono::steady_clock::now();
        const auto next = nextSliceNamed(**trace, word, std::nullopt, middle);
        if (!next.ok()) fail(next.error());
        std::printf("%-32s gone to in %.2f ms\n", word.c_str(), since(start));
    }
    std::printf("the slowest letter: %.1f ms\n", worst);
    return 0;
}
