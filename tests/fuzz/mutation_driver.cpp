// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target where there is no libFuzzer: every file once as it is, then mutants of them, the same ones in
// every run. An input that takes more than five seconds of processor time for each of its megabytes ends the run.
// Usage: PROGRAM [-runs=N] [-seed=N] [-max_len=BYTES] [-ending=SUFFIX]… [-packed] FILES AND FOLDERS
// With -packed, files are not unpacked first.
#include "model/import/common/byte_source.h"
#include "tests/fuzz/import_bytes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Bytes = std::string;

constexpr double kSecondsOfMegabyte = 5;

Bytes bytesOf(const std::string& path, fourwalls::importers::Unpacking unpacking)
{
    Bytes bytes;
    const auto source = fourwalls::importers::openByteSource(path, unpacking);
    std::vector<char> piece(1 << 16);
    while (source.ok()) {
        const auto got = (*source)->read(piece.data(), piece.size());
        if (!got.ok() || *got == 0) break;
        bytes.append(piece.data(), *got);
    }
    return bytes;
}

class Mutator {
public:
    Mutator(std::uint64_t seed, const std::vector<Bytes>& corpus) : m_random(seed), m_corpus(corpus) {}

    Bytes next(std::size_t longest)
    {
        Bytes bytes = m_corpus[below(m_corpus.size())];
        for (std::size_t n = 1 + below(6); n > 0; --n) mutate(bytes);
        if (bytes.size() > longest) bytes.resize(longest);
        return bytes;
    }

private:
    std::size_t below(std::size_t limit) { return limit == 0 ? 0 : static_cast<std::size_t>(m_random() % limit); }

    void mutate(Bytes& bytes)
    {
        static const std::vector<std::string_view> kWords{"{",
                                                          "}",
                                                          "[",
                                                          "]",
                                                          ",",
                                                          ":",
                                                          "\"",
                                                          "\\",
                                                          "-1",
                                                          "0",
                                                          "9223372036854775807",
                                                          "-9223372036854775808",
                                                          "1e309",
                                                          "nan",
                                                          "null",
                                                          "\"ph\":\"X\"",
                                                          "\"ph\":\"E\"",
                                                          "\"dur\":-1",
                                                          "\"ts\":",
                                                          "\"args\":{",
                                                          "\"correlation\":1",
                                                          "\"cat\":\"kernel\"",
                                                          std::string_view("\xff\xff\xff\xff", 4),
                                                          std::string_view("\0\0\0\0", 4),
                                                          std::string_view("\x7f\xff\xff\xff", 4),
                                                          "h",
                                                          "r",
                                                          "(",
                                                          "."};
        const std::size_t at = below(bytes.size());
        switch (below(7)) {
        case 0:
            if (!bytes.empty()) bytes[at] = static_cast<char>(m_random());
            break;
        case 1:
            if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
            break;
        case 2: bytes.erase(at, 1 + below(64)); break;
        case 3: bytes.insert(at, kWords[below(kWords.size())]); break;
        case 4: bytes.insert(at, bytes.substr(below(bytes.size()), 1 + below(256))); break;
        case 5: {
            const Bytes& other = m_corpus[below(m_corpus.size())];
            bytes.insert(at, other.substr(below(other.size()), 1 + below(512)));
            break;
        }
        default:
            if (below(8) == 0)
                bytes.resize(at);
            else if (!bytes.empty())
                bytes[at] = bytes[below(bytes.size())];
        }
    }

    std::mt19937_64 m_random;
    const std::vector<Bytes>& m_corpus;
};

} // namespace

int main(int argc, char** argv)
{
    std::uint64_t runs = 200, seed = 1;
    std::size_t longest = 100'000;
    auto unpacking = fourwalls::importers::Unpacking::All;
    std::vector<std::string> paths, endings;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const auto value = [&](std::string_view key) { return std::strtoull(argv[i] + key.size(), nullptr, 10); };
        if (argument.starts_with("-runs="))
            runs = value("-runs=");
        else if (argument.starts_with("-seed="))
            seed = value("-seed=");
        else if (argument.starts_with("-max_len="))
            longest = value("-max_len=");
        else if (argument == "-packed")
            unpacking = fourwalls::importers::Unpacking::None;
        else if (argument.starts_with("-ending="))
            endings.emplace_back(argument.substr(8));
        else if (std::filesystem::is_directory(argument)) {
            for (const auto& entry : std::filesystem::recursive_directory_iterator(argument))
                if (entry.is_regular_file()) paths.push_back(entry.path().string());
        } else {
            paths.emplace_back(argument);
        }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Bytes> corpus;
    for (const std::string& path : paths) {
        const auto ends = [&](const std::string& ending) { return path.ends_with(ending); };
        if (!endings.empty() && std::none_of(endings.begin(), endings.end(), ends)) continue;
        Bytes bytes = bytesOf(path, unpacking);
        if (bytes.size() <= longest) corpus.push_back(std::move(bytes));
    }
    double longestTook = 0;
    const auto run = [&longestTook](const Bytes& bytes) {
        const std::clock_t before = std::clock();
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        const double took = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
        longestTook = std::max(longestTook, took);
        if (took <= kSecondsOfMegabyte * std::max(1.0, static_cast<double>(bytes.size()) / 1e6)) return;
        std::ofstream("too_slow.bin", std::ios::binary) << bytes;
        std::fprintf(stderr, "an input of %zu bytes took %.1f s of processor time: too_slow.bin\n", bytes.size(), took);
        std::exit(1);
    };
    if (corpus.empty()) {
        std::fprintf(stderr, "no file of at most %zu bytes\n", longest);
        return 2;
    }
    for (const Bytes& bytes : corpus) run(bytes);
    Mutator mutator(seed, corpus);
    for (std::uint64_t i = 0; i < runs; ++i) run(mutator.next(longest));
    std::printf("%zu files, %llu mutants, at most %.2f s of processor time each\n", corpus.size(),
                static_cast<unsigned long long>(runs), longestTook);
    return 0;
}
