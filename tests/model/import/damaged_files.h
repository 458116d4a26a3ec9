// SPDX-License-Identifier: Apache-2.0
// Damaging real files: cut at random places, with random bytes changed, packed and unpacked. The same mutations every
// time, so that a failure can be repeated.
#pragma once

#include "model/import/common/byte_source.h"
#include "tests/model/import/import_helpers.h"

#include <random>
#include <string>
#include <vector>

namespace fourwalls::importers::test {

inline std::string bytesOf(const std::string& path, bool unpack)
{
    std::string bytes;
    if (!unpack) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    const auto source = openByteSource(path);
    std::vector<char> piece(1 << 16);
    for (;;) {
        const auto got =
            source.ok() ? (*source)->read(piece.data(), piece.size()) : Result<std::size_t>(std::size_t{0});
        if (!got.ok() || *got == 0) return bytes;
        bytes.append(piece.data(), *got);
    }
}

/// Whether an import ended as it should: a trace whose records the sink took, or one line that says why not.
inline bool soundOutcome(const Imported& trace)
{
    if (!trace.data) return !trace.error.empty() && trace.error.find('\n') == std::string::npos;
    return trace.error.empty() && trace.audit("invalid_records") == 0;
}

/// Imports `rounds` damaged copies of each kind of a file, which is put beside nothing else under its own name.
/// Returns what went wrong (the copy is kept as kept/FILE), or nothing.
inline std::string importDamagedCopies(const std::string& file, int rounds)
{
    const std::string packed = bytesOf(file, false), plain = bytesOf(file, true);
    const QTemporaryDir folder;
    const std::string name = file.substr(file.find_last_of('/') + 1);
    std::mt19937_64 random(std::hash<std::string>{}(name));
    std::string wrong;
    const auto check = [&](const std::string& bytes, const char* what) {
        const Imported trace = importPaths({writeFile(folder, name, bytes)});
        if (soundOutcome(trace) || !wrong.empty()) return;
        QTemporaryDir kept;
        kept.setAutoRemove(false);
        wrong = std::string(what) + ": " + trace.error + " (" + writeFile(kept, name, bytes) + ")";
    };
    const auto changed = [&random](std::string bytes, std::size_t most) {
        for (std::size_t n = 1 + random() % most; n > 0 && !bytes.empty(); --n)
            bytes[random() % bytes.size()] = static_cast<char>(random());
        return bytes;
    };
    for (int i = 0; i < rounds && wrong.empty(); ++i) {
        check(plain.substr(0, random() % (plain.size() + 1)), "cut");
        check(packed.substr(0, random() % (packed.size() + 1)), "packed and cut");
        check(changed(plain, 1000), "changed");
        std::string few = plain;
        for (std::size_t n = 1 + random() % 5; n > 0 && !few.empty(); --n)
            few[random() % few.size()] ^= static_cast<char>(1 << random() % 8);
        check(few, "a few bits");
        check(changed(packed, 5), "packed and changed");
    }
    return wrong;
}

} // namespace fourwalls::importers::test
